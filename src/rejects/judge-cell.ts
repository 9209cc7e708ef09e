import { booleanWord, FALSE_WORDS, isErrorValue, isLive, TRUE_WORDS } from '../model/row.ts';
import {
  fractionBecameNumber,
  isDate,
  isShortDate,
  momentBecameNumber,
  partsBecameDate,
  plainDigits,
  sameMoment,
} from './is-date.ts';
import type { SpreadsheetDamage } from './rejects-edits.ts';

/**
 * The verdict on a cell. `same`: only line ends differ. `edited`: the user changed it. `restored`: a spreadsheet
 * changed the old text, so the old text is used. `refused`: damaged, and the intended value cannot be known.
 */
export type CellVerdict =
  | { readonly kind: 'same' | 'edited' }
  | { readonly kind: 'restored' | 'refused'; readonly damage: SpreadsheetDamage };

/** A way in which a spreadsheet changes a text, and the verdict if the reason of the rejection names the column. */
interface Effect {
  readonly damage: SpreadsheetDamage;
  readonly makes: (old: string, now: string) => boolean;
  /**
   * `restored`: a person would not type this. `refused`: it may be a correction, because the old text cannot have turned into it.
   * `edited`: it means the same as the old text, so the new form may be the correction.
   */
  readonly whereBlamed: 'restored' | 'refused' | 'edited';
  /** The verdict if no reason names the column; default: `restored`. `refused`: people may type this as well. */
  readonly elsewhere?: 'refused';
}

/** In this order: the greatest loss first. */
const EFFECTS: readonly Effect[] = [
  { damage: 'letters', makes: lostCharacters, whereBlamed: 'restored' },
  { damage: 'charset', makes: garbled, whereBlamed: 'restored' },
  { damage: 'cut', makes: cutText, whereBlamed: 'restored' },
  { damage: 'formula', makes: (old, now) => isLive(old) && isErrorValue(now), whereBlamed: 'restored' },
  { damage: 'shortened', makes: shortenedNumber, whereBlamed: 'restored' },
  { damage: 'rounded', makes: roundedNumber, whereBlamed: 'restored' },
  { damage: 'zeros', makes: (old, now) => /^0\d/.test(old) && sameNumber(old, now), whereBlamed: 'refused' },
  {
    damage: 'sign',
    makes: (old, now) => old.startsWith('+') && !now.startsWith('+') && sameNumber(old, now),
    whereBlamed: 'refused',
  },
  { damage: 'date', makes: partsBecameDate, whereBlamed: 'refused' },
  { damage: 'date', makes: momentBecameNumber, whereBlamed: 'refused' },
  { damage: 'date', makes: sameMoment, whereBlamed: 'edited' },
  { damage: 'notation', makes: fractionBecameNumber, whereBlamed: 'edited' },
  { damage: 'notation', makes: sameNumber, whereBlamed: 'edited' },
  { damage: 'decimal', makes: movedDecimal, whereBlamed: 'edited', elsewhere: 'refused' },
  { damage: 'boolean', makes: sameTruth, whereBlamed: 'edited' },
  { damage: 'accents', makes: lostAccents, whereBlamed: 'edited' },
  {
    damage: 'blanks',
    makes: (old, now) => withPlainBlanks(old) === withPlainBlanks(now),
    whereBlamed: 'edited',
  },
  { damage: 'quotes', makes: sameButQuotes, whereBlamed: 'edited' },
];

/**
 * Judges a cell by its old and its new text. `blamed`: the reason of the rejection names its column, so the user was
 * asked to change it. Then a change that may be the correction is not reverted.
 */
export function judgeCell(old: string, now: string, blamed: boolean): CellVerdict {
  const before = withPlainBreaks(old);
  const after = withPlainBreaks(now);
  if (before === after) return { kind: 'same' };
  // Damage in the source itself is what the user corrects.
  const sound = before.trim() !== '' && !SHORTENED.test(before) && !isErrorValue(before.trim());
  const effect = sound ? EFFECTS.find(({ makes }) => makes(before, after)) : undefined;
  if (effect !== undefined) {
    const kind = blamed ? effect.whereBlamed : (effect.elsewhere ?? 'restored');
    return kind === 'edited' ? { kind } : { kind, damage: effect.damage };
  }
  const damage = traceOf(before, after, blamed);
  return damage === undefined ? { kind: 'edited' } : { kind: 'refused', damage };
}

/** Signs that a new text was not typed. */
function traceOf(old: string, now: string, blamed: boolean): SpreadsheetDamage | undefined {
  if (hasGarbledCharacter(old, now)) return 'charset';
  if (CELL_SIZES.has(now.length) || cutWithin(old, now)) return 'cut';
  if (isErrorValue(now.trim())) return 'error';
  if (SHORTENED.test(now)) return 'shortened';
  if (/^\d{16,}$/.test(now) && /^0+$/.test(now.slice(EXACT_DIGITS))) return 'rounded';
  if (/^0\d+$/.test(old) && /^[1-9]\d*$/.test(now) && now.length < old.length) return 'zeros';
  if (isLive(old) && !blamed && numbersIn(now).size > 0) return 'formula';
  if (isShortDate(now) && !isDate(old)) return 'date';
  if (isDate(now) && !blamed && old.trim() !== '' && !isDate(old)) return 'date';
  return undefined;
}

