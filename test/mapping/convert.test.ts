import { describe, expect, it } from 'vitest';
import { checkMapping } from '../../src/mapping/compile-mapping.ts';
import { lookupTable } from '../../src/mapping/lookup-table.ts';
import { brief, mapAll, mappingOf, products, table } from './mapping-setup.ts';

const RATES = [
  ['USD', 'EUR', '0.92'],
  ['USD', 'JPY', '150'],
  ['EUR', 'KWD', '0.3331'],
  ['GBP', 'EUR', '1,18'],
  ['CHF', 'EUR', '1.05'],
  ['CHF', 'EUR', '1.06'],
];

/** The price of a row after a conversion, or why there is none. */
async function converted(
  convert: string,
  cells: readonly string[],
  rates: readonly (readonly string[])[] = RATES,
) {
  const spec = mappingOf(`
import: products
columns: { code: Code, price: Price, currency: Currency }
lookups: { rates: { path: rates.csv, match: from } }
product: { url: code, title: code, description: currency }
variants: { pricing: { price: price, rule: [{ convert: ${convert} }] } }
`);
  const lookups = new Map([['rates', lookupTable(['from', 'To', 'RATE'], rates, 'from') ?? expect.fail()]]);
  const { mapped } = await mapAll(spec, [table(['Code', 'Price', 'Currency'], [['a', ...cells]])], {
    lookups,
  });
  const [first] = mapped;
  return first?.kind === 'record' ? products(mapped)[0]?.variants[0]?.price : first && brief(first);
}

describe('convert', () => {
  it.each([
    ['{ rates: rates, from: USD, to: EUR }', '10.01', 9.21],
    ['{ rates: rates, from: EUR, to: USD }', '9.20', 10],
    ['{ rates: rates, from: usd, to: jpy }', '10.01', 1502],
    ['{ rates: rates, from: EUR, to: KWD }', '10', 3.331],
    ['{ rates: rates, from: EUR, to: EUR }', '10', 10],
  ])('by %s makes of %s', async (convert, price, expected) => {
    expect(await converted(convert, [price, ''])).toBe(expected);
  });

  it('takes the currency of each row', async () => {
    const convert = '{ rates: rates, from: "{currency}", to: EUR }';
    expect(await converted(convert, ['10', 'USD'])).toBe(9.2);
    expect(await converted(convert, ['10', 'eur'])).toBe(10);
    expect(await converted(convert, ['10', ''])).toBe('rejected a currency-missing (1 row)');
    expect(await converted(convert, ['10', 'SEK'])).toBe('rejected a rate-missing (1 row)');
  });

  it.each(['0', '-0.92', '', 'NaN', '1e-3', '0.12345678901234567890', '∞', '0,0'])(
    'takes no rate of %j, whether the mapping or a column names the currency',
    async (rate) => {
      const rates = [['USD', 'EUR', rate]];
      const named = converted('{ rates: rates, from: USD, to: EUR }', ['10', ''], rates);
      await expect(named).rejects.toThrow(`the rate from USD to EUR is '${rate}'; expected a number above 0`);
      const inColumn = await converted('{ rates: rates, from: "{currency}", to: EUR }', ['10', 'USD'], rates);
      expect(inColumn).toBe('rejected a rate-missing (1 row)');
    },
  );

  it.each([
    ['{ rates: rates, from: SEK, to: EUR }', 'rates has no rate from SEK to EUR'],
    ['{ rates: rates, from: GBP, to: EUR }', "the rate from GBP to EUR is '1,18'; expected a number above 0"],
    ['{ rates: rates, from: CHF, to: EUR }', 'rates has several rates from CHF to EUR'],
    ['{ rates: rates, from: Euro, to: USD }', "expected the code of a currency, such as EUR, found 'Euro'"],
  ])('does not begin with %s', async (convert, message) => {
    await expect(converted(convert, ['10', ''])).rejects.toThrow(message);
  });
});

it('a table of rates may be named by its path', () => {
  const spec = mappingOf(`
import: products
columns: { code: Code, price: Price }
product: { url: code, title: code }
variants: { pricing: { price: [price, { convert: { rates: data/rates.csv, from: USD, to: EUR } }] } }
`);
  expect(spec.lookups).toEqual({
    'data/rates.csv': { path: 'data/rates.csv', match: 'from', quotes: 'standard' },
  });
  expect(checkMapping(spec)).toEqual([]);
});

it('a lookup that is no table of rates is refused', async () => {
  const spec = mappingOf(`
import: products
columns: { code: Code, price: Price }
lookups: { rates: { path: rates.csv, match: currency } }
product: { url: code, title: code }
variants: { pricing: { price: [price, { convert: { rates: rates, from: USD, to: EUR } }] } }
`);
  const lookups = new Map([['rates', lookupTable(['currency', 'rate'], [], 'currency') ?? expect.fail()]]);
  await expect(mapAll(spec, [], { lookups })).rejects.toThrow('rates is no table of rates');
});
