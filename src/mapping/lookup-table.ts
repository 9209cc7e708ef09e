/** The rows of a lookup file by the value of its matched column, lower-cased and trimmed; each by column. */
export interface LookupTable {
  readonly columns: readonly string[];
  readonly rows: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** What is said of a value that is not there, where the table knows better than the mapping. */
  readonly unknown?: Refusal;
  /** Values that must not be decided, since more than one row has them. */
  readonly ambiguous?: Refusal & { readonly keys: ReadonlySet<string> };
}

interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** How a value is compared with the matched column of a lookup table. */
export function lookupKey(text: string): string {
  return text.trim().toLowerCase();
}

/**
 * A lookup table of a header line and its rows. The first row wins where the matched column repeats itself.
 * @param match the header of the column that values are compared with; `undefined` is returned when it is not there.
 */
export function lookupTable(
  header: readonly string[],
  rows: Iterable<readonly string[]>,
  match: string,
): LookupTable | undefined {
  const columns = header.map((text) => text.trim());
  const at = columns.findIndex((text) => text.toLowerCase() === match.trim().toLowerCase());
  if (at < 0) return undefined;
  const byKey = new Map<string, ReadonlyMap<string, string>>();
  for (const cells of rows) {
    const key = lookupKey(cells[at] ?? '');
    if (key !== '' && !byKey.has(key)) {
      byKey.set(key, new Map(columns.map((name, index) => [name, (cells[index] ?? '').trim()])));
    }
  }
  return {
    columns: [...columns.slice(at, at + 1), ...columns.filter((_, index) => index !== at)],
    rows: byKey,
  };
}
