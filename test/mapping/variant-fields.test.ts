import { describe, expect, it } from 'vitest';
import type { WeightUnit } from '../../src/mapping/product/compile-weight.ts';
import { mapAll, mappingOf, products, table } from './mapping-setup.ts';

/** The only variant that a mapping with this `variants` block makes of the cells. */
async function variant(
  variants: string,
  cells: Readonly<Record<string, string>>,
  context: { readonly weightUnit?: WeightUnit; readonly now?: number } = {},
) {
  const names = Object.keys(cells);
  const spec = mappingOf(`
import: products
columns: { ${names.map((name) => `${name}: ${name}`).join(', ')}, id: Id }
product: { url: id, title: id }
variants: { ${variants} }
`);
  const { mapped } = await mapAll(spec, [table(['Id', ...names], [['x', ...Object.values(cells)]])], context);
  const [first] = mapped;
  return first !== undefined && first.kind !== 'record'
    ? first.reason.code
    : products(mapped)[0]?.variants[0];
}

const regular = (price: number) => ({ options: [], price, onSale: false, regularPrice: price });
const onSale = (price: number, regularPrice: number) => ({
  options: [],
  price,
  onSale: true,
  regularPrice,
  salePrice: price,
});

describe('prices', () => {
  const compareAt = 'pricing: { price: price, was: was }';
  const sale = 'pricing: { regular: regular, sale: sale, from: from, to: to }';
  const flagged = 'pricing: { regular: regular, sale: sale, when: { flag: yes } }';
  const discount = 'pricing: { price: price, plus: plus, percent: percent, amount: amount }';

  it.each([
    ['a compare-at price above is a sale', compareAt, { price: '8', was: '10' }, onSale(8, 10)],
    ['a compare-at price that is not above is none', compareAt, { price: '10', was: '10' }, regular(10)],
    ['a blank compare-at price is none', compareAt, { price: '10', was: '' }, regular(10)],
    ['a price of 0 is a price', compareAt, { price: '0', was: '' }, regular(0)],
    ['a blank price beside another rejects', compareAt, { price: '', was: '1' }, 'price-missing'],
    ['no price at all leaves the product out', compareAt, { price: '', was: '' }, 'no-price'],
    ['a negative price rejects', compareAt, { price: '-1', was: '' }, 'price-negative'],
    ['a price that is none rejects', compareAt, { price: 'free', was: '' }, 'not-a-number'],
    ['a compare-at price that is none rejects', compareAt, { price: '1', was: 'x' }, 'not-a-number'],
    [
      'a sale price of 0 is how formats say none',
      flagged,
      { regular: '9', sale: '0.00', flag: 'Yes' },
      regular(9),
    ],
    ['a sale price that is not below is none', flagged, { regular: '9', sale: '9', flag: 'Yes' }, regular(9)],
    ['a sale counts when its flag says so', flagged, { regular: '9', sale: '7', flag: 'Yes' }, onSale(7, 9)],
    ['and not otherwise', flagged, { regular: '9', sale: '7', flag: 'No' }, regular(9)],
    [
      'a surcharge adds exactly',
      discount,
      { price: '0.1', plus: '0.2', percent: '', amount: '' },
      regular(0.3),
    ],
    ['a discount in percent', discount, { price: '20', plus: '', percent: '15', amount: '' }, onSale(17, 20)],
    [
      'rounds half up to cents',
      discount,
      { price: '1.15', plus: '', percent: '10', amount: '' },
      onSale(1.04, 1.15),
    ],
    [
      'or as finely as the price',
      discount,
      { price: '1.125', plus: '', percent: '50', amount: '' },
      onSale(0.563, 1.125),
    ],
    ['a discount in money', discount, { price: '20', plus: '1', percent: '', amount: '5' }, onSale(16, 21)],
    ['no discount is none', discount, { price: '20', plus: '', percent: '0.0', amount: '' }, regular(20)],
    [
      'a discount greater than the price rejects',
      discount,
      { price: '20', plus: '', percent: '', amount: '21' },
      'discount-out-of-range',
    ],
    [
      'discounts that are greater together reject',
      discount,
      { price: '10', plus: '', percent: '50', amount: '8' },
      'discount-out-of-range',
    ],
    [
      'a surcharge below the price rejects',
      discount,
      { price: '1', plus: '-2', percent: '', amount: '' },
      'price-negative',
    ],
    [
      'a sale price that is none rejects, flag or not',
      flagged,
      { regular: '9', sale: 'x', flag: 'No' },
      'not-a-number',
    ],
    [
      'a date that is none rejects',
      sale,
      { regular: '9', sale: '7', from: '31.02.2026', to: '' },
      'not-a-date',
    ],
  ])('%s', async (_name, variants, cells, expected) => {
    expect(await variant(variants, cells)).toEqual(expected);
  });

  it.each([
    ['2026-03-01', '', '2026-03-01T00:00:00Z', true],
    ['2026-03-01', '', '2026-02-28T23:59:59Z', false],
    ['', '2026-03-01', '2026-03-01T23:59:59Z', true],
    ['', '2026-03-01', '2026-03-02T00:00:00Z', false],
    ['', '2026-03-01T10:00:00Z', '2026-03-01T10:00:00Z', false],
    ['2026-03-01T00:00+02:00', '', '2026-02-28T22:00:00Z', true],
  ])('a sale from %s to %s counts at %s: %s', async (from, to, now, counts) => {
    const cells = { regular: '9', sale: '7', from, to };
    expect(await variant(sale, cells, { now: Date.parse(now) })).toEqual(counts ? onSale(7, 9) : regular(9));
  });

  it.each([
    ['a date in the shop zone', 'Europe/Rome', '2026-07-01 00:00', '2026-06-30T22:00:00Z', true],
    ['the minute before', 'Europe/Rome', '2026-07-01 00:00', '2026-06-30T21:59:59Z', false],
    ['after clocks went forward', 'America/New_York', '2026-03-08 03:30', '2026-03-08T07:30:00Z', true],
  ])('%s', async (_name, timezone, from, now, counts) => {
    const variants = `pricing: { regular: regular, sale: sale, from: [from, { date: { formats: ['yyyy-MM-dd HH:mm'], timezone: ${timezone} } }] }`;
    const cells = { regular: '9', sale: '7', from };
    expect(await variant(variants, cells, { now: Date.parse(now) })).toEqual(
      counts ? onSale(7, 9) : regular(9),
    );
  });

  it.each([
    ['Europe/Berlin', '2026-03-29', '2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z'],
    ['Europe/Berlin', '2026-10-25', '2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z'],
    // Their clocks change at midnight: the first day begins at 1:00, of the last one 23:00 to 24:00 occurs twice.
    ['America/Havana', '2026-03-08', '2026-03-08T05:00:00Z', '2026-03-09T04:00:00Z'],
    ['Africa/Cairo', '2026-10-29', '2026-10-28T21:00:00Z', '2026-10-29T22:00:00Z'],
  ])('in %s, a sale on %s lasts from %s to %s', async (timezone, day, from, to) => {
    const date = `{ date: { timezone: ${timezone} } }`;
    const variants = `pricing: { regular: regular, sale: sale, from: [from, ${date}], to: [to, ${date}] }`;
    const at = (now: number) => variant(variants, { regular: '9', sale: '7', from: day, to: day }, { now });
    expect(await at(Date.parse(from) - 1)).toEqual(regular(9));
    expect(await at(Date.parse(from))).toEqual(onSale(7, 9));
    expect(await at(Date.parse(to) - 1)).toEqual(onSale(7, 9));
    expect(await at(Date.parse(to))).toEqual(regular(9));
  });

  it.each([
    ['13.01.2026 15:38', '2026-01-13T15:38:00Z'],
    ['1/13/26', '2026-01-13T00:00:00Z'],
    ['1/13/26, 5:40 PM', '2026-01-13T17:40:00Z'],
    ['1/13/26, 12:05 AM', '2026-01-13T00:05:00Z'],
    ['2026-01-13 0:00:00', '2026-01-13T00:00:00Z'],
  ])('the date %s is %s', async (from, moment) => {
    const variants = `pricing: { regular: regular, sale: sale, from: [from, { date: { formats: [dd.MM.yyyy HH:mm, M/d/yy, 'M/d/yy, h:mm a', 'yyyy-MM-dd H:mm:ss'] } }] }`;
    const at = Date.parse(moment);
    const cells = { regular: '9', sale: '7', from };
    expect(await variant(variants, cells, { now: at })).toEqual(onSale(7, 9));
    expect(await variant(variants, cells, { now: at - 1 })).toEqual(regular(9));
  });

  it('of a period in one cell', async () => {
    const variants = 'pricing: { regular: regular, sale: sale, during: [period, { split: / }, date] }';
    const cells = { regular: '9', sale: '7', period: '2026-01-01T00:00-0800 / 2026-02-01T00:00-0800' };
    expect(await variant(variants, cells, { now: Date.parse('2026-01-01T08:00:00Z') })).toEqual(onSale(7, 9));
    expect(await variant(variants, cells, { now: Date.parse('2026-02-01T08:00:00Z') })).toEqual(regular(9));
  });
});

