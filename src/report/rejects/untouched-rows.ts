import type { Row } from '../../model/row.ts';
import type { Table } from '../../model/table.ts';
import type { RejectsIndex } from './rejects-index.ts';

/** A row of the untouched copy: its `storeferry_line`, and its cells as that file has them. */
export interface UntouchedRow {
  readonly line: string;
  readonly cells: readonly string[];
}

/** The rows of the untouched copy, each to be taken once by the row that it has become. */
export interface UntouchedRows {
  /** A promise only where the copy has to be read on. */
  take(line: string, cells: readonly string[]): UntouchedRow | undefined | Promise<UntouchedRow | undefined>;
  /** How many were not taken. */
  left(): Promise<number>;
}

/**
 * Rows by their `storeferry_line`. The copy is read along with the corrected file, so that only rows which were
 * deleted, or moved, are kept in memory.
 */
export function untouchedByLine(table: Table): UntouchedRows {
  const batches = table.batches()[Symbol.asyncIterator]();
  const linePlace = table.header.length - 1;
  const skipped = new Map<string, UntouchedRow>();
  let batch: readonly Row[] = [];
  let next = 0;
  let ended = false;

  const search = (wanted: string): UntouchedRow | undefined => {
    while (next < batch.length) {
      const { cells } = batch[next] ?? { cells: [] };
      next += 1;
      const row = { line: cells[linePlace] ?? '', cells };
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
    async left() {
      let count = skipped.size;
      for (; !ended; await readOn()) count += batch.length - next;
      return count;
    },
  };
}

/**
 * For a file without lines: only rows that were short or long, found by their cells, so that they are so again when
 * nobody has edited them. `places` are those to compare by.
 */
export async function untouchedByContent(
  table: Table,
  index: RejectsIndex,
  places: readonly number[],
): Promise<UntouchedRows> {
  const keyOf = (cells: readonly string[]) => JSON.stringify(places.map((place) => cells[place] ?? ''));
  const ragged = new Map<string, UntouchedRow>();
  const linePlace = table.header.length - 1;
  for await (const batch of table.batches()) {
    for (const { cells } of batch) {
      const line = cells[linePlace] ?? '';
      if (index.rows[line]?.cells !== undefined) ragged.set(keyOf(cells), { line, cells });
    }
  }
  return { take: (_line, cells) => ragged.get(keyOf(cells)), left: async () => 0 };
}
