import { Unreadable } from '../cell.ts';
import type { Read } from '../expression.ts';
import type { RecordRows } from '../record-rows.ts';
import type { SourceRow } from '../source-row.ts';
import type { Grouper } from './grouper.ts';
import { spansOf, strayRecord } from './record.ts';

/** Every row is a record. `key` reads what identifies it, for rows of which only the first cell can be trusted. */
export function rowGrouper(key: Read, trusted: (row: SourceRow) => boolean): Grouper {
  return {
    startTable: () => undefined,
    add: (rows) => rows.map((row) => recordOf(row, key, trusted)),
    end: () => [],
  };
}

function recordOf(row: SourceRow, key: Read, trusted: (row: SourceRow) => boolean): RecordRows {
  if (row.misaligned !== undefined) {
    const named = trusted(row) ? key(row, 0) : undefined;
    const known = named === undefined || named instanceof Unreadable ? null : String(named);
    return strayRecord([row], row.misaligned.reason, known);
  }
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
