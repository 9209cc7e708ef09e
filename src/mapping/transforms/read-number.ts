import { currenciesNamed } from '../../model/row.ts';
import { type Cell, refuse } from '../values/cell.ts';

/** The notation of numbers. */
export interface NumberFormat {
  readonly decimal: '.' | ',' | 'auto' | 'either';
  readonly thousands: string | undefined;
  /** `strip`: any known currency; or the only accepted currency code. */
  readonly currency: string | undefined;
  /**
   * Whether three digits after the only sign are refused, unless the currency has thousandths: 1.000 may be a
   * thousand.
   */
  readonly refusesThreeDecimals: boolean;
  /** What becomes of a text that is not a number, of an ambiguous one, and of one that `currency` refuses. */
  readonly fallback: 'blank' | 'reject';
  /** The params of the mapping that set the options above, for advice in messages. */
  readonly params: FormatParams | undefined;
  /** How a mapping says that commas are decimal, where no step does. */
  readonly commaAdvice?: string;
}

export type FormatParams = { readonly [Key in 'decimal' | 'thousands' | 'currency']?: string };

/** Digits with a decimal point. */
export const PLAIN_NUMBER: NumberFormat = {
  decimal: '.',
  thousands: undefined,
  currency: undefined,
  refusesThreeDecimals: false,
  fallback: 'reject',
  params: {},
};

/** The longest amount; a longer text is refused without a closer look. */
const MAX_AMOUNT_LENGTH = 64;

/** A number keeps so many digits: more are of binary fractions, as in 19.999999999999996, and of quotients in databases. */
const KEPT_DIGITS = 15;

/** More digits before the decimal sign are a code, not an amount. */
const PLAIN = /^-?(?:[0-9]{1,15}(?:\.[0-9]{1,17})?|\.[0-9]{1,17})$/;
const THREE_DECIMALS = /\.[0-9]{3}$/;

/**
 * The number; undefined or Unreadable, depending on the format, if the text is not a number or is ambiguous. `named` gets the codes
 * and signs of currencies beside it.
 */
export function readNumber(
  text: string,
  format: NumberFormat,
  quote: (text: string) => string,
  named?: (currency: string) => void,
): Cell {
  const isPlain = format.decimal === '.' && PLAIN.test(text);
  if (isPlain && !(format.refusesThreeDecimals && THREE_DECIMALS.test(text))) return asNumber(text);
  const refused = (code: string, message: string) =>
    format.fallback === 'blank' ? undefined : refuse(code, `${quote(text)} ${message}`);
  const amount =
    text.length > MAX_AMOUNT_LENGTH ? { digits: text, words: [] } : withoutCurrency(text, format.currency);
  if (amount === 'differs') return refused('currency-differs', `is not in ${format.currency}`);
  if (amount === 'unknown') {
    return refused('not-a-number', 'is not an amount: the word beside the digits is not a currency');
  }
  const plain =
    text.length > MAX_AMOUNT_LENGTH
      ? undefined
      : toPlain(asciiDigits(amount.digits), format, hasThousandths(amount.words, format.currency));
  if (plain === 'ambiguous') {
    return refused('number-ambiguous', `can be read in two ways: ${unambiguous(format)}`);
  }
  if (plain === undefined || !PLAIN.test(plain)) {
    return refused('not-a-number', `is not a number; ${expected(amount.digits, format)}`);
  }
  if (named !== undefined) for (const word of amount.words) named(word);
  return asNumber(plain);
}

function asNumber(plain: string) {
  const number = Number(plain);
  // With its sign or point, a text of so many characters has no digit to lose.
  return plain.length <= KEPT_DIGITS ? number : Number(number.toPrecision(KEPT_DIGITS));
}

/** Advice for an ambiguous number. */
function unambiguous({ params }: NumberFormat) {
  const write = 'write it without a thousands sign, and with two digits or none behind the decimal sign';
  if (params === undefined) return write;
  const { decimal, thousands, currency } = params;
  return [
    write,
    decimal === undefined
      ? 'or say in the mapping which sign is the decimal one'
      : `or set ${decimal} to "," (or ".") in the job (params) if that is the decimal sign`,
    ...(thousands === undefined ? [] : [`or ${thousands} to "," (or ".") if that is the thousands sign`]),
    ...(currency === undefined ? [] : [`or ${currency} to KWD if that is the currency`]),
  ].join('; ');
}

function expected(
  text: string,
  { decimal, params, commaAdvice = '{ number: { decimal: "," } }' }: NumberFormat,
) {
  if (decimal === ',') return 'expected digits with a decimal comma';
  const comma = decimal === '.' && /^-?[0-9.]*[0-9],[0-9]+$/.test(text);
  if (!comma) return 'expected digits, as in 1299.50';
  const where =
    params?.decimal === undefined
      ? `the mapping says so: ${commaAdvice}`
      : `set ${params.decimal} to "," in the job (params)`;
  return `expected a decimal point, as in 1299.50; where commas are decimal, ${where}`;
}

