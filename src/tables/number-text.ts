import { currenciesNamed, shownMark } from '../model/row.ts';
import builtInFormats from './built-in-formats.json' with { type: 'json' };

/** How a sheet shows a number, as far as it matters here. */
export type NumberFormat = FormatKind & {
  /** Set where a text target must not get the number alone. */
  readonly mark?: string | undefined;
  /** Of numbers below 0, and of 0, where these have their own. */
  readonly negative?: NumberFormat | undefined;
  readonly zero?: NumberFormat | undefined;
};

type FormatKind =
  | { readonly kind: 'general' }
  /** Between `least` and `most` decimals. */
  | { readonly kind: 'fixed'; readonly least: number; readonly most: number }
  | { readonly kind: 'percent'; readonly least: number; readonly most: number }
  | { readonly kind: 'scientific'; readonly decimals: number }
  | { readonly kind: 'date'; readonly date: boolean; readonly time: boolean }
  | { readonly kind: 'duration' }
  /** A code: a whole number with leading zeros, and possibly other characters; `DIGIT` stands for each digit. */
  | { readonly kind: 'code'; readonly template: string }
  /** A text in place of any number. */
  | { readonly kind: 'text'; readonly text: string };

const DIGIT = '\ue000';
/** A `#` or `?` of a template, which is a digit behind a `0`. */
const PLACE = '\ue001';

/** Replaces a formula whose result is not in the file; the mapping refuses it like `#REF!`. */
export const NO_RESULT = '#FORMULA!';

const GENERAL: NumberFormat = { kind: 'general' };

/** The formats that Excel identifies only by number; a file need not define them. */
const BUILT_IN: Readonly<Record<number, string>> = builtInFormats;

/** The format of this number, defined in the file or built into Excel. */
export function formatById(id: number, spelledOut: ReadonlyMap<number, string>): NumberFormat {
  const code = spelledOut.get(id) ?? BUILT_IN[id];
  // These are dates in East Asian languages.
  if (code === undefined)
    return (id >= 27 && id <= 36) || (id >= 50 && id <= 58) ? numberFormat('yyyy-mm-dd') : GENERAL;
  return numberFormat(code);
}

/** Quoted text, escaped, skipped and filling characters, sections in brackets, then anything else. */
const TOKEN = /"[^"]*"|\\.|[_*].|\[[^[\]]*\]|;|./gs;

/**
 * Reads a format such as `#,##0.00 "kg"`, with its sections. Where it has a condition, or signs that are not understood, numbers keep
 * all digits.
 */
