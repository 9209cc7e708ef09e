import { withoutAbsent } from '../model/json-object.ts';
import { booleanWord, FALSE_WORDS, isErrorValue, TRUE_WORDS } from '../model/row.ts';
import { areBeyondAscii, counted, grouped, isMisreading, misreadingsOf, quote } from '../text/printable.ts';
import { LINE_COLUMN } from './rejects-file.ts';

/**
 * The verdict on a cell. `same`: only line ends differ. `edited`: its new text is the correction. `restored`: a
 * spreadsheet writes the old text like this, so the old text is used. Otherwise the record is refused: `damaged` if a
 * spreadsheet probably made the new text, `unnamed` if the column was not to be corrected.
 */
type CellVerdict = 'same' | 'edited' | 'restored' | 'damaged' | 'unnamed';

/**
 * Three rules: a text that a spreadsheet makes of the old one by itself is the old one; a cell that a reason blames has
 * its new text; any other change is refused. In a column that a reason names, another notation is the correction, and a
 * loss is refused, because both may be meant.
 */
export function judgeCell(oldText: string, newText: string, blame: Blame): CellVerdict {
  const old = oldText.replaceAll(/\r\n?/g, '\n');
  const now = newText.replaceAll(/\r\n?/g, '\n');
  if (old === now) return 'same';
  // Damage in the source itself is what the user corrects.
  if (!SHORTENED.test(old) && !isErrorValue(old.trim())) {
    if (isLossOf(old, now)) return blame === 'named' ? 'damaged' : 'restored';
    if (isNotationOf(old, now) && blame !== 'named') return 'restored';
  }
  if (blame === 'other-column') return 'unnamed';
  return looksDamaged(old, now) ? 'damaged' : 'edited';
}

/** Whether a spreadsheet makes `now` of `old`, and the old text cannot be read from it. */
function isLossOf(old: string, now: string) {
  return (
    lostCharacters(old, now) ||
    isMisreading(old, now) ||
    (isFullCell(now) && old.startsWith(now)) ||
    isRounded(old, now) ||
    (/^(?:\+|0\d)/.test(old) && isSameNumber(old, now)) ||
    (!isFullDate(old) && isSameDay(old, now))
  );
}

/** Whether both mean the same, as spreadsheets show it. */
function isNotationOf(old: string, now: string) {
  return (
    withPlainMarks(old) === withPlainMarks(now) ||
    now === old.replaceAll('"', '""') ||
    isSameNumber(old, now) ||
    isSameMoment(old, now) ||
    [TRUE_WORDS, FALSE_WORDS].some((words) => [old, now].every((text) => words.has(booleanWord(text.trim()))))
  );
}

/** Signs that a text was not typed. */
function looksDamaged(old: string, now: string) {
  return (
    isErrorValue(now.trim()) ||
    SHORTENED.test(now) ||
    isFullCell(now) ||
    /^\d{15}0+$/.test(now) ||
    (/^0\d+$/.test(old) && /^[1-9]\d*$/.test(now) && now.length < old.length) ||
    (/^\P{N}*\d{1,2}(?:\P{N}+\d{1,2})?\P{N}*$/u.test(now) && /\p{L}/u.test(now) && isNewDate(old, now)) ||
    hasMisreading(old, now)
  );
}

function isNewDate(old: string, now: string) {
  return datesIn(now).length > 0 && datesIn(old).length === 0;
}

