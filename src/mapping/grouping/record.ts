import type { Reason } from '../../model/reason.ts';
import type { RowSpan } from '../../model/row.ts';
import type { RecordRows, SourceRow } from '../rows.ts';

/** Runs of rows that follow each other in one file, as spans. The rows are in source order. */
export function spansOf(rows: readonly SourceRow[]): readonly RowSpan[] {
  const [only, second] = rows;
  if (only !== undefined && second === undefined) {
    return [{ file: only.table.file, from: only.line, to: only.line }];
  }
  const spans: RowSpan[] = [];
  let first: SourceRow | undefined;
  let last: SourceRow | undefined;
  for (const row of rows) {
    if (first !== undefined && last !== undefined) {
      if (row.seq === last.seq + 1 && row.table.file === last.table.file) {
        last = row;
        continue;
      }
      spans.push({ file: first.table.file, from: first.line, to: last.line });
    }
    first = row;
    last = row;
  }
  if (first !== undefined && last !== undefined) {
    spans.push({ file: first.table.file, from: first.line, to: last.line });
  }
  return spans;
}

/** A record of its own that cannot be read: a row that belongs to nothing. */
export function strayRecord(
  rows: readonly SourceRow[],
  reason: Reason,
  key: string | null = null,
): RecordRows {
  return {
    head: undefined,
    rows: [],
    children: [],
    childOptions: undefined,
    fault: reason,
    key,
    spans: spansOf(rows),
    counted: rows.length,
    torn: false,
  };
}