function withPlainBreaks(text: string): string {
  return text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text;
}

/** Whether `now` is `old` after it was saved in a charset that lacks some of its characters. */
function lostCharacters(old: string, now: string): boolean {
  if (!/[?\ufffd]/.test(now)) return false;
  const after = [...now];
  const isMark = (character: string | undefined) => character === '?' || character === '\ufffd';
  let lost = 0;
  let at = 0;
  for (const character of old) {
    if (after[at] === character) {
      at += 1;
      continue;
    }
    if (character < '\u0080' || !isMark(after[at])) return false;
    // A character beyond the basic plane is two code units, and some programs write two question marks for it.
    lost += 1;
    at += character.length > 1 && isMark(after[at + 1]) ? 2 : 1;
  }
  return lost > 0 && at === after.length;
}

/** Charsets that spreadsheets use for a CSV file that does not declare its own. */
const ASSUMED_CHARSETS = 'windows-1252 macintosh windows-1250 windows-1251 windows-1254 iso-8859-2'
  .split(' ')
  .map((charset) => new TextDecoder(charset));

/** The texts that result when UTF-8 is read in each of those charsets. */
function misreadingsOf(text: string): readonly string[] {
  const bytes = Buffer.from(text);
  return ASSUMED_CHARSETS.map((charset) => visible(charset.decode(bytes)));
}

/** Removes characters that no charset has: programs drop them or replace them with a mark. */
function visible(text: string): string {
  return withPlainBlanks(text.replaceAll(/[\u0080-\u009f\ufffd]/g, ''));
}

/**
 * Whether `now` is `old` read in another charset, as in `Größe` and `GrÃ
 * ÃŸe`.
 */
export function garbled(old: string, now: string): boolean {
  return BEYOND_ASCII.test(old) && BEYOND_ASCII.test(now) && misreadingsOf(old).includes(visible(now));
}

/** Whether a character of `old` appears in `now` as another charset shows it: the text was edited after that. */
function hasGarbledCharacter(old: string, now: string): boolean {
  if (!BEYOND_ASCII.test(old) || !BEYOND_ASCII.test(now)) return false;
  const letters = new Set(old.match(/[^\p{ASCII}]/gu));
  return [...letters].some((letter) =>
    misreadingsOf(letter).some((made) => made.length > 1 && now.includes(made) && !old.includes(made)),
  );
}

const BEYOND_ASCII = /\P{ASCII}/u;

/** The same if a program writes the base letter instead: `ř`, which Windows-1252 lacks, becomes `r`. */
function lostAccents(old: string, now: string): boolean {
  if (old.length !== now.length) return false;
  const after = [...now];
  return [...old].every((letter, index) => {
    const other = after[index];
    return letter === other || (letter > '\u00ff' && letter.normalize('NFD')[0] === other);
  });
}

/** The most characters of a cell in Excel, Google Sheets and LibreOffice. */
const CELL_SIZES: ReadonlySet<number> = new Set([32_767, 50_000, 65_535]);

/** Whether `now` is the beginning of `old` that fits into a cell. */
function cutText(old: string, now: string): boolean {
  return (
    old.startsWith(now) && cellEnds(old).some(([least, most]) => least <= now.length && now.length <= most)
  );
}

const TAIL_LENGTH = 40;

/** Whether `now` ends where a cell would cut `old`, whatever was edited before that. */
function cutWithin(old: string, now: string): boolean {
  const tail = now.trimEnd().slice(-TAIL_LENGTH);
  if (tail.length < TAIL_LENGTH || old.trimEnd().endsWith(tail)) return false;
  return cellEnds(old).some(([least, most]) => old.slice(least - TAIL_LENGTH, most).includes(tail));
}

/**
 * The shortest and longest rest of `old` that a full cell can have. A line break may count as two characters, half a
 * character is dropped, and trailing blanks are removed.
 */
function cellEnds(old: string): (readonly [least: number, most: number])[] {
  return [...CELL_SIZES].flatMap((size) => {
    const breaks = old.slice(0, size).match(/\n/g)?.length ?? 0;
    const least = size - breaks - 1;
    return old.length > least ? [[old.slice(0, least).trimEnd().length, size] as const] : [];
  });
}

/** Spreadsheets keep this many digits of a number; further digits become 0. */
const EXACT_DIGITS = 15;
/** How spreadsheets show numbers that are too wide: `1.23E+12`. */
const SHORTENED =
  /^\s*[-+]?\d(?:(?:[.,](?<fraction>\d+))?E(?<power>[-+]\d{2,3})|[.,](?<fraction>\d+)E(?<power>\d{1,3}))\s*$/i;