function withPlainMarks(text: string) {
  return text
    .trim()
    .replace(/^'/, '')
    .replaceAll(/\s+/g, ' ')
    .replaceAll(/[“”„‟«»]|''/g, '"')
    .replaceAll(/[‘’‚‛]/g, "'");
}

/** Whether `now` is `old` saved in a charset that lacks some characters: each is a mark, or its base letter. */
function lostCharacters(old: string, now: string) {
  if (!/\P{ASCII}/u.test(old)) return false;
  const after = [...now];
  const isMark = (character: string | undefined) => character === '?' || character === '\ufffd';
  let at = 0;
  for (const character of old) {
    const isBase = character > '\u00ff' && character.normalize('NFD')[0] === after[at];
    const isLost = character > '\u007f' && (isBase || isMark(after[at]));
    if (character !== after[at] && !isLost) return false;
    // Some programs write two marks for a character beyond the basic plane.
    at += character.length > 1 && isMark(after[at]) && isMark(after[at + 1]) ? 2 : 1;
  }
  return at === after.length;
}

/** Whether a character of `old` appears in `now` as another charset shows it. */
function hasMisreading(old: string, now: string) {
  const characters = areBeyondAscii(old, now) ? new Set(old.match(/\P{ASCII}/gu)) : new Set<string>();
  return [...characters].some((character) =>
    misreadingsOf(character).some((made) => made.length > 1 && now.includes(made) && !old.includes(made)),
  );
}

/** The most characters of a cell in Excel, Google Sheets and LibreOffice. */
const CELL_SIZES = [32_767, 50_000, 65_535] as const;

/** Whether a cell cannot hold more. A line break may count as two characters, and half a character is dropped. */
function isFullCell(text: string) {
  const breaks = text.length < 30_000 ? 0 : text.split('\n').length;
  return CELL_SIZES.some((size) => text.length <= size && size <= text.length + breaks + 1);
}

/** How spreadsheets show numbers that are too wide: `1.23E+12`. */
const SHORTENED = /^\s*[-+]?\d(?:(?:[.,]\d+)?E[-+]\d{2,3}|[.,]\d+E\d{1,3})\s*$/i;
/** Spreadsheets keep this many digits of a number; further digits become 0. */
const EXACT_DIGITS = 15;
const MIN_ROUNDED_DECIMALS = 8;

/** Whether `now` has the first digits of the number `old`. */
function isRounded(old: string, now: string) {
  const digits = significantDigits(now);
  const isShortened = SHORTENED.test(now);
  const isCut = isShortened || (/[.,](\d+)$/.exec(now)?.[1]?.length ?? 0) >= MIN_ROUNDED_DECIMALS;
  const kept = isCut ? digits : digits > EXACT_DIGITS ? EXACT_DIGITS : 0;
  if (kept === 0 || (!isShortened && significantDigits(old) <= kept)) return false;
  const before = [...numbersIn(old)].map(Number);
  return [...numbersIn(now)].map(Number).some((value) => {
    const unit = 10 ** (Math.floor(Math.log10(Math.abs(value))) + 1 - kept);
    return before.some((number) => Math.abs(number - value) <= unit);
  });
}

function significantDigits(text: string) {
  return text.replace(/E.*/i, '').replaceAll(/\D/g, '').replace(/^0+/, '').length;
}

const MAX_NUMBER_LENGTH = 40;
const NUMBER =
  /^(?<sign>[-−]?)\+?\p{Sc}?\s?(?<body>[\d.,'’\s]*\d)(?:[eE](?<exponent>[-+]?\d{1,3}))?\s?(?<unit>%|\p{Sc})?$/u;

/** The numbers that a text may mean, each in one notation: `1,234` may be 1234 or 1.234. */
function numbersIn(text: string): ReadonlySet<string> {
  const trimmed = text.trim().replace(/^\((.*)\)$/, '-$1');
  const parts = (trimmed.length > MAX_NUMBER_LENGTH ? null : NUMBER.exec(trimmed))?.groups ?? {};
  const { sign = '', body = '', exponent = '0', unit } = parts;
  const power = Number(exponent) - (unit === '%' ? 2 : 0);
  const plain = body.replaceAll(/\s/g, ' ').replaceAll('’', "'");
  const numbers = new Set<string>();
  for (const [whole, fraction] of decimalsIn(plain)) {
    const digits = `${whole}${fraction}`.replace(/^0+/, '');
    const significant = digits.replace(/(?<!0)0+$/, '');
    const shift = power - fraction.length + digits.length - significant.length;
    numbers.add(significant === '' ? '0' : `${sign === '' ? '' : '-'}${significant}e${shift}`);
  }
  return numbers;
}

/** The digits before and after the decimal sign, for each possible reading. */
function decimalsIn(body: string): (readonly [whole: string, fraction: string])[] {
  if (/^\d+$/.test(body)) return [[body, '']];
  const ways: (readonly [string, string])[] = [];
  if (/^\d{1,3}(?<sign>[.,' ])\d{3}(?:\k<sign>\d{3})*$/.test(body))
    ways.push([body.replaceAll(/\D/g, ''), '']);
  const [, whole = '', fraction] =
    /^(\d*|\d{1,3}(?:,\d{3})+|\d{1,3}(?:[' ]\d{3})+)\.(\d+)$/.exec(body) ??
    /^(\d*|\d{1,3}(?:\.\d{3})+|\d{1,3}(?:[' ]\d{3})+),(\d+)$/.exec(body) ??
    [];
  if (fraction !== undefined) ways.push([whole.replaceAll(/\D/g, ''), fraction]);
  return ways;
}

function isSameNumber(old: string, now: string) {
  const [currency, newCurrency] = [old, now].map((text) => /\p{Sc}/u.exec(text)?.[0]);
  const isOther = currency !== undefined && newCurrency !== undefined && currency !== newCurrency;
  return !isOther && !numbersIn(old).isDisjointFrom(numbersIn(now));
}

/** The same day and time in another form. */
function isSameMoment(old: string, now: string) {
  const [{ day, time }, { day: newDay, time: newTime }] = [momentIn(old), momentIn(now)];
  return time === newTime && (day === newDay || isSameDay(day, newDay));
}

const MOMENT = /^(?<day>.*?)(?:(?:^|[T ])(?<time>\d{1,3}(?::\d{1,2}){1,2})(?: ?(?<half>[AP])M)?Z?)?$/is;

/** The day as written, and the time in seconds; undefined where the text has none. */
function momentIn(text: string): { readonly day: string; readonly time: number | undefined } {
  const { day = '', time, half } = MOMENT.exec(text.trim())?.groups ?? {};
  if (time === undefined) return { day, time };
  const [hours = 0, minutes = 0, seconds = 0] = time.split(':').map(Number);
  const passed = half === undefined ? hours : (hours % 12) + (half.toUpperCase() === 'P' ? 12 : 0);
  return { day, time: (passed * 60 + minutes) * 60 + seconds };
}

/** Whether a spreadsheet writes the date, or the part of a date such as `3-4` and `MAR1`, in this form. */
function isSameDay(old: string, now: string) {
  // Neither has a month by name or three numbers: `3-4` and `4-3`.
  if (!isFullDate(now) && !/\p{L}/u.test(now)) return false;
  const days = datesIn(now);
  return datesIn(old).some(({ year, month, day }) =>
    days.some(
      (other) =>
        month === other.month &&
        (day === undefined || day === other.day) &&
        (year === undefined || year === other.year),
    ),
  );
}

function isFullDate(text: string) {
  return text.match(/\d+|\p{L}+/gu)?.length === 3;
}

interface DateReading {
  readonly day?: number | undefined;
  readonly month: number;
  /** The last two digits. */
  readonly year?: number | undefined;
}

/** The dates that a text of two or three parts may mean, in each order of the parts. */
function datesIn(text: string): readonly DateReading[] {
  if (!/^[\p{L}\p{M}\d\s.,/-]{3,40}$/u.test(text)) return [];
  const words = text.replaceAll(/[年月日號号년월일]/g, ' ').match(/[\p{L}\p{M}]+|\d+/gu) ?? [];
  const [one = '', two = '', three] = words;
  if (words.length > 3 || two === '') return [];
  if (three === undefined)
    return [
      ...datesOf(one, two, undefined),
      ...datesOf(two, one, undefined),
      ...datesOf(undefined, one, two),
    ];
  return /^\d{4}$/.test(one)
    ? datesOf(three, two, one)
    : [...datesOf(one, two, three), ...datesOf(two, one, three)];
}

function datesOf(day: string | undefined, month: string, year: string | undefined): readonly DateReading[] {
  const isWrong = [day, year].some((part) => part !== undefined && !/^(?:\d{1,2}|\d{4})$/.test(part));
  if (isWrong || Number(day ?? 1) > 31 || Number(day ?? 1) < 1) return [];
  return monthsOf(month).map((number) => ({
    day: day === undefined ? undefined : Number(day),
    month: number,
    year: year === undefined ? undefined : Number(year) % 100,
  }));
}

/** The months that a number or a name may mean: full, short, or the beginning of it. */
function monthsOf(word: string): readonly number[] {
  if (/^\d+$/.test(word)) return Number(word) >= 1 && Number(word) <= 12 ? [Number(word)] : [];
  if (word.length < MIN_MONTH_LENGTH) return [];
  monthNames ??= readMonthNames();
  return monthNames.flatMap((names, index) =>
    names.some((name) => name.startsWith(word.toLowerCase())) ? [index + 1] : [],
  );
}

const MIN_MONTH_LENGTH = 3;
let monthNames: readonly (readonly string[])[] | undefined;

const LANGUAGES = (
  'en de fr es it nl pt sv da nb fi pl cs sk hu ro tr el ru uk hr sl sr bs bg mk be lt lv et sq is ca gl eu ' +
  'az kk uz ka hy he ar hi bn mr ta te vi id ms'
).split(' ');

/** The names of the months in the languages of spreadsheets, alone and beside a day. */
function readMonthNames() {
  const formats = LANGUAGES.flatMap((language) =>
    (['long', 'short'] as const).flatMap((month) =>
      [undefined, 'numeric' as const].map(
        (day) => new Intl.DateTimeFormat(`${language}-u-ca-gregory-nu-latn`, { month, day, timeZone: 'UTC' }),
      ),
    ),
  );
  return Array.from({ length: 12 }, (_, month) =>
    withoutAbsent([
      ...formats.flatMap((format) =>
        format
          .formatToParts(Date.UTC(2024, month, 1))
          .flatMap(({ type, value }) => (type === 'month' ? [value.toLowerCase()] : [])),
      ),
      // German spreadsheets write `03. Mrz`, which no locale data has.
      month === 2 && 'mrz',
    ]),
  );
}

/** Why a cell of a corrected file is refused. */
export const REFUSALS = {
  damaged: { code: 'damaged-by-spreadsheet', words: 'probably changed by a spreadsheet' },
  unnamed: { code: 'column-not-rejected', words: 'the reason of the rejection does not name this column' },
  line: { code: 'row-not-rejected', words: `no rejected row has this ${LINE_COLUMN} and these cells` },
} as const;

/** The changes of the user and of a spreadsheet, printed before anything is sent. */
export interface RejectsEdits {
  readonly rows: number;
  readonly editedRows: number;
  readonly deletedRows: number;
  readonly editedCells: number;
  /** The first of them. */
  readonly cells: readonly CellEdit[];
  /** Cells that a spreadsheet wrote in another way; their old text is used. */
  readonly restoredCells: number;
  /** The first of them. */
  readonly restored: readonly CellEdit[];
  /** Cells whose change is not accepted: their records are not sent. */
  readonly refusedCells: number;
  /** The first of them. */
  readonly refused: readonly RefusedCell[];
  readonly removedColumns: readonly string[];
}

/** A changed cell. */
export interface CellEdit {
  /** The `storeferry_line` of its row. */
  readonly line: string;
  readonly column: string;
  readonly old: string;
  readonly new: string;
}

/** A changed cell whose record must not be sent. */
export interface RefusedCell extends CellEdit {
  readonly why: keyof typeof REFUSALS;
}

const COLUMNS_NAMED = 5;

/** How many cells of one kind are listed for people. */
export const CELLS_LISTED = 20;

/** The text about cells that are not sent as in the corrected file. */
export const RESTORED = 'A spreadsheet changed these cells. Their old values are used.';
/** The same if the old value may not be the intended one. */
export const REFUSED =
  'These changes are not accepted, and their records are not sent. Restore the old values, or type the new ones in the dashboard (Correct the rows here) or in the source. Where a spreadsheet changed a cell, format the column as text and type the value again.';

/** Whether the file is unchanged, apart from changes of a spreadsheet and removed columns. */
export function isUntouched({ editedCells, deletedRows, refusedCells }: RejectsEdits): boolean {
  return editedCells + deletedRows + refusedCells === 0;
}

/** `3 cells edited in 2 of 5 rows, 1 row deleted, 2 cells restored`. */
export function editsWords(edits: RejectsEdits): string {
  const { editedCells, editedRows, rows, deletedRows, restoredCells, refusedCells } = edits;
  return withoutAbsent([
    `${counted(editedCells, 'cell')} edited in ${grouped(editedRows)} of ${counted(rows, 'row')}`,
    deletedRows > 0 && `${counted(deletedRows, 'row')} deleted`,
    restoredCells > 0 && `${counted(restoredCells, 'cell')} restored`,
    refusedCells > 0 && `${counted(refusedCells, 'cell')} refused`,
    ...removedWords(edits.removedColumns),
  ]).join(', ');
}

function removedWords(columns: readonly string[]) {
  if (columns.length === 0) return [];
  const named = columns.slice(0, COLUMNS_NAMED).map((column) => quote(column));
  const more = columns.length > named.length ? ` and ${columns.length - named.length} more` : '';
  return [
    `${columns.length === 1 ? 'column' : 'columns'} ${named.join(', ')}${more} removed (the old values are used)`,
  ];
}

/** The reason for rejecting the record of a refused cell. Values of contacts are not quoted. */
export function refusedCellWords({ old, new: now, why }: RefusedCell, personal: boolean): string {
  if (why === 'line')
    return `${REFUSALS.line.words}, so the row cannot be compared: type the ${LINE_COLUMN} that the row had, or delete the row; new rows belong in the source`;
  const cell = personal ? 'a cell has been changed' : `${quote(old)} has become ${quote(now)}`;
  if (why === 'unnamed')
    return `${cell}, but ${REFUSALS.unnamed.words}: restore the old value, or change it in the dashboard or in the source`;
  return `${cell}, ${REFUSALS.damaged.words}, and the intended value is unknown: format the column as text and type the value again`;
}

/** What the reasons of a rejected row say of a column: one names it, or one names no column at all, or all name others. */
type Blame = 'named' | 'open' | 'other-column';

/** The position of another row: `(line 8, …)`, `(Prices!C8)`, `(Prices row 8)` or `(items[7].price)`. */
const ROW_REFERENCE = /\((?:line \d+|[^()]*(?:![A-Z]+| row )\d+|[^()]*\[\d+\][^(),]*)[,)]/;

/** What the reasons of a rejected row say of one of its columns. */
export function blameOf(text: string, column: string, columns: readonly string[]): Blame {
  if (isBlamed(text, column, columns)) return 'named';
  const isOpen = reasonsIn(text, columns).some(
    (reason) => !columns.some((name) => namesColumn(reason, name)),
  );
  return isOpen ? 'open' : 'other-column';
}

/** Whether one of the reasons of a rejected row names this one of its columns, and no other line. */
export function isBlamed(text: string, column: string, columns: readonly string[]): boolean {
  if (!text.includes(column)) return false;
  return reasonsIn(text, columns).some(
    (reason) => !ROW_REFERENCE.test(reason) && namesColumn(reason, column),
  );
}

/** The reasons in the text that `RejectedSpans` joins. The name of a column may have the separator in it: `Preis / Price`. */
function reasonsIn(text: string, columns: readonly string[]) {
  const names = columns.filter((name) => name.includes(' / ') && text.includes(name));
  const kept = names
    .sort((one, other) => other.length - one.length)
    .reduce((marked, name) => marked.replaceAll(name, name.replaceAll(' / ', '\0')), text);
  return kept.split(' / ').map((reason) => reason.replaceAll('\0', ' / '));
}

/** Whether it has the name as words of their own. */
function namesColumn(reason: string, column: string) {
  if (column === '') return false;
  for (let at = reason.indexOf(column); at >= 0; at = reason.indexOf(column, at + 1)) {
    const around = `${reason[at - 1] ?? ' '}${reason[at + column.length] ?? ' '}`;
    if (!/[\p{L}\d]/u.test(around)) return true;
  }
  return false;
}
