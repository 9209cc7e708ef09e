import { z } from 'zod';
import { type Cell, refuse } from '../values/cell.ts';
import { type Currency, currencyNamed } from './currency.ts';
import { defineTransform, readingStep, type Step, type TransformContext } from './define-transform.ts';

/** How numbers are written. */
interface NumberFormat {
  readonly decimal: '.' | ',' | 'auto' | 'either';
  readonly thousands: string | undefined;
  /** `strip`: any known currency; or the only currency code that is accepted. */
  readonly currency: string | undefined;
  /** Whether three digits behind the only sign are refused, unless the currency has thousandths: 1.000 may be a thousand. */
  readonly refusesThousandths: boolean;
  readonly otherwise: 'blank' | 'reject';
  /** The params of the mapping that set the above, for the advice in messages. */
  readonly params: FormatParams | undefined;
}

type FormatParams = { readonly [Key in 'decimal' | 'thousands' | 'currency']?: string };

/** Digits with a decimal point. */
export const PLAIN_NUMBER: NumberFormat = {
  decimal: '.',
  thousands: undefined,
  currency: undefined,
  refusesThousandths: false,
  otherwise: 'reject',
  params: {},
};

/** No amount is longer; a longer text is refused without a closer look. */
const LONGEST = 64;

/** Longer digit strings lose digits as a number: they are codes, not amounts. */
const MOST_DIGITS = 15;

const PLAIN = /^-?(?:[0-9]{1,15}(?:\.[0-9]{1,15})?|\.[0-9]{1,15})$/;
const THREE_DECIMALS = /\.[0-9]{3}$/;

