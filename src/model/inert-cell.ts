/** What a spreadsheet takes for the start of a formula, full-width forms included. */
const SIGN = '[=+\\-@＝＋－＠]';
/** Cells of a file that begin so may be run, whatever cannot be seen before the sign. A mark does not end that. */
const STARTS_FORMULA = new RegExp(`^'*(?:[\\p{White_Space}\\p{Cc}\\p{Cf}]*${SIGN}|[\\t\\r\\n])`, 'u');
/** A negative number is one, and no formula. */
const NEGATIVE_NUMBER = /^-\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * Where a spreadsheet splits by another character than the file does, a cell goes on as a cell of its own behind each of
 * these: `a;=1+1` in a file with commas, opened where semicolons are usual.
 */
const SEPARATORS = ';,|\\t\\r\\n';
/** What cannot be seen, or is taken off as a quote, between a separator and the sign. */
const UNSEEN = `(?:(?![${SEPARATORS}])[\\p{White_Space}\\p{Cc}\\p{Cf}"'])*`;
const INNER = new RegExp(`([${SEPARATORS}])(?=${UNSEEN}${SIGN})`, 'gu');
const MARKED_INNER = new RegExp(`([${SEPARATORS}])'(?=${UNSEEN}${SIGN})`, 'gu');
const ANY_SIGN = /[=+\-@＝＋－＠\t\r\n]/;

/** Whether a spreadsheet might run the cell as a formula when it opens the file. */
export function isLive(cell: string): boolean {
  return !cell.startsWith("'") && startsFormula(cell);
}

/**
 * The cell as a spreadsheet shows it without running it, by whichever character it splits: an apostrophe before each
 * start of a formula, and one more before such apostrophes as are there already.
 */
export function inertCell(cell: string): string {
  if (!ANY_SIGN.test(cell)) return cell;
  const inner = cell.replace(INNER, "$1'");
  return startsFormula(cell) ? `'${inner}` : inner;
}

/** The cell as it was before `inertCell`. */
export function withoutInertMark(cell: string): string {
  if (!cell.includes("'")) return cell;
  const whole = cell.replace(MARKED_INNER, '$1');
  return whole.startsWith("'") && STARTS_FORMULA.test(whole.slice(1)) ? whole.slice(1) : whole;
}

function startsFormula(cell: string): boolean {
  return STARTS_FORMULA.test(cell) && !NEGATIVE_NUMBER.test(cell);
}
