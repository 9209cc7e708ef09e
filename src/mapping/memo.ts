import { hash } from 'node:crypto';
import type { RecordRows } from './record-rows.ts';
import type { BoundTable } from './source-row.ts';

/** 22 letters of base64url hold 132 bits: no two records will ever share them by chance. */
const LENGTH = 22;

/** The digest of a text, as memos and what they are made of use it. */
export function memoDigest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, LENGTH);
}

/**
 * A digest of all that the mapping can read of a record: `context` (everything beside the rows), how the columns of its
 * files are bound, and the cells that the mapping uses. Of equal memos the mapping makes the same, unless it looks at
 * the clock.
 *
 * Unambiguous: first comes how many cells there are, row by row, and which of them are head and children; NUL stands
 * before every cell and in none, since `csv` refuses it.
 */
export function memoOf(context: string, { head, rows, children, childOptions }: RecordRows): string {
  let table: BoundTable | undefined;
  let shape = `${context} ${rows.length}`;
  let cells = '';
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index];
    if (row === undefined) continue;
    if (row.table !== table) {
      table = row.table;
      shape += ` ${index}:${table.digest}`;
    }
    if (row === head && index > 0) shape += ` head ${index}`;
    cells += `\0${row.cells.join('\0')}`;
  }
  if (children.length > 0) shape += ` children ${children.map((child) => rows.indexOf(child)).join()}`;
  if (childOptions !== undefined) shape += JSON.stringify(childOptions.map((options) => [...options]));
  return memoDigest(shape + cells);
}
