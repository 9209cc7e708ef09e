/**
 * A cell with its type. A number is its digits, so that none is lost: amounts are decimal, and ids may be longer than
 * numbers of JavaScript. Null is an empty cell.
 */
export type TypedCell = string | boolean | Date | null | { readonly number: string };

/** A table to write. */
export interface WrittenTable {
  /** Of the sheet. */
  readonly name: string;
  readonly columns: readonly string[];
  /** Opens the rows, from the first one each time, in batches. */
  readonly rows: () => AsyncIterable<readonly (readonly TypedCell[])[]>;
}

/** A cell as text; `decimal` is the sign of decimals. A time is `2026-11-01 06:00:00`, in UTC. */
export function cellAsText(cell: TypedCell, decimal: '.' | ',' = '.'): string {
  if (cell === null) return '';
  if (typeof cell === 'string') return cell;
  if (typeof cell === 'boolean') return String(cell);
  if (cell instanceof Date) return cell.toISOString().replace(/\..*/, '').replace('T', ' ');
  return decimal === '.' ? cell.number : cell.number.replace('.', decimal);
}
