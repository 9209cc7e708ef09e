import { z } from 'zod';
import { Decimal } from '../../model/decimal.ts';
import { workspacePathSchema } from '../../model/remote-address.ts';
import { CURRENCIES } from '../../model/row.ts';
import { type LookupTable, RATE_MATCH, ratePair, SEVERAL_RATES } from '../lookup-table.ts';
import { currencyDigits } from '../price-rules.ts';
import { refuse } from '../values/cell.ts';
import { calculatingStep, defineTransform, type Step, type TransformContext } from './define-transform.ts';
import { PLAIN_NUMBER, readNumber } from './read-number.ts';

const code = z.string().min(1);

const options = z.strictObject({
  rates: workspacePathSchema.describe(
    'The table of rates, with the columns `from`, `to` and `rate`: a lookup (`match: from`), or the path of a file.',
  ),
  from: code.describe('The currency of the amount; or the param or column in braces.'),
  to: code.describe('The wanted one, likewise.'),
});

/** Finds the step among others. */
export const convertSchema = z.object({ convert: options });

/** `convert`: an amount in another currency. */
export const convert = defineTransform({
  name: 'convert',
  map: {
    shape: {
      convert: options.describe(
        'Converts an amount by a table of rates, or divides by the opposite rate; as the last step it also rounds to the digits of the currency (EUR 2, JPY 0, KWD 3).',
      ),
    },
    compile: ({ convert: written }, context) => convertStep(written, context),
  },
  examples: [
    { cell: '12.50', steps: '{ convert: { rates: rates, from: USD, to: EUR } }', gives: 11.53 },
    { cell: '12.50', steps: '{ convert: { rates: rates, from: USD, to: JPY } }', gives: 1913 },
    {
      cell: '12.50',
      steps: '{ convert: { rates: rates, from: USD, to: EUR } }, { times: 1.2 }',
      gives: 13.8315,
    },
  ],
});

/** The `from` of a step that converts; undefined for other steps. */
export function convertedFrom(step: unknown): string | undefined {
  return convertSchema.safeParse(step).data?.convert.from;
}

function convertStep(
  { rates, from, to }: z.infer<typeof options>,
  { complain, lookupTable, template }: TransformContext,
): Step {
  const table = lookupTable(['convert', 'rates'], rates);
  for (const [key, currency] of Object.entries({ from, to })) {
    if (currency.includes('{') || CURRENCIES.has(currency.toUpperCase())) continue;
    complain(['convert', key], `expected the code of a currency, such as EUR, found '${currency}'`);
  }
  const known = new Map<string, Rate>();
  const rateOf = (source: string, target: string) => {
    const pair = ratePair(source, target);
    const found = known.get(pair) ?? findRate(table, rates, source.toUpperCase(), target.toUpperCase());
    known.set(pair, found);
    return found;
  };
  if (table !== undefined && table.rates === undefined) {
    complain(
      ['convert', 'rates'],
      `${rates} is no table of rates: expected the columns from, to and rate, and \`match: ${RATE_MATCH}\``,
    );
  } else if (table !== undefined && !`${from}${to}`.includes('{')) {
    const rate = rateOf(from, to);
    if ('missing' in rate) complain(['convert', 'rates'], rate.missing);
  }
  const [sourceOf, targetOf] = [template(['convert', 'from'], from), template(['convert', 'to'], to)];
  return calculatingStep(
    (value, row, n) => {
      const source = sourceOf(row, n)?.trim();
      const target = targetOf(row, n)?.trim();
      if (!source || !target) {
        return refuse(
          'currency-missing',
          'the currency of the amount, or the one that is wanted, is blank',
          row.line,
        );
      }
      const rate = rateOf(source, target);
      if ('missing' in rate) return refuse('rate-missing', rate.missing, row.line);
      return rate.isInverse ? value.dividedBy(rate.rate) : value.times(rate.rate);
    },
    (value, row, n) => value.rounded(currencyDigits(targetOf(row, n) ?? '')),
  );
}

type Rate = { readonly rate: Decimal; readonly isInverse: boolean } | { readonly missing: string };

/** The rate of the pair, or the opposite one. Without a table, in a check, amounts stay as they are. */
function findRate(table: LookupTable | undefined, name: string, from: string, to: string): Rate {
  if (table === undefined || from === to) return { rate: Decimal.of(1), isInverse: false };
  for (const pair of [
    [from, to],
    [to, from],
  ] as const) {
    const written = table.rates?.get(ratePair(...pair));
    if (written === undefined) continue;
    if (written === SEVERAL_RATES) {
      return { missing: `${name} has several rates from ${pair.join(' to ')}` };
    }
    const rate = readNumber(written, { ...PLAIN_NUMBER, fallback: 'blank' }, String);
    if (typeof rate === 'number' && rate > 0) return { rate: Decimal.of(rate), isInverse: pair[0] !== from };
    const shown = `the rate from ${pair.join(' to ')} is '${written}'`;
    return { missing: `${name}: ${shown}; expected a number above 0, as in 0.9221` };
  }
  return { missing: `${name} has no rate from ${from} to ${to}` };
}