function shortenedNumber(old: string, now: string): boolean {
  const { fraction = '', power } = SHORTENED.exec(now)?.groups ?? {};
  if (power === undefined) return false;
  const value = Number(now.replace(',', '.'));
  const step = 10 ** (Number(power) - fraction.length);
  return [...numbersIn(old)].some((number) => Math.abs(Number(number) - value) <= step * 0.500_001);
}

function roundedNumber(old: string, now: string): boolean {
  if (/^[-+]?\d{16,}$/.test(old) && /^[-+]?\d{16,}$/.test(now)) {
    const step = 10n ** BigInt(now.replace(/\D/g, '').length - EXACT_DIGITS);
    const off = BigInt(old.replace('+', '')) - BigInt(now.replace('+', ''));
    return BigInt(now.replace('+', '')) % step === 0n && off <= step && -off <= step;
  }
  const [, fraction = ''] = /^[-+]?\d*[.,](\d+)$/.exec(now) ?? [];
  const [, oldFraction = ''] = /^[-+]?\d*[.,](\d+)$/.exec(old) ?? [];
  if (fraction.length < 8 || oldFraction.length <= fraction.length) return false;
  const [one, other] = [old, now].map((text) => Number(text.replace(',', '.')));
  return Math.abs((one ?? 0) - (other ?? 1)) <= 10 ** -fraction.length;
}

const MAX_NUMBER_LENGTH = 40;
const NUMBER =
  /^(?<sign>[-+−]?)\p{Sc}?\s?(?<body>[\d.,'’\s]*\d)(?:[eE](?<exponent>[-+]?\d{1,3}))?\s?(?<unit>%|\p{Sc})?$/u;

/** The numbers that a text may mean, each in one notation: `1,234` may be 1234 or 1.234. */
function numbersIn(text: string): ReadonlySet<string> {
  const { sign, body = '', exponent = '0', unit } = numberParts(text);
  const power = Number(exponent) - (unit === '%' ? 2 : 0);
  const numbers = new Set<string>();
  for (const [whole, fraction] of decimalsIn(body)) {
    const digits = `${whole}${fraction}`.replace(/^0+/, '');
    const significant = digits.replace(/(?<!0)0+$/, '');
    const shift = power - fraction.length + digits.length - significant.length;
    numbers.add(
      significant === '' ? '0' : `${sign === '-' || sign === '−' ? '-' : ''}${significant}e${shift}`,
    );
  }
  return numbers;
}

function numberParts(text: string): { sign?: string; body?: string; exponent?: string; unit?: string } {
  const trimmed = plainDigits(text)
    .trim()
    .replace(/^\((.*)\)$/, '-$1');
  const { body = '', ...parts } =
    (trimmed.length > MAX_NUMBER_LENGTH ? null : NUMBER.exec(trimmed))?.groups ?? {};
  return { ...parts, body: body.replaceAll(/\s/g, ' ').replaceAll('’', "'") };
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

function sameNumber(old: string, now: string): boolean {
  const meant = numbersIn(old);
  return meant.size > 0 && !meant.isDisjointFrom(numbersIn(now));
}

/**
 * Whether the digits are equal and the decimal sign has moved: `129.95` read where points group digits becomes
 * `12995`. With a single significant digit, as in `10.00`, only the loss of the sign counts: `100.00` is another
 * price.
 */
function movedDecimal(old: string, now: string): boolean {
  const fraction = Math.max(0, ...decimalsIn(numberParts(old).body ?? '').map(([, digits]) => digits.length));
  if (fraction === 0) return false;
  const made = [...numbersIn(now)].map((number) => number.split('e'));
  return [...numbersIn(old)].some((number) => {
    const [digits = '', shift = ''] = number.split('e');
    const isLong = digits.replace('-', '').length > 1;
    return made.some(
      ([other, power = '']) =>
        shift !== '' && digits === other && (isLong || Number(power) === Number(shift) + fraction),
    );
  });
}

function sameTruth(old: string, now: string): boolean {
  const [one, other] = [booleanWord(old.trim()), booleanWord(now.trim())];
  return (TRUE_WORDS.has(one) && TRUE_WORDS.has(other)) || (FALSE_WORDS.has(one) && FALSE_WORDS.has(other));
}

function withPlainBlanks(text: string): string {
  return text.trim().replaceAll(/\s+/g, ' ');
}

const QUOTES = /[“”„‟«»]|''/g;

function sameButQuotes(old: string, now: string): boolean {
  if (now === old.replaceAll('"', '""') || now === `'${old}` || `'${now}` === old) return true;
  const plain = (text: string) => text.replaceAll(QUOTES, '"').replaceAll(/[‘’‚‛]/g, "'");
  return plain(old) === plain(now);
}
