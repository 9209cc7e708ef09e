import { z } from 'zod';
import { Decimal } from '../model/decimal.ts';
import { type DeepReadonly, type Mutable, optional } from '../model/json-object.ts';
import type { VariantPatch } from '../model/mapped-record.ts';
import { CURRENCIES } from '../model/row.ts';

/** How a number is rounded to multiples, or to a price ending. */
export const roundingSchema = z.strictObject({
  to: z.number().positive().describe('To multiples of this: 0.05, 1, 10.'),
  ending: optional(
    z.number().min(0),
    'To numbers that end so: with `to: 1` and 0.99 to 0.99, 1.99, …; with `to: 10` and 9 to 9, 19, …',
  ),
  direction: optional(
    z.enum(['nearest', 'up', 'down']),
    '`nearest` (default): the middle goes up; `up` or `down`: always so.',
  ),
});

/** A rounding as a file has it; a number alone is `to`. */
export type WrittenRounding = number | z.infer<typeof roundingSchema>;

/** Rounds exact numbers; 0 stays 0, and a number below 0 is rounded as without its sign. */
export function roundDecimal(written: WrittenRounding): (value: Decimal) => Decimal {
  const given = typeof written === 'number' ? { to: written } : written;
  const { direction = 'nearest', ending = 0 }: z.infer<typeof roundingSchema> = given;
  const parts = { to: Decimal.of(given.to), ending: Decimal.of(ending), direction };
  return (value) => {
    if (value.sign === 0) return value;
    const rounded = roundSize(value.size, parts);
    return value.sign < 0 ? rounded.negated() : rounded;
  };
}

/** Of a number above 0: the one below or above it that ends so. The smallest of them is the ending itself. */
function roundSize(
  size: Decimal,
  {
    to,
    ending,
    direction,
  }: Record<'to' | 'ending', Decimal> & { readonly direction: 'nearest' | 'up' | 'down' },
) {
  const above = size.minus(ending);
  if (above.sign <= 0) return ending;
  const lower = ending.plus(above.wholeTimes(to).times(to));
  const down = size.minus(lower);
  if (down.sign === 0 || direction === 'down') return lower;
  const upper = lower.plus(to);
  return direction === 'up' || upper.minus(size).compare(down) <= 0 ? upper : lower;
}

/** The rules by which the prices of a store follow from those of a source, in order. */
export const priceRulesSchema = z.array(
  z.union([
    z.strictObject({ times: z.number().positive().describe('Multiplies by this number.') }),
    z.strictObject({ plus: z.number().describe('Adds this number.') }),
    z.strictObject({
      round: z
        .union([z.number().positive(), roundingSchema])
        .describe('Rounds to multiples of this number, or as the options say.'),
    }),
  ]),
);

/** What the prices of a store are made by. */
export type PriceRules = DeepReadonly<z.infer<typeof priceRulesSchema>>;

/** What is wrong with the body that the rules would give. */
interface UnusablePrice {
  readonly code: 'price-below-0' | 'price-rounded-to-zero';
  readonly message: string;
}

type Priced = Pick<VariantPatch, 'price' | 'onSale' | 'regularPrice' | 'salePrice'>;

/** How many digits a currency has behind the point; 2 where it is unknown. */
export function currencyDigits(currency: string | undefined): number {
  const wanted = currency?.trim().toUpperCase() ?? '';
  if (!CURRENCIES.has(wanted)) return 2;
  const known = knownDigits.get(wanted);
  if (known !== undefined) return known;
  const format = new Intl.NumberFormat('en', { style: 'currency', currency: wanted });
  const { maximumFractionDigits: digits = 2 } = format.resolvedOptions();
  knownDigits.set(wanted, digits);
  return digits;
}

const knownDigits = new Map<string, number>();

/** Rounded to the digits of the currency, or as finely as the price it came from. */
export function roundPrice(exact: Decimal, like: Decimal, currency: string | undefined): Decimal {
  return exact.rounded(Math.max(currencyDigits(currency), like.fractionDigits));
}

/**
 * Puts the prices of a product through rules, exactly; rounded, unless the last of them rounds. A price of 0 stays 0: what is free stays free. Where a sale price is no
 * longer below the regular one, the variant is no longer on sale.
 */
export function applyPriceRules<Body extends { readonly variants: readonly Priced[] }>(
  body: Body,
  rules: PriceRules,
  currency: string | undefined,
): Body | UnusablePrice {
  const steps = rules.map((rule): ((value: Decimal) => Decimal) => {
    if ('times' in rule) return (value) => value.times(Decimal.of(rule.times));
    if ('plus' in rule) return (value) => value.plus(Decimal.of(rule.plus));
    return roundDecimal(rule.round);
  });
  const isRounded = 'round' in (rules.at(-1) ?? {});
  const priceOf = (price: number) => {
    const exact = Decimal.of(price);
    const made = steps.reduce((value, step) => step(value), exact);
    return price === 0 ? 0 : (isRounded ? made : roundPrice(made, exact, currency)).toNumber();
  };
  let unusable: UnusablePrice | undefined;
  const variants = body.variants.map((variant) => {
    const changed: Mutable<Priced> = { ...variant };
    for (const field of ['price', 'regularPrice', 'salePrice'] as const) {
      const price = variant[field];
      if (price === undefined) continue;
      const made = priceOf(price);
      changed[field] = made;
      if (made > 0 || price === 0) continue;
      const message = `the price rules of the store make ${price} a price ${made < 0 ? 'below' : 'of'} 0`;
      unusable ??= { code: made < 0 ? 'price-below-0' : 'price-rounded-to-zero', message };
    }
    const { salePrice, regularPrice } = changed;
    if (changed.onSale !== true || salePrice === undefined || regularPrice === undefined) return changed;
    if (salePrice < regularPrice) return changed;
    const { salePrice: _, ...regular } = changed;
    return { ...regular, price: regularPrice, onSale: false };
  });
  return unusable ?? { ...body, variants };
}
