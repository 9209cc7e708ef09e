/** What spreadsheets write for TRUE, in the languages in which they are sold; in lower case. */
export const TRUE_WORDS: ReadonlySet<string> = new Set(
  'true wahr vrai verdadero vero verdadeiro waar prawda истина pravda sant sand tosi igaz doğru adevărat αληθής'.split(
    ' ',
  ),
);

/** What a spreadsheet writes for FALSE, likewise. */
export const FALSE_WORDS: ReadonlySet<string> = new Set(
  'false falsch faux falso onwaar fałsz ложь nepravda falskt falsk usant epätosi hamis yanlış fals ψευδής'.split(
    ' ',
  ),
);

/** How a word is compared with those for yes and no. */
export function booleanWord(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

const ERRORS: ReadonlySet<string> = new Set(
  [
    // The first is ours: a formula whose file holds no result.
    '#FORMULA!',
    'NaN #ERROR! #FEHLER! #ERREUR! #ERRO! #FOUT! #N/A #VALUE! #REF! #NAME? #DIV/0! #NUM! #NULL! #SPILL! #CALC! #FIELD! #BLOCKED! #CONNECT! #GETTING_DATA',
    '#NV #WERT! #BEZUG! #ZAHL! #ÜBERLAUF! #N/D #VALEUR! #NOM? #NOMBRE! #NUL! #PROPAGATION! #¡VALOR! #¡REF!',
    '#¿NOMBRE? #¡DIV/0! #¡NUM! #¡NULO! #¡DESBORDAMIENTO! #VALORE! #RIF! #NOME? #VALOR! #NÚM! #NULO! #WAARDE!',
    '#VERW! #NAAM? #DEEL/0! #GETAL! #LEEG! #N/B #ARG! #ADR! #NAZWA? #DZIEL/0! #LICZBA! #ZERO! #N/D! #BRAK',
    '#Н/Д #ЗНАЧ! #ССЫЛКА! #ИМЯ? #ДЕЛ/0! #ЧИСЛО! #ПУСТО! #VÄRDEFEL! #REFERENS! #NAMN? #DIVISION/0! #SAKNAS! #YOK',
    '#DEĞER! #BAŞV! #AD? #SAYI/0! #SAYI! #BOŞ! #HODNOTA! #ODKAZ! #NÁZEV? #DĚLENÍ_NULOU! #ČÍSLO! #ÉRTÉK! #HIV! #NÉV?',
  ]
    .join(' ')
    .split(' '),
);

/** Whether a cell has the error of a spreadsheet or a program, which is not a value of any column. */
export function isErrorValue(text: string): boolean {
  return ERRORS.has(text) || /^(?:#{3,}|Err:5[0-9]{2})$/.test(text);
}

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
