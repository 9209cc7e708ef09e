/** The columns that a rejects file adds behind those of the source. */
export const REASON_COLUMN = 'storeferry_reason';
/** Where the row stands in its source. */
export const LINE_COLUMN = 'storeferry_line';

/** The column for the n-th cell, from 1, that a too long row has beyond its header. */
export function extraColumn(number: number): string {
  return `storeferry_extra_${number}`;
}

/** Several headers as one: every column of each, those of the first before those that only later ones have. */
export interface ColumnUnion {
  readonly header: readonly string[];
  /** For each of the headers, where its columns stand in the union. */
  readonly positions: readonly (readonly number[])[];
}

/** Unites headers by name; a name that a header repeats is told apart by its occurrence, never lost. */
export function uniteColumns(headers: readonly (readonly string[])[]): ColumnUnion {
  const places = new Map<string, number>();
  const union: string[] = [];
  const positions = headers.map((header) =>
    columnKeys(header).map((key, index) => {
      const known = places.get(key);
      if (known !== undefined) return known;
      places.set(key, union.length);
      union.push(header[index] ?? '');
      return union.length - 1;
    }),
  );
  return { header: union, positions };
}

/** A key for each column: its name, and which of the columns of that name it is. */
export function columnKeys(header: readonly string[]): string[] {
  const seen = new Map<string, number>();
  return header.map((name) => {
    const occurrence = (seen.get(name) ?? 0) + 1;
    seen.set(name, occurrence);
    return `${occurrence}:${name}`;
  });
}

/** The cells without blank ones at the end that no column of the header stands over. */
export function withoutBlankSurplus(cells: readonly string[], columns: number): readonly string[] {
  let length = cells.length;
  while (length > columns && cells[length - 1]?.trim() === '') length -= 1;
  return length === cells.length ? cells : cells.slice(0, length);
}
