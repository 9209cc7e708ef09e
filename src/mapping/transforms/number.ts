import { z } from 'zod';
import { type DeepReadonly, type Mutable, optional } from '../../model/json-object.ts';
import { refuse } from '../values/cell.ts';
import {
  type CurrencyCheck,
  defineTransform,
  FALLBACK,
  type Step,
  type TransformContext,
  textStep,
} from './define-transform.ts';
import { type FormatParams, type NumberFormat, PLAIN_NUMBER, readNumber } from './read-number.ts';

/** A step that reads numbers. */
export function numberStep(
  format: NumberFormat,
  quote: (text: string) => string,
  checkCurrency?: CurrencyCheck,
): Step {
  return textStep(
    (text, row, n) =>
      readNumber(text, format, quote, checkCurrency && ((word) => checkCurrency(word, row, n))),
    'number',
  );
}

/** How numbers are written, as a mapping says it. */
export const numberOptions = z.strictObject({
  decimal: optional(
    z.string(),
    '`.`, `,`; `auto` takes either and refuses ambiguous values (1,299); `either` takes either, for files without thousands signs.',
  ),
  thousands: optional(
    z.string(),
    'Between groups of three digits; `other`: the comma where the point is decimal, and vice versa. If set, a decimal 1.000 is refused as ambiguous.',
  ),
  currency: optional(
    z.string(),
    '`strip` removes the code or sign of a currency (EUR, $, zł) and refuses other words; a code such as EUR also refuses other currencies. Either refuses what is not the `currency` of the store, unless a later `convert` converts it, and three digits behind the only sign (15.000), unless the currency has thousandths.',
  ),
  [FALLBACK]: optional(
    z.enum(['blank', 'reject']),
    'If it is no number, an ambiguous one, or refused by `currency`. Default: reject.',
  ),
});

/** `number`: reads a number. */
export const number = defineTransform({
  name: 'number',
  word: {
    description: 'Reads a number with a decimal point; else rejects the record.',
    compile: ({ quote }) => numberStep(PLAIN_NUMBER, quote),
  },
  map: {
    shape: { number: numberOptions.describe('As `number`, with options.') },
    compile: ({ number: written }, context) =>
      numberStep(formatOf(written, context), context.quote, context.checkCurrency),
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
    { cell: 'tbc', steps: '{ number: { otherwise: blank } }', gives: undefined },
  ],
});

const readAsSchema = z.object({ number: z.object({ currency: z.string() }) });

/** The `currency` of a step that reads numbers; undefined for other steps. */
export function currencyRead(step: unknown): string | undefined {
  return readAsSchema.safeParse(step).data?.number.currency;
}

/** How numbers are written, with the params of the mapping. Paths of problems begin with `number`. */
export function formatOf(
  written: DeepReadonly<z.infer<typeof numberOptions>>,
  { argument, complain }: Pick<TransformContext, 'argument' | 'complain'>,
): NumberFormat {
  const params: Mutable<FormatParams> = {};
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
    refusesThreeDecimals: currency !== undefined || thousands !== undefined,
    fallback: written[FALLBACK] ?? 'reject',
    params,
  };
}

/** The thousands sign if the decimal sign is known; undefined if it is not. */
function otherSign(decimal: NumberFormat['decimal']) {
  return decimal === ',' ? '.' : decimal === '.' ? ',' : undefined;
}

/** `integer`: reads a whole number. */
export const integer = defineTransform({
  name: 'integer',
  word: {
    description: 'Reads a whole number (20.0 is 20); a fraction, or the ambiguous 1.000, rejects the record.',
    compile: ({ quote }) => integerStep('reject', quote),
  },
  map: {
    shape: {
      integer: z
        .strictObject({
          [FALLBACK]: optional(z.enum(['blank', 'reject']), 'If it is no whole number. Default: reject.'),
        })
        .describe('As `integer`, with options.'),
    },
    compile: ({ integer: { [FALLBACK]: fallback = 'reject' } }, { quote }) => integerStep(fallback, quote),
  },
  examples: [
    { cell: '20.0', steps: 'integer', gives: 20 },
    { cell: '2.5', steps: '{ integer: { otherwise: blank } }', gives: undefined },
  ],
});

function integerStep(fallback: 'blank' | 'reject', quote: (text: string) => string): Step {
  const format = { ...PLAIN_NUMBER, refusesThreeDecimals: true, fallback, params: undefined };
  return {
    takes: 'any',
    gives: (taken) => (taken.endsWith('[]') ? 'number[]' : 'number'),
    run: (_row, _n, value) => {
      const read = typeof value === 'string' ? readNumber(value, format, quote) : value;
      if (typeof read !== 'number' || Number.isSafeInteger(read)) return read;
      return fallback === 'blank'
        ? undefined
        : refuse('not-an-integer', `${quote(String(value))} is not a whole number`);
    },
  };
}
