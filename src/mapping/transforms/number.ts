import { type Cell, Unreadable } from '../values/cell.ts';
import { readingStep, type Step } from './transform.ts';

/** How numbers are written. */
export interface NumberFormat {
  readonly decimal: '.' | ',' | 'auto' | 'either';
  readonly thousands: string | undefined;
  /** `strip`, or the only currency code that is accepted. */
  readonly currency: string | undefined;
  readonly otherwise: 'blank' | 'reject';
}

/** Digits with a decimal point. */
export const PLAIN_NUMBER: NumberFormat = {
  decimal: '.',
  thousands: undefined,
  currency: undefined,
  otherwise: 'reject',
};

/** No amount is longer; what is, need not be looked at closely. */
const LONGEST = 64;

/** Longer digit strings lose digits as a number: they are codes, not amounts. */
const MOST_DIGITS = 15;

const PLAIN = /^-?[0-9]{1,15}(?:\.[0-9]{1,15})?$/;

/** The number, or why the text is none. Nothing that can be read in two ways is read. */
export function readNumber(text: string, format: NumberFormat, quote: (text: string) => string): Cell {
  if (format.decimal === '.' && PLAIN.test(text)) {
    return Number(text);
  }
  const bare = text.length > LONGEST ? text : withoutCurrency(text, format.currency);
  if (typeof bare !== 'string') {
    return format.otherwise === 'blank'
      ? undefined
      : new Unreadable('currency-differs', `${quote(text)} is not in ${format.currency}`);
  }
  const plain = text.length > LONGEST ? undefined : toPlain(asciiDigits(bare), format);
  if (plain === 'ambiguous') {
    return format.otherwise === 'blank'
      ? undefined
      : new Unreadable(
          'number-ambiguous',
          `${quote(text)} can be read in two ways: write it without a thousands sign, or say in the mapping which sign is the decimal one`,
        );
  }
  if (plain === undefined || plain.replaceAll(/[^0-9]/g, '').length > MOST_DIGITS) {
    return format.otherwise === 'blank'
      ? undefined
      : new Unreadable('not-a-number', `${quote(text)} is not a number; ${expected(bare, format)}`);
  }
  return Number(plain);
}

/** As a step. */
export function number(format: NumberFormat, quote: (text: string) => string): Step {
  return readingStep('number', (text) => readNumber(text, format, quote));
}

/** Reads whole numbers, also those written with zeros behind the point. */
export function integer(otherwise: 'blank' | 'reject', quote: (text: string) => string): Step {
  const format = { ...PLAIN_NUMBER, otherwise };
  return {
    takes: 'any',
    gives: (taken) => (taken.endsWith('[]') ? 'number[]' : 'number'),
    run: (value) => {
      const read = typeof value === 'string' ? readNumber(value, format, quote) : value;
      if (typeof read !== 'number' || Number.isSafeInteger(read)) {
        return read;
      }
      return otherwise === 'blank'
        ? undefined
        : new Unreadable('not-an-integer', `${quote(String(value))} is not a whole number`);
    },
  };
}

/** Raises numbers to a least one, or lowers them to a greatest one; each time is noted. */
export function bounded(bound: 'min' | 'max', limit: number, note: (sentence: string) => void): Step {
  const sentence =
    bound === 'min' ? `below ${limit}, raised to ${limit}` : `above ${limit}, lowered to ${limit}`;
  return {
    takes: 'number',
    gives: () => 'number',
    run: (value) => {
      if (typeof value !== 'number' || (bound === 'min' ? value >= limit : value <= limit)) {
        return value;
      }
      note(sentence);
      return limit;
    },
  };
}

function expected(text: string, { decimal }: NumberFormat): string {
  if (decimal === ',') return 'expected digits with a decimal comma';
  const comma = decimal === '.' && /^-?[0-9.]*[0-9],[0-9]+$/.test(text);
  return comma
    ? 'expected a decimal point, as in 1299.50; where commas are decimal, the job says so: params: { decimal: "," }'
    : 'expected digits, as in 1299.50';
}

/** The text without a currency code or sign around it; undefined when it names another currency than it must. */
function withoutCurrency(text: string, currency: string | undefined): string | undefined {
  if (currency === undefined) {
    return text;
  }
  const minus = text.startsWith('-') ? '-' : '';
  const bare = text.slice(minus.length).trim();
  const before = /^[\p{L}\p{Sc}]+\.?/u.exec(bare)?.[0] ?? '';
  const rest = bare.slice(before.length).trim();
  const after = /[\p{L}\p{Sc}]+\.?$/u.exec(rest)?.[0] ?? '';
  const named = before === '' ? after : before;
  const other = currency !== 'strip' && named !== '' && named.toUpperCase() !== currency.toUpperCase();
  const amount = rest.slice(0, rest.length - after.length).trim();
  return other || (before !== '' && after !== '') ? undefined : minus + amount;
}

/** Persian and Arabic digits and signs as ASCII ones. */
function asciiDigits(text: string): string {
  return text
    .replaceAll(/[\u0660-\u0669]/g, (digit) => String(digit.charCodeAt(0) - 0x660))
    .replaceAll(/[\u06f0-\u06f9]/g, (digit) => String(digit.charCodeAt(0) - 0x6f0))
    .replaceAll('\u066b', '.')
    .replaceAll('\u066c', ',');
}

const GROUPED = /^-?[0-9]{1,3}(?:([.,' \u00a0\u202f\u2019])[0-9]{3})(?:\1[0-9]{3})*$/;

/** The number with a decimal point and nothing else; undefined when it is none. */
function toPlain(text: string, format: NumberFormat): string | 'ambiguous' | undefined {
  const { decimal, thousands } = format;
  const signs = new Set([...text].filter((character) => character === '.' || character === ','));
  const lastSign = Math.max(text.lastIndexOf('.'), text.lastIndexOf(','));
  const decides = decimal === '.' || decimal === ',' ? decimal : lastSign < 0 ? '.' : text.charAt(lastSign);
  const occurs = text.split(decides).length - 1;
  if (decimal === 'auto' && signs.size === 1 && GROUPED.test(text) && !/^-?0/.test(text)) {
    return occurs > 1 ? text.replaceAll(decides, '') : 'ambiguous';
  }
  if (occurs > 1) {
    return undefined;
  }
  const [whole = '', fraction] = text.split(decides);
  if (fraction !== undefined && !/^[0-9]+$/.test(fraction)) {
    return undefined;
  }
  const digits = ungrouped(whole, decides, thousands, fraction !== undefined);
  if (digits === undefined || digits === 'ambiguous') {
    return digits;
  }
  return fraction === undefined ? digits : `${digits}.${fraction}`;
}

/** The digits before the decimal sign, without thousands signs where these can be nothing else. */
function ungrouped(
  whole: string,
  decimal: string,
  thousands: string | undefined,
  hasFraction: boolean,
): string | 'ambiguous' | undefined {
  if (/^-?[0-9]+$/.test(whole)) {
    return whole;
  }
  const sign = GROUPED.exec(whole)?.[1];
  if (sign === undefined || sign === decimal) {
    return undefined;
  }
  if (thousands !== undefined && sign !== thousands) {
    return undefined;
  }
  const certain =
    thousands !== undefined || hasFraction || (sign !== '.' && sign !== ',') || whole.split(sign).length > 2;
  return certain ? whole.replaceAll(sign, '') : 'ambiguous';
}
