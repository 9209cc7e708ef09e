import { z } from 'zod';
import { type Cell, refuse } from '../values/cell.ts';
import { decimalsOf, isCurrency } from './currencies.ts';
import { defineTransform, readingStep, type Step, type TransformContext } from './transform.ts';

/** How numbers are written. */
interface NumberFormat {
  readonly decimal: '.' | ',' | 'auto' | 'either';
  readonly thousands: string | undefined;
  /** `strip`: any known currency; or the only currency code that is accepted. */
  readonly currency: string | undefined;
  readonly otherwise: 'blank' | 'reject';
  /** The param of the mapping that sets `decimal`, for the advice in messages; undefined where none does. */
  readonly decimalParam?: string | undefined;
}

/** Digits with a decimal point. */
export const PLAIN_NUMBER: NumberFormat = {
  decimal: '.',
  thousands: undefined,
  currency: undefined,
  otherwise: 'reject',
};

/** No amount is longer; a longer text is refused without a closer look. */
const LONGEST = 64;

/** Longer digit strings lose digits as a number: they are codes, not amounts. */
const MOST_DIGITS = 15;

const PLAIN = /^-?(?:[0-9]{1,15}(?:\.[0-9]{1,15})?|\.[0-9]{1,15})$/;

/** The number; undefined or Unreadable, as the format says, where the text is none, or could be read in two ways. */
export function readNumber(text: string, format: NumberFormat, quote: (text: string) => string): Cell {
  if (format.decimal === '.' && format.currency === undefined && PLAIN.test(text)) return Number(text);
  const refused = (code: string, message: string) =>
    format.otherwise === 'blank' ? undefined : refuse(code, `${quote(text)} ${message}`);
  const amount =
    text.length > LONGEST ? { digits: text, currency: '' } : withoutCurrency(text, format.currency);
  if (amount === 'differs') return refused('currency-differs', `is not in ${format.currency}`);
  if (amount === 'unknown') {
    return refused('not-a-number', 'is not an amount: the word beside the digits is no currency');
  }
  const plain =
    text.length > LONGEST ? undefined : toPlain(asciiDigits(amount.digits), format, amount.currency);
  if (plain === 'ambiguous') {
    return refused('number-ambiguous', `can be read in two ways: ${unambiguous(format)}`);
  }
  if (plain === undefined || plain.replaceAll(/[^0-9]/g, '').length > MOST_DIGITS) {
    return refused('not-a-number', `is not a number; ${expected(amount.digits, format)}`);
  }
  return Number(plain);
}

/** A step that reads numbers. */
export function numberStep(format: NumberFormat, quote: (text: string) => string): Step {
  return readingStep('number', (text) => readNumber(text, format, quote));
}

const options = z.strictObject({
  decimal: z
    .string()
    .exactOptional()
    .describe(
      'The decimal sign: `.`, `,`; `auto` takes either and refuses what could be read in two ways (1,299); `either` takes either, for files without thousands signs.',
    ),
  thousands: z
    .string()
    .exactOptional()
    .describe(
      'The thousands sign that may stand between groups of three digits; `other`: the comma where the point is decimal, and the other way round.',
    ),
  currency: z
    .string()
    .exactOptional()
    .describe(
      '`strip` removes the code, sign or abbreviation of a currency (EUR, $, zł) and refuses any other word; a code such as EUR also refuses other currencies. An amount with three digits behind its only sign (15.000) is refused, unless its currency has thousandths.',
    ),
  otherwise: z
    .enum(['blank', 'reject'])
    .exactOptional()
    .describe('What a text that is no number becomes. Default: reject.'),
});

/** `number`: reads a number. */
export const number = defineTransform({
  name: 'number',
  word: {
    description: 'Reads a number with a decimal point; anything else rejects the record.',
    compile: ({ quote }) => numberStep(PLAIN_NUMBER, quote),
  },
  map: {
    shape: { number: options.describe('As `number`, with options.') },
    compile: ({ number: written }, context) => numberStep(formatOf(written, context), context.quote),
  },
  examples: [
    { cell: '1299.50', steps: 'number', gives: 1299.5 },
    {
      cell: '1.299,50 €',
      steps: '{ number: { decimal: ",", thousands: ".", currency: strip } }',
      gives: 1299.5,
    },
    { cell: '12,5', steps: '{ number: { decimal: auto } }', gives: 12.5 },
    { cell: '1,299', steps: '{ number: { decimal: auto } }', gives: { rejects: 'number-ambiguous' } },
    { cell: 'tbc', steps: 'number', gives: { rejects: 'not-a-number' } },
    { cell: 'tbc', steps: '{ number: { otherwise: blank } }', gives: undefined },
  ],
});

function formatOf(written: z.infer<typeof options>, { argument, complain }: TransformContext): NumberFormat {
  const decimal = argument(['number', 'decimal'], written.decimal ?? '.');
  const decimalParam = /^\{(\w+)\}$/.exec(written.decimal ?? '')?.[1];
  if (decimal !== '.' && decimal !== ',' && decimal !== 'auto' && decimal !== 'either') {
    complain(['number', 'decimal'], `expected '.', ',', auto or either, found '${decimal}'`);
    return PLAIN_NUMBER;
  }
  const given = (key: 'thousands' | 'currency') => {
    const text = written[key];
    return text === undefined ? undefined : argument(['number', key], text);
  };
  const sign = given('thousands');
  const thousands = sign === 'other' ? otherSign(decimal) : sign;
  if (thousands !== undefined && !["'", '’', ' ', '\u00a0', '\u202f', ',', '.'].includes(thousands)) {
    complain(['number', 'thousands'], `expected one of , . ' or a blank, or other, found '${thousands}'`);
  }
  if (thousands !== undefined && thousands === decimal) {
    complain(['number', 'thousands'], 'the thousands sign must differ from the decimal sign');
  }
  const otherwise = written.otherwise ?? 'reject';
  return { decimal, thousands, currency: given('currency'), otherwise, decimalParam };
}

