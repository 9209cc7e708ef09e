import { FALLBACK, spellingsOf, weightUnit } from '../../mapping/compile-mapping.ts';
import type { Condition, Transform } from '../../mapping/spec/mapping-spec.ts';
import { recordOf, withoutAbsent } from '../../model/json-object.ts';
import { isErrorValue, trimHeaders } from '../../model/row.ts';
import type { HeaderReading } from './header-reading.ts';
import { currencyCode, isCellWord, oneOf, words } from './words.ts';

/** A column of a file, as far as rows were sampled, with what its header means. */
export interface SampledColumn {
  /** As in the file, trimmed; blank if the file has none. */
  readonly header: string;
  /** Counted from 0. */
  readonly index: number;
  /** Which of the columns with this header it is, from 1; 0 where the header is unique. */
  readonly occurrence: number;
  /** The cell of each sampled row, trimmed; '' for a blank one. */
  readonly cells: readonly string[];
  /** The cells that are neither blank nor errors of a spreadsheet, which are rejected. */
  readonly values: readonly string[];
  readonly distinct: number;
  readonly reading: HeaderReading;
}

/** The columns of a file. */
export function sampleColumns(
  header: readonly string[],
  rows: readonly (readonly string[])[],
  read: (header: string) => HeaderReading,
): readonly SampledColumn[] {
  const names = trimHeaders(header);
  const places = Map.groupBy(names.keys(), (index) => names[index] ?? '');
  return names.map((name, index) => {
    const cells = rows.map((row) => (row[index] ?? '').trim());
    const values = cells.filter((cell) => cell !== '' && !isErrorValue(cell));
    const alike = places.get(name) ?? [];
    const occurrence = alike.length > 1 ? alike.indexOf(index) + 1 : 0;
    const distinct = new Set(values).size;
    return { header: name, index, occurrence, cells, values, distinct, reading: read(name) };
  });
}

/** The different values of a column, in lower case. */
export function wordsIn({ values }: Pick<SampledColumn, 'values'>): readonly string[] {
  return [...new Set(values.map((value) => value.toLowerCase()))];
}

/** The end of a question that names one word: the others that its answer decides about. */
export function otherWords(words: readonly string[]): string {
  return words.length === 0 ? '' : `; other words are ${words.map((word) => `'${word}'`).join(', ')}`;
}

/** The share of the values that meet a test; 0 without values. */
export function shareOf({ values }: SampledColumn, test: (value: string) => boolean): number {
  return values.length === 0 ? 0 : values.filter(test).length / values.length;
}

/** Whether nearly all values meet a test: a column of amounts may have a few words, whose rows are rejected with a reason. */
export function isMostly(column: SampledColumn, test: (value: string) => boolean): boolean {
  return shareOf(column, test) >= 0.8;
}

const FOOTNOTE_SIGN = /(?<!\s)\s*(?<!\*)\*+$/;
const DASHES = /[.,]\s?[-–—]{1,2}(?=\s*(?:\p{Sc}|\p{L}|$))/u;
const CURRENCY = /(?:\p{Sc}|\p{L}[\p{L}\p{Sc}.]{0,4}|R\$|A\$|C\$|US\$)/u.source;
const AMOUNT = new RegExp(
  `^(${CURRENCY})?\\s*(-?[0-9](?:[0-9.,'’ \u00a0\u2009\u202f]*[0-9])?)\\s*(${CURRENCY})?$`,
  'u',
);

/** Reads an amount, with currency, `ab` and footnote sign; undefined for another text. */
export function readAmount(value: string) {
  const text = value.normalize('NFKC').trim();
  const { from: before, fromBehind: behind, suffix: end } = patterns();
  const from = before.exec(text)?.[1] ?? behind.exec(text)?.[1];
  let bare = text.replace(end, '').replace(before, '').replace(behind, '');
  const hasFootnote = FOOTNOTE_SIGN.test(bare);
  bare = bare.replace(FOOTNOTE_SIGN, '');
  const hasDashes = DASHES.test(bare);
  bare = bare.replace(DASHES, '');
  const [, prefix, digits, ending] = AMOUNT.exec(bare) ?? [];
  if (digits === undefined) return undefined;
  const currencies = withoutAbsent([prefix, ending]);
  if (currencies.some((word) => currencyCode(word) === undefined)) return undefined;
  return {
    /** With their signs, without currency and words. */
    digits,
    /** The code or the sign of a currency. */
    currencyWord: currencies.at(-1),
    /** The word that makes it a lowest price: ab, from. */
    from,
    /** What says behind it that it is for one piece, or with tax: / Stück, inkl. MwSt. */
    suffix: end.exec(text)?.[1],
    /** Whether dashes stand for no cents: 12,-. */
    hasDashes,
    /** Whether a footnote sign follows it. */
    hasFootnote,
  };
}

