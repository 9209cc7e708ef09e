import type { Row, Table } from '../model/row.ts';

/** A row of the untouched copy: its `storeferry_line`, its cells, and the reason of its rejection. */
export interface UntouchedRow {
  readonly line: string;
  readonly cells: readonly string[];
  readonly reason: string;
}

/** The rows of the untouched copy. Each can be taken once, by its edited row. */
export interface UntouchedRows {
  /** Returns a promise only if more of the copy must be read. */
  take(line: string, cells: readonly string[]): UntouchedRow | undefined | Promise<UntouchedRow | undefined>;
  /** The row of a line that was already taken: somebody copied a row with its line number. */
  takenOf(line: string): UntouchedRow | undefined;
  /** The rows that were not taken. */
  left(): Promise<readonly UntouchedRow[]>;
}

/**
 * Rows by their `storeferry_line`. The copy is read in parallel with the corrected file, so that only deleted or
 * moved rows are kept in memory.
 */
export function untouchedByLine(table: Table): UntouchedRows {
  const batches = table.batches()[Symbol.asyncIterator]();
  const columns = table.header.length;
  const skipped = new Map<string, UntouchedRow>();
  let batch: readonly Row[] = [];
  let next = 0;
  let ended = false;

  const search = (wanted: string): UntouchedRow | undefined => {
    while (next < batch.length) {
      const row = untouchedRow(batch[next]?.cells ?? [], columns);
      next += 1;
      if (row.line === wanted) return row;
      skipped.set(row.line, row);
    }
    return undefined;
  };
  const readOn = async (): Promise<void> => {
    const { done, value } = await batches.next();
    ended = done === true;
    batch = done === true ? [] : value;
    next = 0;
  };
  const searchOn = async (wanted: string): Promise<UntouchedRow | undefined> => {
    while (!ended) {
      await readOn();
      const row = search(wanted);
      if (row !== undefined) return row;
    }
    return undefined;
  };

  return {
    take(line) {
      if (line === '') return undefined;
      const moved = skipped.get(line);
      if (moved !== undefined) {
        skipped.delete(line);
        return moved;
      }
      return search(line) ?? (ended ? undefined : searchOn(line));
    },
    takenOf: () => undefined,
    async left() {
      const rows = [...skipped.values()];
      for (; !ended; await readOn())
        rows.push(...batch.slice(next).map(({ cells }) => untouchedRow(cells, columns)));
      return rows;
    },
  };
}

/** All rows of the copy. */
export async function* untouchedRows(table: Table): AsyncGenerator<UntouchedRow> {
  for await (const batch of table.batches()) {
    for (const { cells } of batch) yield untouchedRow(cells, table.header.length);
  }
}

/** Our columns are the last two of the copy. */
function untouchedRow(cells: readonly string[], columns: number): UntouchedRow {
  return { line: cells[columns - 1] ?? '', reason: cells[columns - 2] ?? '', cells };
}

/** The most rows with a common cell that are compared. */
const MAX_CANDIDATES = 1000;
const MIN_LIKENESS = 0.5;
/** The reduction of the weight of a cell that all rows have. */
const COMMONPLACE = 0.8;

/**
 * Finds rows by similarity: the row with most cells in common, if these are at least half by weight; of equals the
 * first one. The row of the same line is preferred unless another row is more similar. `places` are the positions to
 * compare.
 */
