/** Behind anything that cannot be seen: what a spreadsheet takes for the start of a formula, full-width forms included. */
const STARTS_FORMULA = /^[\p{White_Space}\p{Cc}\p{Cf}]*[=+\-@＝＋－＠]/u;
const STARTS_WITH_BREAK = /^[\t\r\n]/;
/** A negative number is one, and no formula. */
const NEGATIVE_NUMBER = /^-\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Whether a spreadsheet might run the cell as a formula when it opens the file. */
export function isLive(cell: string): boolean {
  return (STARTS_FORMULA.test(cell) || STARTS_WITH_BREAK.test(cell)) && !NEGATIVE_NUMBER.test(cell);
}

/** The cell as a spreadsheet shows it without running it: an apostrophe before what would start a formula. */
export function inertCell(cell: string): string {
  return isLive(cell) ? `'${cell}` : cell;
}

/** The cell as it was before `inertCell`. */
export function withoutInertMark(cell: string): string {
  return cell.startsWith("'") && isLive(cell.slice(1)) ? cell.slice(1) : cell;
}