/** A word of letters and signs; a dot belongs to the letter before it: 'Rs.' but not '$.50'. */
const CURRENCY_BEFORE = /^[\p{L}\p{Sc}](?:[\p{L}\p{M}\p{Sc}\u200c/]|(?<=[\p{L}\p{M}])\.)*/u;
/** Begins where no earlier character could begin the word: without that it would be tried from each character. */
const CURRENCY_BEHIND =
  /(?=[\p{L}\p{Sc}])(?<![\p{L}\p{Sc}](?:[\p{M}\u200c/]|(?<=[\p{L}\p{M}])\.)*)[\p{L}\p{Sc}](?:[\p{L}\p{M}\p{Sc}\u200c/]|(?<=[\p{L}\p{M}])\.)*$/u;

/**
 * The digits without the currency code or sign, and these. `unknown`: the word is not a currency, so the text
 * may be a discount, a size or a phone number. `differs`: it names another currency than required.
 */
function withoutCurrency(
  text: string,
  currency: string | undefined,
): { readonly digits: string; readonly words: readonly string[] } | 'unknown' | 'differs' {
  if (currency === undefined || !/\p{Nd}/u.test(text)) return { digits: text, words: [] };
  const minus = text.startsWith('-') ? '-' : '';
  const bare = text.slice(minus.length).trim();
  const before = CURRENCY_BEFORE.exec(bare)?.[0] ?? '';
  const rest = bare.slice(before.length).trim();
  const after = CURRENCY_BEHIND.exec(rest)?.[0] ?? '';
  const digits = minus + rest.slice(0, rest.length - after.length).trim();
  const words = [before, after].filter((word) => word !== '');
  if (currency !== 'strip') {
    const code = currency.toUpperCase();
    const fits = (word: string) =>
      word.toUpperCase() === code || currenciesNamed(word)?.includes(code) === true;
    return words.every(fits) ? { digits, words } : 'differs';
  }
  // A sign may precede the digits and a code may follow them: $15 CAD.
  const isKnown =
    words.every((word) => currenciesNamed(word) !== undefined) &&
    (words.length < 2 || /^\p{Sc}$/u.test(before));
  return isKnown ? { digits, words } : 'unknown';
}

/** Whether the currency of an amount has thousandths, so that three digits may follow the decimal sign. */
function hasThousandths(words: readonly string[], currency: string | undefined) {
  if (currency !== undefined && currency !== 'strip') return THOUSANDTHS.has(currency.toUpperCase());
  const meant = currenciesNamed(words.at(-1) ?? '');
  return meant?.every((code) => THOUSANDTHS.has(code)) === true;
}

/** Full-width, Persian and Arabic digits and signs as ASCII characters. */
function asciiDigits(text: string) {
  return text
    .replaceAll(/[\uff0b-\uff19]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) - 0xfee0))
    .replaceAll(/[\u0660-\u0669]/g, (digit) => String(digit.charCodeAt(0) - 0x660))
    .replaceAll(/[\u06f0-\u06f9]/g, (digit) => String(digit.charCodeAt(0) - 0x6f0))
    .replaceAll('\u066b', '.')
    .replaceAll('\u066c', ',');
}

const GROUPED = /^-?[0-9]{1,3}(?:([.,' \u00a0\u202f\u2019])[0-9]{3})(?:\1[0-9]{3})*$/;

/** The number with a decimal point and nothing else; undefined if it is not a number. */
function toPlain(
  text: string,
  format: NumberFormat,
  mayHaveThousandths: boolean,
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
  if (format.refusesThreeDecimals && isThousand(text, decides) && !mayHaveThousandths) {
    return 'ambiguous';
  }
  const digits = ungrouped(whole, decides, thousands, fraction !== undefined);
  if (digits === undefined || digits === 'ambiguous') return digits;
  return fraction === undefined ? digits : `${digits}.${fraction}`;
}

/** Three digits after the only sign: a thousand, or a number with thousandths. */
function isThousand(text: string, sign: string) {
  return !/^-?0/.test(text) && GROUPED.exec(text)?.[1] === sign;
}

/** The digits before the decimal sign, without thousands signs if these are unambiguous. */
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

/**
 * The currencies with prices in thousandths. The Iraqi dinar is not among them: its fils are out of use, and 25.000 IQD are 25
 * thousand.
 */
const THOUSANDTHS: ReadonlySet<string> = new Set(['KWD', 'BHD', 'OMR', 'TND', 'JOD', 'LYD']);