/** The thousands sign where the decimal sign is known; undefined where it is not. */
function otherSign(decimal: NumberFormat['decimal']): '.' | ',' | undefined {
  return decimal === ',' ? '.' : decimal === '.' ? ',' : undefined;
}

function unambiguous({ decimalParam }: NumberFormat): string {
  const write = 'write it without a thousands sign, and with two digits or none behind the decimal sign';
  return decimalParam === undefined
    ? `${write}; or say in the mapping which sign is the decimal one`
    : `${write}; or set \`params: { ${decimalParam}: "," }\` (or ".") in the job if that is the decimal sign`;
}

function expected(text: string, { decimal, decimalParam }: NumberFormat): string {
  if (decimal === ',') return 'expected digits with a decimal comma';
  const comma = decimal === '.' && /^-?[0-9.]*[0-9],[0-9]+$/.test(text);
  if (!comma) return 'expected digits, as in 1299.50';
  const where =
    decimalParam === undefined
      ? 'the mapping says so: { number: { decimal: "," } }'
      : `the job says so: params: { ${decimalParam}: "," }`;
  return `expected a decimal point, as in 1299.50; where commas are decimal, ${where}`;
}

/** A word of letters and signs; a dot belongs to the letter before it: 'Rs.' but not '$.50'. */
const CURRENCY_BEFORE = /^[\p{L}\p{Sc}](?:[\p{L}\p{M}\p{Sc}\u200c/]|(?<=[\p{L}\p{M}])\.)*/u;
const CURRENCY_BEHIND = /[\p{L}\p{Sc}](?:[\p{L}\p{M}\p{Sc}\u200c/]|(?<=[\p{L}\p{M}])\.)*$/u;

/**
 * The digits without a currency code or sign around them, and that currency. `unknown`: the word is no currency, so
 * the text may be a discount, a size or a phone number; `differs`: it names another currency than it must.
 */
function withoutCurrency(
  text: string,
  currency: string | undefined,
): { readonly digits: string; readonly currency: string } | 'unknown' | 'differs' {
  if (currency === undefined) return { digits: text, currency: '' };
  const minus = text.startsWith('-') ? '-' : '';
  const bare = text.slice(minus.length).trim();
  const before = CURRENCY_BEFORE.exec(bare)?.[0] ?? '';
  const rest = bare.slice(before.length).trim();
  const after = CURRENCY_BEHIND.exec(rest)?.[0] ?? '';
  const digits = minus + rest.slice(0, rest.length - after.length).trim();
  const named = [before, after].filter((word) => word !== '');
  const [only = ''] = named;
  if (currency !== 'strip') {
    return named.every((word) => word.toUpperCase() === currency.toUpperCase())
      ? { digits, currency }
      : 'differs';
  }
  // A sign may stand before the digits and the code behind them: $15 CAD.
  const isKnown = named.every(isCurrency) && (named.length < 2 || /^\p{Sc}$/u.test(before));
  return isKnown ? { digits, currency: named.at(-1) ?? only } : 'unknown';
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
function toPlain(text: string, format: NumberFormat, currency: string): string | 'ambiguous' | undefined {
  const { decimal, thousands } = format;
  const signs = new Set([...text].filter((character) => character === '.' || character === ','));
  const lastSign = Math.max(text.lastIndexOf('.'), text.lastIndexOf(','));
  const decides = decimal === '.' || decimal === ',' ? decimal : lastSign < 0 ? '.' : text.charAt(lastSign);
  const occurs = text.split(decides).length - 1;
  if (decimal === 'auto' && signs.size === 1 && GROUPED.test(text) && !/^-?0/.test(text)) {
    return occurs > 1 ? text.replaceAll(decides, '') : 'ambiguous';
  }
  if (occurs > 1) return undefined;
  const [whole = '', fraction] = text.split(decides);
  if (fraction !== undefined && !/^[0-9]+$/.test(fraction)) return undefined;
  if (format.currency !== undefined && isThousand(text, decides) && decimalsOf(currency) !== 3) {
    return 'ambiguous';
  }
  const digits = ungrouped(whole, decides, thousands, fraction !== undefined);
  if (digits === undefined || digits === 'ambiguous') return digits;
  return fraction === undefined ? digits : `${digits}.${fraction}`;
}

/** An amount of money with three digits behind its only sign: few currencies have thousandths. */
function isThousand(text: string, sign: string): boolean {
  return !/^-?0/.test(text) && GROUPED.exec(text)?.[1] === sign;
}

/** The digits before the decimal sign, without thousands signs where these can be nothing else. */
function ungrouped(
  whole: string,
  decimal: string,
  thousands: string | undefined,
  hasFraction: boolean,
): string | 'ambiguous' | undefined {
  if (/^-?[0-9]+$/.test(whole)) return whole;
  if (hasFraction && /^-?$/.test(whole)) return `${whole}0`;
  const sign = GROUPED.exec(whole)?.[1];
  if (sign === undefined || sign === decimal) return undefined;
  if (thousands !== undefined && sign !== thousands) return undefined;
  const certain =
    thousands !== undefined || hasFraction || (sign !== '.' && sign !== ',') || whole.split(sign).length > 2;
  return certain ? whole.replaceAll(sign, '') : 'ambiguous';
}
