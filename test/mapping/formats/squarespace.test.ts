import { describe, expect, test } from 'vitest';
import { csvText, mapText } from './map-text.ts';

const header = [
  'Product ID [Non Editable]',
  'Variant ID [Non Editable]',
  'Product Type [Non Editable]',
  'Product URL',
  'Title',
  'SKU',
  'Option Name 1',
  'Option Value 1',
  'Option Name 2',
  'Option Value 2',
  'Price',
  'Sale Price',
  'On Sale',
  'Stock',
  'Visible',
  'Hosted Image URLs',
] as const;
type Row = Partial<Record<(typeof header)[number], string | number>>;

const product = (more: Row = {}): Row => ({
  'Product ID [Non Editable]': 'p1',
  'Product Type [Non Editable]': 'PHYSICAL',
  'Product URL': 'oak-stool',
  Title: 'Oak stool',
  Visible: 'Yes',
  ...variant(),
  ...more,
});
const variant = (more: Row = {}): Row => ({
  Price: '80.00',
  'Sale Price': '0.00',
  'On Sale': 'No',
  Stock: 'Unlimited',
  ...more,
});
const map = (rows: readonly Row[]) => mapText('squarespace-products', csvText(header, rows));
const size = (value: string): Row => ({ 'Option Name 1': 'Size', 'Option Value 1': value });

describe('squarespace-products', () => {
  test('does not take a row with a cell before its first for a product of its own', async () => {
    const { products, rejected } = await mapText(
      'squarespace-products',
      [
        'Product ID [Non Editable],Product Type [Non Editable],Product URL,Title,Option Name 1,Option Value 1,Price,Visible,Tags',
        'a1,PHYSICAL,stool,Stool,Height,45 cm,80.00,Yes,',
        'an extra note,,,,,Height,65 cm,95.00,',
        'a2,PHYSICAL,bench,Bench,,,90.00,Yes,',
        'a3,PHYSICAL,table,Table,,,90.00,Yes,',
      ].join('\n'),
    );
    expect(products.map(({ key }) => key)).toEqual(['bench', 'table']);
    expect(rejected.map(({ key, reason }) => [key, reason.code])).toEqual([
      ['stool', 'neighbour-misaligned'],
      [null, 'cell-unexpected'],
    ]);
  });

  test('reads files made by hand that have no ids', async () => {
    const { products, rows } = await map([
      product({ 'Product ID [Non Editable]': '', ...size('S') }),
      variant(size('L')),
      product({ 'Product ID [Non Editable]': '', 'Product URL': 'elm-stool', Title: 'Elm stool' }),
    ]);

    expect(products.map(({ key, rows: own }) => [key, own])).toEqual([
      ['oak-stool', 2],
      ['elm-stool', 1],
    ]);
    expect(rows).toBe(3);
  });

  test('rejects a variant that stands before any product', async () => {
    const { products, rejected, rows } = await map([variant(size('S')), product()]);

    expect(products).toHaveLength(1);
    expect(rejected.map(({ key }) => key)).toEqual([null]);
    expect(rows).toBe(2);
  });

  test('rejects a product when a row after it has other options: its own first row may be lost', async () => {
    const { products, rejected } = await map([
      product(size('S')),
      variant({ 'Option Name 1': 'Colour', 'Option Value 1': 'Red' }),
    ]);

    expect(products).toEqual([]);
    expect(rejected.map(({ key, rows }) => [key, rows])).toEqual([['oak-stool', 2]]);
  });

  test('rejects a product that offers the same combination twice', async () => {
    const { rejected } = await map([product(size('S')), variant(size('S'))]);

    expect(rejected.map(({ key }) => key)).toEqual(['oak-stool']);
  });

  test('ignores a sale price that is not switched on, or that is none', async () => {
    const { products } = await map([
      product({ ...size('S'), 'Sale Price': '60.00', 'On Sale': 'No' }),
      variant({ ...size('M'), 'Sale Price': '0.00', 'On Sale': 'Yes' }),
      variant({ ...size('L'), 'Sale Price': '80.00', 'On Sale': 'Yes' }),
      variant({ ...size('XL'), 'Sale Price': '60.00', 'On Sale': 'Yes' }),
    ]);

    expect(products[0]?.body.variants.map(({ price, onSale }) => [price, onSale])).toEqual([
      [80, false],
      [80, false],
      [80, false],
      [60, true],
    ]);
  });

  test.each([
    ['PHYSICAL', 'physical'],
    ['SERVICE', 'service'],
    ['DIGITAL', 'digital'],
  ])('imports %s as %s', async (type, expected) => {
    const { products } = await map([product({ 'Product Type [Non Editable]': type })]);

    expect(products[0]?.body.type).toBe(expected);
  });

  test('rejects a type it does not know rather than guess', async () => {
    const { rejected } = await map([product({ 'Product Type [Non Editable]': 'HOLOGRAM' })]);

    expect(rejected[0]?.reason).toMatchObject({ field: 'type', line: 2 });
  });

  test('leaves gift cards out with all their amounts', async () => {
    const { products, skipped, rows } = await map([
      product({ 'Product Type [Non Editable]': 'GIFT_CARD', ...size('25') }),
      variant(size('50')),
      product({ 'Product ID [Non Editable]': 'p2', 'Product URL': 'elm' }),
    ]);

    expect(products.map(({ key }) => key)).toEqual(['elm']);
    expect(skipped.map(({ key, rows: own }) => [key, own])).toEqual([['oak-stool', 2]]);
    expect(rows).toBe(3);
  });

  test('rejects everything up to the next product after a row that is too long', async () => {
    const text = csvText(header, [
      product(size('S')),
      variant(size('L')),
      product({ 'Product ID [Non Editable]': 'p2', 'Product URL': 'elm', Title: 'Elm' }),
    ]).split('\n');
    text[2] = `${text[2]},x,y`;

    const { products, rejected, rows } = await mapText('squarespace-products', text.join('\n'));

    expect(products.map(({ key }) => key)).toEqual(['elm']);
    expect(rejected.reduce((sum, { rows: own }) => sum + own, 0)).toBe(2);
    expect(rows).toBe(3);
  });

  test('handles 200 variants in two options', async () => {
    const rows = Array.from({ length: 200 }, (_, index) => ({
      ...size(`S${index % 20}`),
      'Option Name 2': 'Colour',
      'Option Value 2': `C${Math.floor(index / 20)}`,
    }));
    const { products } = await map([product(rows[0]), ...rows.slice(1).map((row) => variant(row))]);

    expect(products[0]?.body.variants).toHaveLength(200);
    expect(products[0]?.body.options.map(({ values }) => values.length)).toEqual([20, 10]);
  });

  test('splits images at any white space', async () => {
    const { products } = await map([
      product({
        'Hosted Image URLs':
          'https://img.example/1.jpg\nhttps://img.example/2.jpg  https://img.example/1.jpg',
      }),
    ]);

    expect(products[0]?.body.images).toEqual(['https://img.example/1.jpg', 'https://img.example/2.jpg']);
  });
});