function numberFormat(code: string): NumberFormat {
  const sections: string[][] = [[]];
  for (const [token] of code.matchAll(TOKEN))
    token === ';' ? sections.push([]) : sections.at(-1)?.push(token);
  const hasCondition = sections.flat().some((token) => /^\[[<>=]/.test(token));
  const formats = sections
    .filter((tokens, at) => at === 0 || (at < 3 && !tokens.includes('@')))
    .map((tokens) => sectionFormat(tokens, code, hasCondition, hasCondition || sections.length > 1));
  const [format = GENERAL, negative, zero] = formats;
  // `[=0]"";General` hides zeros, and shows all others as they are.
  const zeros = /^\[=0\]$/.test(sections[0]?.[0] ?? '') ? format : undefined;
  const isMarked = ({ mark }: NumberFormat) => mark !== undefined;
  return hasCondition
    ? { ...format, mark: formats.slice(zeros === undefined ? 0 : 1).find(isMarked)?.mark, zero: zeros }
    : { ...format, negative, zero };
}

/** The section of a format that decides about a number. */
export function sectionOf(format: NumberFormat, value: number): NumberFormat {
  return (value < 0 ? format.negative : value === 0 ? format.zero : undefined) ?? format;
}

/** A text without the codes, signs and names of currencies. */
export function withoutCurrencies(text: string): string {
  return text.replaceAll(WORD, (word) => (currenciesNamed(word) === undefined ? word : ''));
}

function sectionFormat(
  tokens: readonly string[],
  code: string,
  hasCondition: boolean,
  isOfSome: boolean,
): NumberFormat {
  let template = '';
  let pattern = '';
  let beside = '';
  let isDuration = false;
  for (const token of tokens) {
    if (/^\[(?:h+|m+|s+)\]$/i.test(token)) isDuration = true;
    else if (token.startsWith('[') || /^[_*]/.test(token)) continue;
    else if (token.startsWith('"') || token.startsWith('\\')) {
      const text = token.startsWith('"') ? token.slice(1, -1) : token.slice(1);
      template += text;
      beside += text;
    } else {
      pattern += token;
      beside += /[0#?.,%@\p{L}]/u.test(token) ? ' ' : token;
      if (token === '0') template += DIGIT;
      else if (/[#?]/.test(token)) template += PLACE;
      else if (/[-+()\s'’/:1-9]/.test(token)) template += token;
    }
  }
  if (isDuration) return { kind: 'duration' };
  const shape = pattern.trim();
  if (shape === '' && !isOfSome && /\p{L}/u.test(template)) return { kind: 'text', text: template.trim() };
  const isMore = /[^-()\s'’.,|]/.test(withoutCurrencies(beside)) || (shape === '' && isOfSome);
  const marked = (isMarked: boolean) => (isMarked ? shownMark(code) : undefined);
  if (shape === '' || shape === '@' || /^general$/i.test(shape)) return { ...GENERAL, mark: marked(isMore) };
  if (/e[+-]/i.test(shape)) {
    return { kind: 'scientific', decimals: /\.([0#?]*)/.exec(shape)?.[1]?.length ?? 0 };
  }
  if (/[ydhs]|m/i.test(shape)) {
    const time = /[hs]/i.test(shape);
    return { kind: 'date', date: /[yd]/i.test(shape) || !time, time };
  }
  if (
    isCode(shape, template) &&
    !shape.includes('%') &&
    !hasCondition &&
    !(/[ #]/.test(shape) && CURRENCY.test(code))
  )
    return {
      kind: 'code',
      template: template
        .replace(/\ue001+(?=\ue000)/, '')
        .replaceAll(PLACE, DIGIT)
        .trim(),
    };
  const [number = ''] = /[0#?][0#?, '’\u00a0\u202f]*(?:\.[0#?]*)?/.exec(shape) ?? [];
  const [whole = '', decimals = ''] = number.split('.');
  const rest = shape.slice(shape.indexOf(number) + number.length);
  // Fractions, and numbers shown in thousands, have less information than the number itself.
  const isScaled = /,\s*$/.test(whole) || /[/0#?,]/.test(rest);
  const isUnclear = hasCondition || isScaled;
  const least = isUnclear ? 0 : (decimals.match(/0/g)?.length ?? 0);
  const most = isUnclear ? EXACT_DIGITS : decimals.length;
  const mark = marked(isMore || isScaled || /0.*0/.test(whole) || PARTED.test(template));
  return { kind: shape.includes('%') ? 'percent' : 'fixed', least, most, mark };
}

/** Signs between digits that make a code of them. */
const PARTED = /[\ue000\ue001][^\ue000\ue001]*[-()][^\ue000\ue001]*[\ue000\ue001]/;

/** A sign of a currency, or a declared one. */
const CURRENCY = /\p{Sc}|\[\$[^-\]]/u;
/** Groups of three digits, as of a price: `0 000`. */
const THOUSANDS = /^[^\ue000\ue001]*(?:\ue001+\ue000?|\ue000)(?:[\s'’][\ue000\ue001]{3})+[^\ue000\ue001]*$/;

/** Whether a format shows leading zeros, in one group or several: `0000`, `0# ## ##`. Longer ones behind a `/` are no fraction. */
function isCode(shape: string, template: string) {
  if (/^[^0#?.,\s/'’]*(?:0[^0#?.,\s/'’]*){2,}$/.test(shape)) return true;
  return (
    !/[.,%]|\/(?!0{4})/.test(shape) &&
    /^[^\ue000\ue001]*\ue001*\ue000[^\ue000\ue001]*[\ue000\ue001]/.test(template) &&
    !THOUSANDS.test(template)
  );
}

/** Signs, abbreviations and names beside the digits. */
const WORD = /[\p{L}\p{Sc}][\p{L}\p{M}\p{Sc}\u200c./]*/gu;

/** The codes and signs of currencies in the text that a format shows beside the digits: `€` in ` €/kg`. */
export function currenciesBeside(text: string): readonly string[] {
  return (text.match(WORD) ?? []).flatMap((word) =>
    [word, ...word.split('/')].filter((part) => currenciesNamed(part) !== undefined).slice(0, 1),
  );
}

/** Longer than any sign or name of a currency. */
const MAX_SIGN_LENGTH = 40;

/** What a format declares to be a currency, known or not; undefined without a letter or sign. */
export function declaredCurrency(sign: string): string | undefined {
  const word = sign.trim().slice(0, MAX_SIGN_LENGTH).replaceAll(/\s+/g, '_');
  return /[\p{L}\p{Sc}]/u.test(word) ? word : undefined;
}

/** A sign and a code. More are in formats that no program writes, and would be stored with each cell. */
const MAX_WORDS = 4;

/** As in `CellCurrencies`; undefined for none. */
export function joinedCurrencies(words: readonly (string | undefined)[]): string | undefined {
  const distinct = new Set(words.filter((word) => word !== undefined));
  return [...distinct].slice(0, MAX_WORDS).join(' ') || undefined;
}

/**
 * The currencies in all sections of a format such as `[$$-409]#,##0.00`, `0.00 "USD"` or `0.00\ €`; undefined if it names none. A
 * locale alone (`[$-409]`) is none, and neither is a built-in format, which each country shows with its own sign.
 */
export function formatCurrencies(code: string): string | undefined {
  const declared: (string | undefined)[] = [];
  let beside = '';
  for (const [token] of code.matchAll(TOKEN)) {
    const [, sign] = /^\[\$([^-\]]*)/.exec(token) ?? [];
    if (sign !== undefined) declared.push(declaredCurrency(sign));
    beside += token.startsWith('"')
      ? token.slice(1, -1)
      : token.startsWith('\\')
        ? token.slice(1)
        : /^[\p{L}\p{Sc}]$/u.test(token)
          ? token
          : ' ';
  }
  return joinedCurrencies([...declared, ...currenciesBeside(beside)]);
}

/**
 * What a format of numbers shows: `# €/100 pcs`, with a comma behind the `#` of thousands; `# / on request` where some are a text, and
 * `# (hidden)` where those above 0 are not shown. Undefined for no more than digits and signs.
 */
export function shownBy(code: string): string | undefined {
  const sections = [''];
  for (const [token] of code.replaceAll(/general/gi, '0').matchAll(TOKEN)) {
    const [, sign] = /^\[\$([^-\]]*)/.exec(token) ?? [];
    let text = token;
    if (token.startsWith('"')) text = token.slice(1, -1);
    else if (token.startsWith('\\')) text = token.slice(1);
    else if (/^\[[<>=]/.test(token)) text = CONDITION;
    else if (/^[[_*]/.test(token)) text = sign ?? ' ';
    else if (/[0#?.]/.test(token)) text = DIGIT;
    else if (token === '@') text = TEXT;
    else if (token === ',') text = GROUP;
    if (token === ';') sections.push('');
    else sections.push(`${sections.pop()}${text}`);
  }
  const numbers = sections.slice(0, 3).filter((section) => !section.includes(TEXT));
  const [first = DIGIT] = numbers;
  // Accounting formats show 0 as a dash: `#,##0 "kr";-#,##0 "kr";"-" "kr"`.
  const isDash = (section: string) => bareText(section.replace('-', DIGIT)) === bareText(first);
  const instead = numbers.find(
    (section, at) => !section.includes(DIGIT) && /\p{L}/u.test(section) && !(at === 2 && isDash(section)),
  );
  if (instead !== undefined) return `# / ${instead.replaceAll(CONDITION, '').trim()}`;
  if (/[;"]/.test(code) && !first.includes(DIGIT) && !first.includes(CONDITION)) return '# (hidden)';
  const shown = first.replaceAll(CONDITION, ' ').replaceAll(NUMBER, '#').replaceAll(GROUP, ',').trim();
  return /\p{L}|,/u.test(shown) && shown.includes('#') ? shown : undefined;
}

function bareText(section: string) {
  return section.replaceAll(NUMBER, '#').replaceAll(/\s/g, '');
}

const CONDITION = '\x02';
const TEXT = '\x03';
const GROUP = '\x01';
const NUMBER = new RegExp(`${DIGIT}(?:[${DIGIT}${GROUP}\\s'’.]*${DIGIT})?`, 'g');

/** Excel keeps so many. */
const EXACT_DIGITS = 15;
/** From here on Excel has lost digits. */
const DIGITS_LOST = 1e15;

/**
 * A stored number as the sheet shows it, with a decimal point and without currency or thousands signs; a day as
 * `2026-03-05`. A number with lost digits becomes `1.23E+15`, which the mapping refuses for codes.
 */
export function numberText(stored: string, ofAll: NumberFormat, firstDay = FIRST_DAY_1900): string {
  const value = Number(stored);
  if (stored.trim() === '' || !Number.isFinite(value)) return stored;
  const format = value < 0 ? sectionOf(ofAll, value) : ofAll;
  switch (format.kind) {
    case 'general':
      return plain(value);
    case 'fixed':
      return decimal(value, format);
    case 'percent':
      return `${decimal(Number((value * 100).toPrecision(15)), format)}%`;
    case 'scientific':
      return exponential(value, format.decimals);
    case 'date':
      return momentText(value, format, firstDay);
    case 'duration':
      return clockText(Math.round(value * SECONDS_OF_DAY));
    case 'code':
      return value < 0 || !Number.isInteger(value) || value >= DIGITS_LOST
        ? plain(value)
        : filled(format.template, value);
    case 'text':
      return format.text;
    default:
      return format satisfies never;
  }
}

/** The digits in their places, aligned to the right; the first place takes those that have none. */
function filled(template: string, value: number) {
  const places = template.split(DIGIT).length - 1;
  const digits = String(value).padStart(places, '0');
  let next = 0;
  let end = digits.length - places;
  return template.replaceAll(DIGIT, () => {
    const from = next;
    end += 1;
    next = end;
    return digits.slice(from, end);
  });
}

function plain(value: number) {
  if (Math.abs(value) >= DIGITS_LOST) return exponential(value, 14);
  const rounded = Number(value.toPrecision(15));
  const text = String(rounded);
  return text.includes('e') ? rounded.toFixed(20).replace(/\.?(?<!0)0+$/, '') : text;
}

function exponential(value: number, decimals: number) {
  return value
    .toExponential(Math.min(decimals, 20))
    .toUpperCase()
    .replace(/E([+-])(\d)$/, 'E$10$2');
}

/** Rounded as in the sheet: half away from zero, by the decimal digits and not by the binary ones. */
function decimal(value: number, { least, most }: { readonly least: number; readonly most: number }) {
  if (Math.abs(value) >= DIGITS_LOST) return plain(value);
  const digits = plain(Math.abs(value));
  const [whole = '0', fraction = ''] = digits.split('.');
  const kept = BigInt(whole + fraction.slice(0, most).padEnd(most, '0'));
  const rounded = String(kept + ((fraction[most] ?? '0') >= '5' ? 1n : 0n)).padStart(most + 1, '0');
  const shown = `${rounded.slice(0, rounded.length - most)}.${rounded.slice(rounded.length - most)}`;
  // With three decimals every number would look like one with a thousands sign.
  const fixed = least === 3 ? 0 : least;
  const [integers = '', decimals = ''] = shown.split('.');
  const text = decimals.slice(fixed).replace(/(?<!0)0+$/, '');
  const all = decimals.slice(0, fixed) + text;
  const unsigned = all === '' ? integers : `${integers}.${all}`;
  return value < 0 && /[1-9]/.test(unsigned) ? `-${unsigned}` : unsigned;
}

const SECONDS_OF_DAY = 86_400;
/** Day 0 of the two ways in which Excel counts days, in seconds of Unix time. */
const FIRST_DAY_1900 = Date.UTC(1899, 11, 30) / 1000;
/** Day 0 of workbooks that were created on an old Mac. */
export const FIRST_DAY_1904 = Date.UTC(1904, 0, 1) / 1000;

function momentText(
  value: number,
  { date, time }: { readonly date: boolean; readonly time: boolean },
  firstDay: number,
) {
  const seconds = Math.round(value * SECONDS_OF_DAY);
  if (!date || (value >= 0 && value < 1 && time))
    return clockText(((seconds % SECONDS_OF_DAY) + SECONDS_OF_DAY) % SECONDS_OF_DAY);
  // Excel counts a 29 February 1900, which did not exist.
  const early = firstDay === FIRST_DAY_1900 && value < 60 ? SECONDS_OF_DAY : 0;
  const at = new Date((firstDay + seconds + early) * 1000);
  if (value < 0 || Number.isNaN(at.getTime())) return plain(value);
  const iso = at.toISOString();
  return time ? iso.slice(0, 19) : iso.slice(0, 10);
}

function clockText(seconds: number) {
  const two = (part: number) => String(part).padStart(2, '0');
  const sign = seconds < 0 ? '-' : '';
  const all = Math.abs(seconds);
  return `${sign}${two(Math.floor(all / 3600))}:${two(Math.floor(all / 60) % 60)}:${two(all % 60)}`;
}

/** The letters of a column, from index 0: `A`, `Z`, `AA`. */
export function columnLetters(index: number): string {
  let letters = '';
  for (let rest = index + 1; rest > 0; rest = Math.floor((rest - 1) / 26)) {
    letters = String.fromCharCode(65 + ((rest - 1) % 26)) + letters;
  }
  return letters;
}