/** The number; undefined or Unreadable, as the format says, where the text is none, or could be read in two ways. */
export function readNumber(text: string, format: NumberFormat, quote: (text: string) => string): Cell {
  const isPlain = format.decimal === '.' && PLAIN.test(text);
  if (isPlain && !(format.refusesThousandths && THREE_DECIMALS.test(text))) return Number(text);
  const refused = (code: string, message: string) =>
    format.otherwise === 'blank' ? undefined : refuse(code, `${quote(text)} ${message}`);
  const amount =
    text.length > LONGEST ? { digits: text, currency: undefined } : withoutCurrency(text, format.currency);
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
      'The thousands sign that may stand between groups of three digits; `other`: the comma where the point is decimal, and the other way round. Then 1.000 is refused where the point is decimal: it may be a thousand.',
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

/** `integer`: reads a whole number. */
export const integer = defineTransform({
  name: 'integer',
  word: {
    description:
      'Reads a whole number (20.0 is 20); a fraction rejects the record, and so does 1.000, which may be a thousand.',
    compile: ({ quote }) => integerStep('reject', quote),
  },
  map: {
    shape: {
      integer: z
        .strictObject({
          otherwise: z
            .enum(['blank', 'reject'])
            .exactOptional()
            .describe('What a text that is no whole number becomes. Default: reject.'),
        })
        .describe('As `integer`, with options.'),
    },
    compile: ({ integer: { otherwise = 'reject' } }, { quote }) => integerStep(otherwise, quote),
  },
  examples: [
    { cell: '20.0', steps: 'integer', gives: 20 },
    { cell: '2.5', steps: 'integer', gives: { rejects: 'not-an-integer' } },
    { cell: '1.000', steps: 'integer', gives: { rejects: 'number-ambiguous' } },
    { cell: '2.5', steps: '{ integer: { otherwise: blank } }', gives: undefined },
  ],
});

/** `min`: raises smaller numbers to this one. */
export const min = defineTransform({
  name: 'min',
  map: {
    shape: { min: z.number().describe('Raises smaller numbers to this one, and counts how often.') },
    compile: ({ min: least }, { note }) =>
      boundStep((value) => {
        if (value >= least) return value;
        note(`below ${least}, raised to ${least}`);
        return least;
      }),
  },
  examples: [{ cell: '-3', steps: 'integer, { min: 0 }', gives: 0 }],
});

/** `max`: lowers greater numbers to this one. */
export const max = defineTransform({
  name: 'max',
  map: {
    shape: { max: z.number().describe('Lowers greater numbers to this one, and counts how often.') },
    compile: ({ max: most }, { note }) =>
      boundStep((value) => {
        if (value <= most) return value;
        note(`above ${most}, lowered to ${most}`);
        return most;
      }),
  },
  examples: [{ cell: '5000', steps: 'integer, { max: 999 }', gives: 999 }],
});

function boundStep(run: (value: number) => number): Step {
  return {
    takes: 'number',
    gives: () => 'number',
    run: (value) => (typeof value === 'number' ? run(value) : value),
  };
}

/** Also takes whole numbers that are written with zeros behind the point. */
function integerStep(otherwise: 'blank' | 'reject', quote: (text: string) => string): Step {
  const format = { ...PLAIN_NUMBER, refusesThousandths: true, otherwise, params: undefined };
  return {
    takes: 'any',
    gives: (taken) => (taken.endsWith('[]') ? 'number[]' : 'number'),
    run: (value) => {
      const read = typeof value === 'string' ? readNumber(value, format, quote) : value;
      if (typeof read !== 'number' || Number.isSafeInteger(read)) return read;
      return otherwise === 'blank'
        ? undefined
        : refuse('not-an-integer', `${quote(String(value))} is not a whole number`);
    },
  };
}

function formatOf(written: z.infer<typeof options>, { argument, complain }: TransformContext): NumberFormat {
  const params: { -readonly [Key in keyof FormatParams]: FormatParams[Key] } = {};
  const given = (key: keyof FormatParams) => {
    const text = written[key];
    if (text === undefined) return undefined;
    const param = /^\{(\w+)\}$/.exec(text)?.[1];
    if (param !== undefined) params[key] = param;
    return argument(['number', key], text) || undefined;
  };
  const decimal = given('decimal') ?? '.';
  if (decimal !== '.' && decimal !== ',' && decimal !== 'auto' && decimal !== 'either') {
    complain(['number', 'decimal'], `expected '.', ',', auto or either, found '${decimal}'`);
    return PLAIN_NUMBER;
  }
  const sign = given('thousands');
  const thousands = sign === 'other' ? otherSign(decimal) : sign;
  if (thousands !== undefined && !["'", '’', ' ', '\u00a0', '\u202f', ',', '.'].includes(thousands)) {
    complain(['number', 'thousands'], `expected one of , . ' or a blank, or other, found '${thousands}'`);
  }
  if (thousands !== undefined && thousands === decimal) {
    complain(['number', 'thousands'], 'the thousands sign must differ from the decimal sign');
  }
  const currency = given('currency');
  return {
    decimal,
    thousands,
    currency,
    refusesThousandths: currency !== undefined || thousands !== undefined,
    otherwise: written.otherwise ?? 'reject',
    params,
  };
}

/** The thousands sign where the decimal sign is known; undefined where it is not. */
function otherSign(decimal: NumberFormat['decimal']): '.' | ',' | undefined {
  return decimal === ',' ? '.' : decimal === '.' ? ',' : undefined;
}

/** What to do about a number that can be read in two ways. */
function unambiguous({ params }: NumberFormat): string {
  const write = 'write it without a thousands sign, and with two digits or none behind the decimal sign';
  if (params === undefined) return write;
  const { decimal, thousands, currency } = params;
  return [
    write,
    decimal === undefined
      ? 'or say in the mapping which sign is the decimal one'
      : `or set \`params: { ${decimal}: "," }\` (or ".") in the job if that is the decimal sign`,
    ...(thousands === undefined
      ? []
      : [`or \`params: { ${thousands}: "," }\` (or ".") if that is the thousands sign`]),
    ...(currency === undefined ? [] : [`or \`params: { ${currency}: KWD }\` if that is the currency`]),
  ].join('; ');
}

function expected(text: string, { decimal, params }: NumberFormat): string {
  if (decimal === ',') return 'expected digits with a decimal comma';
  const comma = decimal === '.' && /^-?[0-9.]*[0-9],[0-9]+$/.test(text);
  if (!comma) return 'expected digits, as in 1299.50';
  const where =
    params?.decimal === undefined
      ? 'the mapping says so: { number: { decimal: "," } }'
      : `the job says so: params: { ${params.decimal}: "," }`;
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
): { readonly digits: string; readonly currency: Currency | undefined } | 'unknown' | 'differs' {
  if (currency === undefined || !/\p{Nd}/u.test(text)) return { digits: text, currency: undefined };
  const minus = text.startsWith('-') ? '-' : '';
  const bare = text.slice(minus.length).trim();
  const before = CURRENCY_BEFORE.exec(bare)?.[0] ?? '';
  const rest = bare.slice(before.length).trim();
  const after = CURRENCY_BEHIND.exec(rest)?.[0] ?? '';
  const digits = minus + rest.slice(0, rest.length - after.length).trim();
  const words = [before, after].filter((word) => word !== '');
  if (currency !== 'strip') {
    return words.every((word) => word.toUpperCase() === currency.toUpperCase())
      ? { digits, currency: currencyNamed(currency.toUpperCase()) }
      : 'differs';
  }
  const named = words.map(currencyNamed);
  // A sign may stand before the digits and the code behind them: $15 CAD.
  const isKnown = !named.includes(undefined) && (words.length < 2 || /^\p{Sc}$/u.test(before));
  return isKnown ? { digits, currency: named.at(-1) } : 'unknown';
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
function toPlain(
  text: string,
  format: NumberFormat,
  currency: Currency | undefined,
): string | 'ambiguous' | undefined {
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
  if (format.refusesThousandths && isThousand(text, decides) && currency?.hasThousandths !== true) {
    return 'ambiguous';
  }
  const digits = ungrouped(whole, decides, thousands, fraction !== undefined);
  if (digits === undefined || digits === 'ambiguous') return digits;
  return fraction === undefined ? digits : `${digits}.${fraction}`;
}

/** Three digits behind the only sign: a thousand, or one with thousandths. */
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
