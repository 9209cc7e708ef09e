/** What a spreadsheet takes for the start of a formula, including full-width forms. */
const SIGN = '[=+\\-@＝＋－＠]';
/**
 * Cells of a file that begin like this may be run as formulas, even with invisible characters before the sign. A mark
 * before them does not change that.
 */
const STARTS_FORMULA = new RegExp(`^'*(?:[\\p{White_Space}\\p{Cc}\\p{Cf}]*${SIGN}|[\\t\\r\\n])`, 'u');
/** A negative number is a number and not a formula. */
const NEGATIVE_NUMBER = /^-\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * If a spreadsheet splits by another character than the file, a new cell begins after each of these: `a;=1+1` in a
 * file with commas, opened with semicolons as separators.
 */
const SEPARATORS = ';,|\\t\\r\\n';
/** Invisible characters, and removed quotes, between a separator and the sign. */
const UNSEEN = `(?:(?![${SEPARATORS}])[\\p{White_Space}\\p{Cc}\\p{Cf}"'])*`;
const INNER = new RegExp(`([${SEPARATORS}])(?=${UNSEEN}${SIGN})`, 'gu');
const MARKED_INNER = new RegExp(`([${SEPARATORS}])'(?=${UNSEEN}${SIGN})`, 'gu');
const ANY_SIGN = /[=+\-@＝＋－＠\t\r\n]/;

/** Whether a spreadsheet might run the cell as a formula when it opens the file. */
export function isLive(cell: string): boolean {
  return !cell.startsWith("'") && startsFormula(cell);
}

/**
 * The cell in a form that a spreadsheet shows without running it, whichever character separates cells: an apostrophe
 * before each start of a formula, and one more before such existing apostrophes.
 */
export function inertCell(cell: string): string {
  if (!ANY_SIGN.test(cell)) return cell;
  const inner = cell.replace(INNER, "$1'");
  return startsFormula(cell) ? `'${inner}` : inner;
}

/** The original of a cell that `inertCell` made. */
export function withoutInertMark(cell: string): string {
  if (!cell.includes("'")) return cell;
  const whole = cell.replace(MARKED_INNER, '$1');
  return whole.startsWith("'") && STARTS_FORMULA.test(whole.slice(1)) ? whole.slice(1) : whole;
}

function startsFormula(cell: string): boolean {
  return STARTS_FORMULA.test(cell) && !NEGATIVE_NUMBER.test(cell);
}