describe('weights', () => {
  it.each<[string, string, WeightUnit, unknown]>([
    ['250', 'g', 'kg', 0.25],
    ['1360.77711', 'g', 'lb', 3],
    ['2', 'lb', 'kg', 0.907185],
    ['16', 'oz', 'lb', 1],
    ['1.5', 'store', 'oz', 1.5],
    ['0.5 kg', 'cell', 'g', 500],
    ['1,500', 'g', 'kg', 'number-ambiguous'],
    ['1.2 lb.', 'cell', 'kg', 0.544311],
    ['3', 'cell', 'kg', 3],
    ['3 stone', 'cell', 'kg', 'weight-unit-unknown'],
    ['heavy', 'cell', 'kg', 'weight-unreadable'],
    ['-1', 'g', 'kg', 'weight-negative'],
    ['', 'g', 'kg', undefined],
  ])('%s %s in a store that weighs in %s: %s', async (weight, unit, weightUnit, expected) => {
    const found = await variant(
      `pricing: { price: 1 }, weight: { value: weight, unit: ${unit} }`,
      { weight },
      { weightUnit },
    );
    expect(typeof found === 'object' ? found.weight : found).toEqual(expected);
  });

  it.each([
    ['0,8 kg', '{ decimal: "," }', 0.8],
    ['0.8 kg', '{ decimal: "," }', 'not-a-number'],
    ['1.250 g', '{ decimal: "," }', 'number-ambiguous'],
    ['1.250 g', '{ decimal: ",", thousands: "." }', 1.25],
    ['0.8 kg', '{ decimal: auto }', 0.8],
    ['0,8 kg', '{ decimal: auto }', 0.8],
    ['1,250 g', '{ decimal: auto }', 'number-ambiguous'],
    ['heavy', '{ decimal: auto }', 'weight-unreadable'],
  ])('%s in cells with units and number: %s: %s', async (weight, number, expected) => {
    const variants = `pricing: { price: 1 }, weight: { value: weight, unit: cell, number: ${number} }`;
    const found = await variant(variants, { weight });
    expect(typeof found === 'object' ? found.weight : found).toEqual(expected);
  });

  it('with a decimal comma are rejected with what a mapping says where', async () => {
    const reasons = async (weight: string) => {
      const spec = mappingOf(`
import: products
columns: { id: Id, weight: Weight }
product: { url: id, title: id }
variants: { pricing: { price: 1 }, weight: ${weight} }
`);
      const { mapped } = await mapAll(spec, [table(['Id', 'Weight'], [['x', '1,5 kg']])]);
      return mapped.map((one) => (one.kind === 'rejected' ? one.reason.message : one.kind));
    };
    expect(await reasons('{ value: weight, unit: cell }')).toEqual([
      expect.stringContaining('the mapping says so: weight: { ..., unit: cell, number: { decimal: "," } }'),
    ]);
    expect(await reasons('{ value: weight, unit: cell, number: { decimal: "," } }')).toEqual(['record']);
    const step = '{ value: [weight, { replace: " kg" }, number], unit: kg }';
    expect(await reasons(step)).toEqual([
      expect.stringContaining('the mapping says so: { number: { decimal: "," } }'),
    ]);
  });

  it('take their unit from another column', async () => {
    const variants = 'pricing: { price: 1 }, weight: { value: weight, unit: unit }';
    expect(await variant(variants, { weight: '2', unit: 'LBS' })).toMatchObject({ weight: 0.907185 });
    expect(await variant(variants, { weight: '2', unit: '' })).toBe('weight-unit-missing');
  });
});
