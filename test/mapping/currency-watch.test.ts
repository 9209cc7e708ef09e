import { describe, expect, it } from 'vitest';
import { joinOpeners } from '../../src/mapping/compile-mapping.ts';
import { CurrencyWatch, type KnownCurrency } from '../../src/mapping/currency-watch.ts';
import { lookupTable } from '../../src/mapping/lookup-table.ts';
import type { CellCurrencies } from '../../src/model/row.ts';
import { currenciesNamed } from '../../src/model/row.ts';
import {
  brief,
  formattedTable,
  mapAll,
  mappingOf,
  products,
  shippedMapping,
  table,
} from './mapping-setup.ts';

const STRIP = mappingOf(`
import: products
columns: { key: Key, price: Price, currency: Currency }
product: { url: key, title: key }
variants: { pricing: { price: [price, { number: { currency: strip } }], currency: currency } }`);

async function mapPrices(
  known: KnownCurrency,
  rows: readonly (readonly [price: string, currency?: string])[],
) {
  const currencies = new CurrencyWatch(known);
  const cells = rows.map(([price, currency = ''], index) => [`k${index}`, price, currency]);
  const { mapped } = await mapAll(STRIP, [table(['Key', 'Price', 'Currency'], cells)], { currencies });
  return { mapped, currencies, prices: products(mapped).map(({ variants }) => variants[0]?.price) };
}

