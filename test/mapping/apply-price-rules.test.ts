import { describe, expect, it } from 'vitest';
import { applyPriceRules, priceRulesSchema } from '../../src/mapping/price-rules.ts';

const variant = (regularPrice: number, salePrice?: number) => ({
  options: [],
  price: salePrice ?? regularPrice,
  onSale: salePrice !== undefined,
  regularPrice,
  ...(salePrice !== undefined && { salePrice }),
});

const priced = (rules: unknown, ...variants: ReturnType<typeof variant>[]) =>
  pricedIn('EUR', rules, ...variants);

const pricedIn = (currency: string | undefined, rules: unknown, ...variants: ReturnType<typeof variant>[]) =>
  applyPriceRules({ variants }, priceRulesSchema.parse(rules), currency);

describe('the price rules of a store', () => {
  it('are applied in order and exactly to all prices of a variant', () => {
    expect(priced([{ times: 1.1 }, { plus: 0.05 }], variant(0.1), variant(20, 10))).toEqual({
      variants: [variant(0.16), variant(22.05, 11.05)],
    });
    expect(priced([{ round: { to: 1, ending: 0.99 } }], variant(12.4))).toEqual({
      variants: [variant(11.99)],
    });
    expect(priced([], variant(12.4))).toEqual({ variants: [variant(12.4)] });
  });

  it.each([
    ['EUR', 9.99, 11.69],
    [undefined, 9.99, 11.69],
    ['JPY', 999, 1169],
    ['KWD', 9.99, 11.688],
    ['EUR', 9.995, 11.694],
  ])('round to the digits of %s: %s', (currency, price, rounded) => {
    expect(pricedIn(currency, [{ times: 1.17 }], variant(price))).toEqual({ variants: [variant(rounded)] });
    const asWritten = pricedIn(currency, [{ times: 1.17 }, { round: 0.125 }], variant(0.1));
    expect(asWritten).toEqual({ variants: [variant(0.125)] });
  });

  it('leave a price of 0, and end a sale that is none any more', () => {
    expect(priced([{ plus: 5 }], variant(0))).toEqual({ variants: [variant(0)] });
    expect(priced([{ round: 10 }], variant(12, 11))).toEqual({ variants: [variant(10)] });
  });

  it('refuse a price below 0, and 0 for what was not free', () => {
    expect(priced([{ plus: -5 }], variant(3))).toMatchObject({ code: 'price-below-0' });
    const [first, second] = [variant(1), variant(2)];
    expect(priced([{ plus: -5 }], first, second)).toMatchObject({
      message: 'the price rules of the store make 1 a price below 0',
    });
    expect(priced([{ round: 1 }], variant(0.4))).toMatchObject({ code: 'price-rounded-to-zero' });
    expect(priced([{ round: 1 }], variant(1, 0.4))).toMatchObject({ code: 'price-rounded-to-zero' });
  });
});