/** Whether a cell has an amount. */
export function isAmount(value: string): boolean {
  return readAmount(value) !== undefined;
}

/** Whether a text stands for a missing value: `on request`, `-`. */
export function isMissingValue(value: string): boolean {
  return isBlankWord(value) || isCellWord(value, 'missing');
}

function isBlankWord(value: string) {
  return isCellWord(value, 'blank');
}

/** The steps that make blanks of the words for a missing value in a column: N/A, NULL. */
export function missingSteps(
  { values }: Pick<SampledColumn, 'values'>,
  isMissing = isBlankWord,
): readonly Transform[] {
  const none = wordsIn({ values: values.filter(isMissing) });
  return none.length === 0 ? [] : [{ lookup: recordOf(none, () => null), [FALLBACK]: 'keep' }];
}

/** The steps that make lists with commas of those in JSON, or of a program, if all cells of a column are such: ["a", "b"]. */
export function listSteps(column: SampledColumn): readonly Transform[] {
  if (shareOf(column, (value) => /^\[.*\]$/s.test(value)) < 1) return [];
  return [{ replace: `^\\[ *['"]?|['"]? *\\]$` }, { replace: `['"] *, *['"]`, with: ',' }];
}

/** The signs in the numbers of cells. */
export type NumberSigns = ReturnType<typeof signsOf>;

/** Collects the signs of numbers; `digits` is without currency and words. */
export function signsOf(numbers: readonly string[]) {
  const { point = [], comma = [], either = [] } = Object.groupBy(numbers, decimalOf);
  return {
    /** Values that can be read only with a decimal point, or only with a decimal comma. */
    point,
    comma,
    /** Values with three digits after their only sign: thousands or thousandths. */
    either,
    /** How many numbers there are. */
    count: numbers.length,
    hasAny: point.length + comma.length + either.length > 0,
  };
}

/** The decimal sign that a number shows; `none` if it has neither point nor comma. */
function decimalOf(written: string) {
  const text = written.replace(/^-/, '');
  const points = text.split('.').length - 1;
  const commas = text.split(',').length - 1;
  if (points === 0 && commas === 0) return 'none';
  if (points > 0 && commas > 0) return text.lastIndexOf('.') > text.lastIndexOf(',') ? 'point' : 'comma';
  const sign = points > 0 ? '.' : ',';
  const asDecimal = sign === '.' ? 'point' : 'comma';
  if (points + commas > 1) return sign === '.' ? 'comma' : 'point';
  const [whole = '', fraction = ''] = text.split(sign);
  const isGroup = fraction.length === 3 && /^[1-9]\d{0,2}$/.test(whole);
  return isGroup ? 'either' : asDecimal;
}

const GTIN = /^(?:\d{8}|\d{12,14})$/;

/** Whether a value is an EAN, UPC or other GTIN with a correct check digit. */
export function isGtin(value: string): boolean {
  if (!GTIN.test(value)) return false;
  const digits = [...value].map(Number).reverse();
  const sum = digits.slice(1).reduce((total, digit, index) => total + digit * (index % 2 === 0 ? 3 : 1), 0);
  return (10 - (sum % 10)) % 10 === digits[0];
}