export async function untouchedByLikeness(
  rows: AsyncIterable<UntouchedRow> | Iterable<UntouchedRow>,
  places: readonly number[],
): Promise<UntouchedRows> {
  const left = new Set<UntouchedRow>();
  const holders = new Map<string, UntouchedRow[]>();
  const keyOf = (place: number, cell: string) => `${place}:${cell}`;
  const filled = (cells: readonly string[]) => places.filter((place) => (cells[place] ?? '') !== '');
  for await (const row of rows) {
    left.add(row);
    for (const place of filled(row.cells)) {
      const key = keyOf(place, row.cells[place] ?? '');
      const known = holders.get(key);
      if (known === undefined) holders.set(key, [row]);
      else known.push(row);
    }
  }
  const ofLine = new Map([...left].map((row) => [row.line, row]));
  ofLine.delete('');
  const others = left.size - 1;
  // Cells that all rows have, such as `true` and `active`, say little: exports of other shops have them, too.
  const weightOf = (place: number, cell: string) => {
    const holding = holders.get(keyOf(place, cell))?.length ?? 1;
    return others === 0 ? 1 : 1 - COMMONPLACE * ((holding - 1) / others);
  };
  const likeness = (row: UntouchedRow, cells: readonly string[]) => {
    let [alike, all] = [0, 0];
    for (const place of places) {
      const old = row.cells[place] ?? '';
      const now = cells[place] ?? '';
      if (old === '' && now === '') continue;
      const weight = weightOf(place, old === '' ? now : old);
      all += weight;
      if (old === now) alike += weight;
    }
    return all === 0 ? 0 : alike / all;
  };
  return {
    take(line, cells) {
      const named = ofLine.get(line);
      let best = named !== undefined && left.has(named) ? named : undefined;
      let most = best === undefined ? 0 : likeness(best, cells);
      const rarest = filled(cells)
        .map((place) => holders.get(keyOf(place, cells[place] ?? '')) ?? [])
        .filter((rows) => rows.length > 0)
        .sort((one, other) => one.length - other.length);
      const candidates = new Set<UntouchedRow>();
      for (const rows of rarest) {
        for (const row of rows.slice(0, MAX_CANDIDATES - candidates.size)) candidates.add(row);
      }
      for (const row of candidates) {
        const found = left.has(row) ? likeness(row, cells) : 0;
        if (found >= MIN_LIKENESS && found > most) [best, most] = [row, found];
      }
      if (best !== undefined) left.delete(best);
      return best;
    },
    left: async () => [...left],
    takenOf: () => undefined,
  };
}

/** Rows whose line number in the corrected file is not reliable. */
export interface DoubtfulLines {
  /** Rows of the copy whose line no row has, or whose row has become another one. */
  readonly unclaimed: readonly UntouchedRow[];
  /** Line numbers that are not in the copy, or that several rows have. */
  readonly added: ReadonlySet<string>;
}

/** Finds rows by line number; if that is doubtful, by similarity among `unclaimed`. */
export async function untouchedByLineOrLikeness(
  table: Table,
  { unclaimed, added }: DoubtfulLines,
  places: readonly number[],
): Promise<UntouchedRows> {
  const byLine = untouchedByLine(table);
  const byLikeness = await untouchedByLikeness(unclaimed, places);
  const doubtful = new Set(unclaimed.map(({ line }) => line));
  const copied = new Map<string, UntouchedRow>();
  const orAlike = (row: UntouchedRow | undefined, line: string, cells: readonly string[]) => {
    if (row !== undefined && added.has(line)) copied.set(line, row);
    return row ?? byLikeness.take(line, cells);
  };
  return {
    take(line, cells) {
      if (doubtful.has(line)) return byLikeness.take(line, cells);
      const found = byLine.take(line, cells);
      return found instanceof Promise
        ? found.then((row) => orAlike(row, line, cells))
        : orAlike(found, line, cells);
    },
    takenOf: (line) => copied.get(line),
    left: byLikeness.left,
  };
}

/** Whether a row differs so little from the row of its line that corrections explain the difference. */
export function isLike(row: UntouchedRow, cells: readonly string[], places: readonly number[]): boolean {
  const filled = places.filter((place) => (row.cells[place] ?? '') !== '' || (cells[place] ?? '') !== '');
  const differing = filled.filter((place) => (row.cells[place] ?? '') !== (cells[place] ?? '')).length;
  return differing < 2 || differing * 3 < filled.length;
}