describe('a code or sign of a currency', () => {
  it.each([
    ['$', 'CAD', true],
    ['$', 'USD', true],
    ['$', 'EUR', false],
    ['R$', 'BRL', true],
    ['R$', 'USD', false],
    ['C$', 'USD', false],
    ['US$', 'CAD', false],
    ['kr', 'NOK', true],
    ['kr.', 'DKK', true],
    ['¥', 'CNY', true],
    ['£', 'GBP', true],
    ['zł', 'PLN', true],
    ['RUR', 'RUB', true],
    ['eur', 'EUR', true],
  ])('%s may mean %s: %s', (word, code, may) => {
    expect(currenciesNamed(word)?.includes(code)).toBe(may);
  });

  it('is nothing else', () => {
    expect(['off', 'x', 'top', '¢'].map(currenciesNamed)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });
});

describe('prices of a store that says what it sells in', () => {
  it.each([
    [['12.00', 'EUR'], 'EUR'],
    [['$12.00'], 'CAD'],
    [['$12.00', 'CAD'], 'CAD'],
    [['12.00 kr'], 'SEK'],
    [['12.00'], 'EUR'],
  ] as const)('are sent if %s fits %s', async (row, store) => {
    expect((await mapPrices({ store }, [row])).prices).toEqual([12]);
  });

  it.each([
    [['12.00 USD'], 'EUR', 'Price'],
    [['12.00', 'USD'], 'EUR', 'Currency'],
    [['$12.00', 'CAD'], 'USD', 'Currency'],
    [['C$12.00'], 'USD', 'Price'],
    [['12.00', 'points'], 'EUR', 'Currency'],
  ] as const)('are rejected if %s is not %s', async (row, store, column) => {
    const { mapped } = await mapPrices({ store }, [row]);
    expect(mapped[0]).toMatchObject({
      kind: 'rejected',
      reason: { code: 'currency-differs', field: 'variants.price', column },
    });
  });

  it('may say another currency in the mapping than what a sign means most often', async () => {
    const spec = mappingOf(`
import: products
columns: { key: Key, price: Price }
product: { url: key, title: key }
variants: { pricing: { price: [price, { number: { currency: CAD } }] } }`);
    const { mapped } = await mapAll(spec, [
      table(
        ['Key', 'Price'],
        [
          ['a', '$5'],
          ['b', '€5'],
        ],
      ),
    ]);
    expect(mapped.map(brief)).toEqual(['record a (1 row)', 'rejected b currency-differs (1 row)']);
  });
});

describe('prices that the mapping converts', () => {
  it('are compared with what they are converted from', async () => {
    const spec = mappingOf(`
import: products
columns: { key: Key, price: Price }
lookups: { rates: { path: r.csv, match: from } }
product: { url: key, title: key }
variants: { pricing: { price: [price, { number: { currency: strip } }], rule: [{ convert: { rates: rates, from: USD, to: EUR } }] } }`);
    const rates = lookupTable(['from', 'to', 'rate'], [['USD', 'EUR', '0.5']], 'from') ?? expect.fail();
    const { mapped } = await mapAll(
      spec,
      [
        table(
          ['Key', 'Price'],
          [
            ['a', '$10'],
            ['b', '10 GBP'],
            ['c', '10 EUR'],
          ],
        ),
      ],
      { currencies: new CurrencyWatch({ store: 'EUR' }), lookups: new Map([['rates', rates]]) },
    );
    expect(mapped.map((one) => one.kind)).toEqual(['record', 'rejected', 'rejected']);
    expect(products(mapped)[0]?.variants[0]?.price).toBe(5);
  });
});

describe('prices in cells whose format names a currency', () => {
  const HEADER = ['Key', 'Price', 'Weight', 'Sale'];
  const PLAIN = 'pricing: { regular: price, sale: sale }';
  const specOf = (variants: string, more = '') =>
    mappingOf(`
import: products
columns: { key: Key, price: Price, weight: Weight, sale: Sale }
product: { url: key, title: key }
${more}
variants: { sku: weight, ${variants} }`);
  const mapOne = async (variants: string, currencies: CellCurrencies, known: KnownCurrency, more = '') => {
    const rates = lookupTable(['from', 'to', 'rate'], [['USD', 'EUR', '0.5']], 'from') ?? expect.fail();
    const watch = new CurrencyWatch(known);
    const tables = [formattedTable(HEADER, [[['a', '10', '1', '8'], currencies]])];
    const lookups = new Map(more === '' ? [] : [['rates', rates]]);
    const [mapped] = (await mapAll(specOf(variants, more), tables, { currencies: watch, lookups })).mapped;
    return { mapped: mapped ?? expect.fail(), watch };
  };

  it.each([
    [{ 1: '€' }, 'EUR'],
    [{ 1: '$', 3: 'CAD' }, 'CAD'],
    [{ 2: '$' }, 'EUR'],
    [{ 0: '$' }, 'EUR'],
    [{}, 'EUR'],
  ])('are sent if %j fits %s', async (currencies, store) => {
    expect((await mapOne(PLAIN, currencies, { store })).mapped.kind).toBe('record');
  });

  it.each([
    [PLAIN, { 1: '$' }, 'Price'],
    [PLAIN, { 1: '€', 3: 'USD' }, 'Sale'],
    [PLAIN, { 1: 'Talers' }, 'Price'],
    [PLAIN, { 1: '$ EUR' }, 'Price'],
    ['pricing: { price: { first: [price, sale] } }', { 1: '$' }, 'Price'],
    ['pricing: { price: [price, { number: { currency: strip, otherwise: blank } }] }', { 1: '$' }, 'Price'],
    ['pricing: { price: { sum: [price, sale] } }', { 3: '$' }, 'Sale'],
    ['pricing: { price: price, plus: sale }', { 3: '$' }, 'Sale'],
  ])('are rejected in a store that sells in EUR: %s %j', async (variants, currencies, column) => {
    const { mapped } = await mapOne(variants, currencies, { store: 'EUR' });
    expect(mapped).toMatchObject({
      ...{ kind: 'rejected', reason: { code: 'currency-differs', field: 'variants.price', line: 2, column } },
    });
  });

  it('are rejected where the mapping reads or converts another one, and converted where it fits', async () => {
    const readAs = 'pricing: { price: [price, { number: { currency: EUR } }] }';
    expect((await mapOne(readAs, { 1: '$' }, {})).mapped).toMatchObject({
      reason: { message: "the price is in '$', and the mapping reads it as EUR" },
    });
    const rates = 'lookups: { rates: { path: r.csv, match: from } }';
    const converted = [
      'pricing: { price: [price, number, { convert: { rates: rates, from: USD, to: EUR } }] }',
      'pricing: { price: price, rule: [{ convert: { rates: rates, from: USD, to: EUR } }] }',
    ];
    for (const variants of converted) {
      const { mapped } = await mapOne(variants, { 1: '$' }, { store: 'EUR' }, rates);
      expect(products([mapped])[0]?.variants[0]?.price).toBe(5);
      expect((await mapOne(variants, { 1: '€' }, { store: 'EUR' }, rates)).mapped.kind).toBe('rejected');
    }
  });

  it('are in one currency, which the next run expects, where the store says none', async () => {
    const { mapped, watch } = await mapOne(PLAIN, { 1: '€', 3: 'USD' }, {});
    expect([mapped.kind, watch.isMixed, watch.words]).toEqual(['record', true, ['EUR', 'USD']]);
    expect((await mapOne(PLAIN, { 1: '€' }, {})).watch.found).toBe('EUR');
    expect((await mapOne(PLAIN, { 1: '$' }, { earlier: 'EUR' })).mapped.kind).toBe('rejected');
  });

  const GROUPED = `
import: products
columns: { key: Key, title: Title, size: Size, price: Price }
product: { url: key, title: title }
options: { columns: { Size: size } }
variants: { inherit: [price], pricing: { price: price } }`;
  it.each([
    ['that stands anywhere', 'anywhere', [undefined, { 3: '$' }], ['4', '5'], [3]],
    ['that is adjacent', 'adjacent', [undefined, { 3: '$' }], ['4', '5'], [3]],
    ['that has the price of the head', 'adjacent', [{ 3: '$' }, undefined], ['4', ''], [2, 3]],
    ['that has its own price', 'adjacent', [{ 3: '$' }, undefined], ['4', '5'], [2]],
  ] as const)('are rejected in a row %s', async (_, rows, [first, second], [price, other], lines) => {
    const head = [['a', 'A', 'M', price], first] as const;
    const tables = [
      formattedTable(['Key', 'Title', 'Size', 'Price'], [head, [['a', '', 'S', other], second]]),
    ];
    const currencies = new CurrencyWatch({ store: 'EUR' });
    const spec = mappingOf(`${GROUPED}\ngroup: { by: key, rows: ${rows}, head: { title: present } }`);
    const [mapped] = (await mapAll(spec, tables, { currencies })).mapped;
    if (mapped?.kind !== 'rejected') throw new Error('the product is not rejected');
    expect([mapped.reason, ...(mapped.reason.also ?? [])].map(({ code, line }) => [code, line])).toEqual(
      lines.map((line) => ['currency-differs', line]),
    );
  });
});

describe('prices of another table whose cells have formats that name a currency', () => {
  const HEADER = ['Key', 'Price', 'Qty'];
  const rows: readonly (readonly [readonly string[], CellCurrencies | undefined])[] = [
    [['a', '5', '1'], { 1: '€' }],
    [['b', '6', '1'], { 1: '$' }],
    [['c', '7', '1'], undefined],
    [['d', '8', '1'], { 2: '$' }],
    [['c', '7', '1'], { 1: '$' }],
  ];
  const kinds = async (lookup: string, pricing: string) => {
    const spec = mappingOf(`
import: products
columns: { key: Key }
lookups: { list: { path: list.xlsx, match: Key${lookup} } }
product: { url: key, title: key }
variants: { pricing: ${pricing} }`);
    const joined = joinOpeners(spec, {}).get('list')?.open('list.xlsx', HEADER);
    for (const [index, [cells, currencies]] of rows.entries())
      joined?.add({ cells, currencies, line: index + 2 }, HEADER.length);
    const cells = rows.map((row) => row[0]);
    const looked =
      lookupTable(
        HEADER,
        cells,
        'Key',
        rows.map((row) => row[1]),
      ) ?? expect.fail();
    const { mapped } = await mapAll(spec, [table(['Key'], [['a'], ['b'], ['c'], ['d']])], {
      currencies: new CurrencyWatch({ store: 'EUR' }),
      lookups: new Map([['list', looked]]),
      joins: new Map(joined === undefined ? [] : [['list', joined]]),
    });
    return mapped.map((one) =>
      one.kind === 'record' ? one.kind : one.kind === 'rejected' && one.reason.code,
    );
  };
  const differs = 'currency-differs';

  it.each([
    ['{ price: Price }', ['record', differs, differs, 'record']],
    ['{ price: { first: Price } }', ['record', differs, 'record', 'record']],
    ['{ price: { sum: Price } }', ['record', differs, differs, 'record']],
    ['{ price: { max: Price }, qty: Qty }', ['record', differs, differs, 'record']],
  ])('are refused where they are joined as %s', async (columns, expected) => {
    const join = `, join: { on: key, columns: ${columns} }`;
    expect(await kinds(join, '{ price: list.price }')).toEqual(expected);
  });

  it('are refused where they are looked up, or read as another currency', async () => {
    const price = '{ table: list, column: Price }';
    const first = ['record', differs, 'record', 'record'];
    expect(await kinds('', `{ price: [key, ${price}] }`)).toEqual(first);
    expect(await kinds('', `{ price: [key, ${price}, { number: { currency: EUR } }] }`)).toEqual(first);
    const usd = await kinds('', `{ price: [key, ${price}, { number: { currency: USD } }] }`);
    expect(usd).toEqual([differs, differs, 'record', 'record']);
  });
});

describe('prices of a store that does not say it', () => {
  it('are in one currency, which the next run expects', async () => {
    const { currencies, prices } = await mapPrices({}, [['$1'], ['2'], ['3 CAD'], ['4', '$']]);
    expect(prices).toEqual([1, 2, 3, 4]);
    expect([currencies.isMixed, currencies.found]).toEqual([false, 'CAD']);
    const { mapped } = await mapPrices({ earlier: 'CAD' }, [['5 CAD'], ['6 USD'], ['7'], ['$8']]);
    expect(mapped.map(({ kind }) => kind)).toEqual(['record', 'rejected', 'record', 'record']);
    expect(mapped[1]).toMatchObject({ reason: { message: expect.stringContaining('currency:') } });
  });

  it('are refused in a second reading if they are in several', async () => {
    const { currencies } = await mapPrices({}, [['1 USD'], ['2 EUR'], ['3 TRY']]);
    expect([currencies.isMixed, currencies.words]).toEqual([true, ['USD', 'EUR', 'TRY']]);
    expect([currencies.refuseAll(), currencies.refuseAll()]).toEqual([true, false]);
    expect(() => currencies.check('USD')).toThrow('the source has prices in USD, EUR, TRY');
  });

  it('name none if those of earlier runs named none', async () => {
    const none = await mapPrices({}, [['1'], ['2']]);
    expect(none.currencies.found).toBe('');
    const { mapped, currencies } = await mapPrices({ earlier: '' }, [['1'], ['2 USD']]);
    expect(mapped.map(({ kind }) => kind)).toEqual(['record', 'rejected']);
    expect(currencies.found).toBe('');
    expect(new CurrencyWatch({ earlier: 'EUR' }).found).toBe('EUR');
    expect(new CurrencyWatch().found).toBeUndefined();
  });
});

describe('shipped mappings', () => {
  it('reject what is not in the currency of the store, wherever the file says it', async () => {
    const currencies = () => new CurrencyWatch({ store: 'CAD' });
    const map = async (name: string, header: readonly string[], rows: readonly (readonly string[])[]) =>
      (await mapAll(shippedMapping(name), [table(header, rows)], { currencies: currencies() })).mapped.map(
        brief,
      );
    expect(
      await map(
        'google-merchant-products',
        ['id', 'title', 'price', 'sale_price'],
        [
          ['1', 'Cable', '1.80 CAD', ''],
          ['2', 'Inverter', '2358.00 EUR', ''],
          ['3', 'Panel', '99.00', '90.00 TRY'],
        ],
      ),
    ).toEqual([
      'record 1 (1 row)',
      'rejected 2 currency-differs (1 row)',
      'rejected 3 currency-differs (1 row)',
    ]);
    expect(
      await map(
        'etsy-products',
        ['TITLE', 'PRICE', 'CURRENCY_CODE'],
        [
          ['Mug', '5.00', 'CAD'],
          ['Jug', '6.00', 'USD'],
        ],
      ),
    ).toEqual(['record mug (1 row)', 'rejected jug currency-differs (1 row)']);
    const square = ['Item Name', 'Variation Name', 'Category'];
    expect(
      await map('square-products', [...square, 'Price (CAD)'], [['Mug', 'Regular', 'A', '$5.00']]),
    ).toEqual(['record mug (1 row)']);
    expect(
      await map('square-products', [...square, 'Price (USD)'], [['Mug', 'Regular', 'A', '$5.00']]),
    ).toEqual(['rejected mug currency-differs (1 row)']);
  });
});