/** A code such as a SKU: short, with a digit or in capitals, without sentences. */
export function isCode(value: string): boolean {
  return (
    value.length <= 40 &&
    !value.includes('://') &&
    /^[\p{L}\p{N}][\p{L}\p{N}\s._/#+:()-]*$/u.test(value) &&
    (value.match(/\s/g)?.length ?? 0) <= 1 &&
    (/\p{N}/u.test(value) || (/^\P{Ll}+$/u.test(value) && /^[\x20-\x7e]+$/.test(value) && !/\s/.test(value)))
  );
}

const ADDRESS = /^(?:https?:)?\/\/[^\s/]+\.[^\s]+$/i;
const ADDRESS_WITH_BLANKS =
  /^(?:https?:)?\/\/[^\s/]+\/\S[^\n\t]*\.(?:jpe?g|png|webp|gif|avif|svg|bmp|tiff?|heic)(?:[?#]\S*)?$/i;
const PICTURE = /\.(?:jpe?g|png|webp|gif|avif|svg|bmp|tiff?|heic)(?:[?#].*)?$/i;

/** A class of the signs that separate addresses in a cell, also in a list of JSON without its brackets: an address may end with one. */
export const ADDRESS_SEPARATOR = String.raw`[\s,;|^'"]`;
export const IN_BRACKETS = String.raw`^\[([\s\S]*)\]$`;
const BRACKETED = new RegExp(IN_BRACKETS);
const BETWEEN_ADDRESSES = new RegExp(
  `(?<!${ADDRESS_SEPARATOR})${ADDRESS_SEPARATOR}+(?=(?:https?:)?//|$)`,
  'i',
);

/** The addresses of a cell, and the text between them. */
export function listedAddresses(value: string): readonly string[] {
  return withoutBrackets(value)
    .split(BETWEEN_ADDRESSES)
    .filter((one) => one !== '');
}

/** The text of a list of JSON, or of a program, without the brackets around it. */
export function withoutBrackets(value: string): string {
  return value.replace(BRACKETED, '$1');
}

/** Whether a cell holds web addresses only. That of a picture may have blanks, which are encoded. */
export function isAddresses(value: string): boolean {
  const all = listedAddresses(value);
  return all.length > 0 && all.every((one) => ADDRESS.test(one) || ADDRESS_WITH_BLANKS.test(one));
}

/** Whether a cell has only web addresses, at least one with the extension of an image file. */
export function isPictures(value: string): boolean {
  return isAddresses(value) && listedAddresses(value).some((one) => PICTURE.test(one));
}

/** Whether a cell holds names of picture files, without their address. */
export function isPictureFile(value: string): boolean {
  return !isAddresses(value) && value.split(/[,;|\n]/).every((one) => PICTURE.test(one.trim()));
}

/** No address of e-mail is longer (RFC 5321). */
const MAX_EMAIL_LENGTH = 254;

/** Whether a cell holds one e-mail address. */
export function isEmail(value: string): boolean {
  return value.length <= MAX_EMAIL_LENGTH && /^[^\s@<>,;"]+@[^\s@<>,;"]+\.[^\s@<>,;"]+$/.test(value);
}

/** Whether a cell is a telephone number. */
export function isPhone(value: string): boolean {
  return (
    /^[+(]?[\d\s()./+-]{6,22}(?:\s*(?:ext|x|dw)\.?\s*\d+)?$/i.test(value) &&
    (value.match(/\d/g)?.length ?? 0) >= 6
  );
}

/** Whether a cell holds HTML. */
export function isHtml(value: string): boolean {
  return /<\/?(?:p|br|div|span|ul|ol|li|b|strong|em|i|h[1-6]|table|a)\b[^<>]*>/i.test(value);
}

/** Whether a text has tags or entities, which are no part of a name: <b>Mug</b>, Salt &amp; pepper. */
export function isMarkup(value: string): boolean {
  return isHtml(value) || /&(?:[a-z]{2,8}|#\d{2,5}|#x[\da-f]{2,4});/i.test(value);
}

const YES: ReadonlySet<string> = new Set(spellingsOf('yes'));
const NO: ReadonlySet<string> = new Set(spellingsOf('no'));

/** What a yes/no word says; undefined for other words. */
export function booleanOf(value: string): boolean | undefined {
  const word = value.normalize('NFC').toLowerCase();
  return YES.has(word) ? true : NO.has(word) ? false : undefined;
}

/** Reads yes and no in a column: 0 and 1 mean something else beside other numbers. */
export function readerOfFlags({ values }: SampledColumn): (value: string) => boolean | undefined {
  const isNumber = (value: string) => /^\d+$/.test(value);
  const isCoded = values.some((value) => isNumber(value) && booleanOf(value) === undefined);
  return (value) => (isCoded && isNumber(value) ? undefined : booleanOf(value));
}

/** The signs that mark a cell, in lower case. */
const MARKS: ReadonlySet<string> = new Set(['x', '✓', '✔', '●', '*']);

/** Whether a cell has only a sign that marks it. */
export function isMark(value: string): boolean {
  return MARKS.has(value.toLowerCase());
}

/** Whether a cell marks its row: not if it is blank, or says no, nothing, or that a product is in stock. */
export function isMarked(value: string): boolean {
  const isOther = booleanOf(value) === undefined && availabilityOf(value) === true;
  return value !== '' && !isMissingValue(value) && booleanOf(value) !== false && !isOther;
}

/** Whether at least half of the values of a column only mark rows: yes, x, sold out. An odd one must not hide what the others say. */
export function areFlags(column: SampledColumn): boolean {
  const read = readerOfFlags(column);
  const isFlag = (value: string) =>
    read(value) !== undefined ||
    availabilityOf(value) !== undefined ||
    isMissingValue(value) ||
    isMark(value);
  return shareOf(column, isFlag) >= 0.5;
}

/** The condition for the rows that a column marks; `marks`: which cells do. */
export function markedRows(name: string, { values }: SampledColumn, marks = isMarked): Condition {
  const none = values.filter((value) => !marks(value) && booleanOf(value) === undefined);
  return { not: { [name]: ['blank', marks('no') ? 'yes' : 'no', ...wordsIn({ values: none })] } };
}

/** A column of states has no more different values. */
export const MAX_STATES = 12;

/** Whether words say that a product is available; undefined for other words. */
export function availabilityOf(value: string): boolean | undefined {
  const word = value.replace(/^https?:\/\/schema\.org\/|[.!]$/i, '');
  return isCellWord(word, 'available') ? true : isCellWord(word, 'soldOut') ? false : undefined;
}

/** Whether words say that a product is shown; undefined for other words. */
export function visibilityOf(value: string): boolean | undefined {
  return isCellWord(value, 'shown') ? true : isCellWord(value, 'hidden') ? false : booleanOf(value);
}

/** The moments that a date can mean, in milliseconds since the epoch: 3.4.2026 may be in March or in April. */
export function momentsOf(value: string): readonly number[] {
  const [, first = '', second = '', third = ''] = DATE.exec(value) ?? [];
  if (first === '') {
    if (UNIX_TIME.test(value)) return [Number(value) * 1000];
    const written = /^20\d{6}$/.test(value) ? value.replace(/(....)(..)(..)/, '$1-$2-$3') : value;
    // The number of a day in a spreadsheet.
    const moment = /^[45]\d{4}$/.test(value) ? (Number(value) - 25_569) * DAY_MS : Date.parse(written);
    return /\b20\d{2}\b|^[45]\d{4}$/.test(written) && Number.isFinite(moment) ? [moment] : [];
  }
  const parts = [first, second, third].map(Number);
  const [a = 0, b = 0, c = 0] = first.length > 2 ? parts.toReversed() : parts;
  const year = c < 100 ? 2000 + c : c;
  return [
    [a, b],
    [b, a],
  ].flatMap(([day = 0, month = 0], index) =>
    month > 12 || (first.length > 2 && index > 0) ? [] : [Date.UTC(year, month - 1, day)],
  );
}

/** Seconds, of the years 2017 to 2033. */
const UNIX_TIME = /^1[5-9]\d{8}$/;

/** Whether all values that are not missing, as 0000-00-00 is, are dates or times: 2024-01-02, 2.1.24 10:00, 20240102, 2 January 2024, 1704153600. */
export function areDates({ values }: Pick<SampledColumn, 'values'>): boolean {
  const dates = values.filter((value) => !isMissingValue(value) && !value.startsWith('0000-00-00'));
  const isDate = (value: string, isMonthFirst: boolean) => {
    const [, first = '', second = '', third = ''] = DATE.exec(value) ?? [];
    if (first === '') return WRITTEN_DATE.test(value) || UNIX_TIME.test(value);
    const dayAndMonth = first.length > 2 ? [third, second] : [first, second];
    const [day, month] = (isMonthFirst && first.length <= 2 ? dayAndMonth.toReversed() : dayAndMonth).map(
      Number,
    );
    return /[1-9]/.test(value) && Number(day) <= 31 && Number(month) <= 12;
  };
  // Sizes such as 10/20/30 and 20/10/30 are dates each, but not in the same order.
  return (
    dates.length > 0 &&
    [false, true].some((isMonthFirst) => dates.every((value) => isDate(value, isMonthFirst)))
  );
}

const DATE = /^(\d{1,4})[-./](\d{1,2})[-./](\d{1,4})(?!\d)/;
/** 20240102, 2 January 2024, January 2, 2024. */
const WRITTEN_DATE =
  /^(?:(?:19|20)\d\d(?:0\d|1[0-2])(?:[0-2]\d|3[01])$|(?:\d{1,2}\.? \p{L}{3,9}|\p{L}{3,9} \d{1,2},?) 20\d\d\b)/u;

/** Whether the values are dates below a header that does not say so. Supplier numbers look like UNIX times, of which at least half are whole minutes. */
export function areUnnamedDates(column: SampledColumn): boolean {
  const isOtherSecond = (value: string) => UNIX_TIME.test(value) && Number(value) % 60 !== 0;
  return areDates(column) && shareOf(column, isOtherSecond) <= 0.5;
}

/** A day, in milliseconds. */
export const DAY_MS = 86_400_000;

/** The patterns of amounts and numbers with words of a language. */
function patternsOf({ cells, headerParts }: ReturnType<typeof words>) {
  const { from, fromBehind, pieces, moreThan } = cells;
  const { perPiece, beforeVatGross, vat } = headerParts;
  return {
    suffix: new RegExp(
      `(?<!\\s)\\s*((?:/|${oneOf(perPiece)}\\s)\\s*${oneOf(pieces)}\\.?|${oneOf(beforeVatGross)}\\.?\\s*${oneOf(vat)}\\.?|ttc)$`,
      'iu',
    ),
    from: new RegExp(`^(${oneOf(from)})\\s+`, 'iu'),
    fromBehind: new RegExp(`(?<!\\s)\\s*(${oneOf(fromBehind)})$`, 'iu'),
    count: new RegExp(
      `^([>≥]|${oneOf(moreThan)})?\\s{0,4}(-?\\d[\\d.,' ]{0,24}?)\\s{0,4}(\\+)?\\s{0,4}(${oneOf(pieces)})?\\.?\\s{0,4}(\\+)?$`,
      'iu',
    ),
  };
}

let known: ReturnType<typeof patternsOf> | undefined;

function patterns() {
  known ??= patternsOf(words());
  return known;
}

/** Reads a number of pieces; undefined for another text. */
export function readCount(value: string) {
  const [, above, digits, plus, unit = '', plusBehind] = patterns().count.exec(value.normalize('NFKC')) ?? [];
  if (digits === undefined) return undefined;
  return {
    digits: digits.trim(),
    /** The word for pieces after it. */
    unit,
    /** Whether it is only a lower bound: `>10`, `10+`. */
    isAtLeast: [above, plus, plusBehind].some((sign) => sign !== undefined),
  };
}

/** Reads a weight with or without its unit (then the word for it is blank); undefined for what is none. */
export function readWeight(value: string) {
  const [, digits, unitWord = ''] = /^(\d[\d.,]*)\s*(\p{L}+)?\.?$/u.exec(value.normalize('NFKC')) ?? [];
  if (digits === undefined || (unitWord !== '' && weightUnit(unitWord) === undefined)) return undefined;
  return { digits, unitWord };
}

/** Whether a column holds words: neither amounts nor addresses. */
export function isText(column: SampledColumn): boolean {
  return (
    isMostly(column, (value) => /\p{L}/u.test(value) && !isEmail(value) && !isAddresses(value)) &&
    isMostly(column, (value) => !isAmount(value))
  );
}
