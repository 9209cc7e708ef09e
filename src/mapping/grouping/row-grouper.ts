import type { RecordRows, SourceRow } from '../rows.ts';
import type { Grouper } from './grouper.ts';
import { spansOf, strayRecord } from './record.ts';

/** Every row is a record. `keyOf` reads the key of a misaligned row, where it can be trusted. */
export function rowGrouper(keyOf: (misaligned: SourceRow) => string | null): Grouper {
  return {
    startTable: () => undefined,
    add: (rows) => rows.map((row) => recordOf(row, keyOf)),
    end: () => [],
  };
}

function recordOf(row: SourceRow, keyOf: (misaligned: SourceRow) => string | null): RecordRows {
  if (row.misaligned !== undefined) return strayRecord([row], row.misaligned.reason, keyOf(row));
  const rows = [row];
  return {
    head: row,
    rows,
    children: [],
    childOptions: undefined,
    fault: undefined,
    key: null,
    spans: spansOf(rows),
    counted: 1,
    torn: false,
  };
}
