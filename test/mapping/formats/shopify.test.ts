import { describe, expect, test } from 'vitest';
import { csvText, mapText } from './map-text.ts';

const header = [
  'Handle',
  'Title',
  'Body (HTML)',
  'Published',
  'Option1 Name',
  'Option1 Value',
  'Option2 Name',
  'Option2 Value',
  'Variant SKU',
  'Variant Grams',
  'Variant Inventory Tracker',
  'Variant Inventory Qty',
  'Variant Price',
  'Variant Compare At Price',
  'Variant Requires Shipping',
  'Image Src',
  'Image Position',
  'Status',
] as const;
type Row = Partial<Record<(typeof header)[number], string | number>>;

const product = (handle: string, more: Row = {}): Row => ({
  Handle: handle,
  Title: `The ${handle}`,
  Published: 'true',
  'Option1 Name': 'Size',
  'Option1 Value': 'S',
  'Variant Price': '20.00',
  'Variant Requires Shipping': 'true',
  Status: 'active',
  ...more,
});
const variant = (handle: string, value: string, more: Row = {}): Row => ({
  Handle: handle,
  'Option1 Value': value,
  'Variant Price': '20.00',
  'Variant Requires Shipping': 'true',
  ...more,
});
const image = (handle: string, position: number): Row => ({
  Handle: handle,
  'Image Src': `https://img.example/${position}.jpg`,
  'Image Position': position,
});
const map = (rows: readonly Row[]) => mapText('shopify-products', csvText(header, rows));

describe('shopify-products', () => {
  test('handles 200 variants in two options', async () => {
    const rows = Array.from({ length: 200 }, (_, index) => ({
      'Option1 Value': `S${index % 20}`,
      'Option2 Value': `C${Math.floor(index / 20)}`,
      'Variant SKU': `T-${index}`,
    }));
    const { products, rows: read } = await map([
      product('tee', { 'Option2 Name': 'Colour', ...rows[0] }),
      ...rows.slice(1).map((row) => variant('tee', '', row)),
    ]);

    expect(read).toBe(200);
    expect(products[0]?.body.variants).toHaveLength(200);
    expect(products[0]?.body.options.map(({ values }) => values.length)).toEqual([20, 10]);
  });

  test('collects 1 300 rows that carry nothing but an image, in the order of their positions', async () => {
    const positions = Array.from({ length: 1300 }, (_, index) => 1300 - index);
    const { products, rows } = await map([
      product('tee'),
      ...positions.map((position) => image('tee', position)),
      product('cap'),
    ]);

    expect(rows).toBe(1302);
    expect(products.map(({ key, rows: own, body }) => [key, own, body.variants.length])).toEqual([
      ['tee', 1301, 1],
      ['cap', 1, 1],
    ]);
    expect(products[0]?.body.images).toHaveLength(1300);
    expect(products[0]?.body.images?.[0]).toBe('https://img.example/1.jpg');
    expect(products[0]?.body.images?.[1299]).toBe('https://img.example/1300.jpg');
  });

  test('does not take a variant whose price was emptied for an image', async () => {
    const { products, rejected } = await map([
      product('tee'),
      variant('tee', 'M', { 'Variant Price': '' }),
      product('cap'),
    ]);

    expect(products.map(({ key }) => key)).toEqual(['cap']);
    expect(rejected.map(({ key, rows, reason }) => [key, rows, reason.line])).toEqual([['tee', 2, 3]]);
  });

  test('reads a file that has nothing but handle, title and price', async () => {
    const { products } = await mapText(
      'shopify-products',
      'Handle,Title,Variant Price\ntee,Tee,20\ncap,Cap,5.5\n',
    );

    expect(products.map(({ body }) => [body.url, body.options, body.variants])).toEqual([
      ['tee', [], [{ options: [], price: 20, onSale: false, regularPrice: 20 }]],
      ['cap', [], [{ options: [], price: 5.5, onSale: false, regularPrice: 5.5 }]],
    ]);
  });

  test.each([
    ['as long as the others', 'an extra note,mug,,Size,M,10'],
    ['too long', 'an extra note,mug,,Size,M,10,x'],
  ])('finds the product of a row, %s, that has a cell before its first', async (_name, partial) => {
    const { products, rejected } = await mapText(
      'shopify-products',
      `Handle,Title,Option1 Name,Option1 Value,Variant Price,Vendor\nmug,Mug,Size,S,9,\n${partial}\ncup,Cup,Title,Default Title,5,\n`,
    );
    expect(products.map(({ key }) => key)).toEqual(['cup']);
    expect(rejected.map(({ key, rows }) => [key, rows])).toEqual([['mug', 2]]);
  });

  test('explains how to say that a file has decimal commas', async () => {
    const text = 'Handle;Title;Variant Price\nmug;Mug;19,90\n';
    const unset = await mapText('shopify-products', text);
    expect(unset.rejected[0]?.reason.message).toContain('set decimal to "," in the job');
    const set = await mapText('shopify-products', text, { params: { decimal: ',' } });
    expect(set.products[0]?.body.variants[0]?.price).toBe(19.9);
  });

  test.each([
    ['1,500', { decimal: ',' }, 'number-ambiguous'],
    ['1.500', { decimal: ',' }, 'number-ambiguous'],
    ['1.500', {}, 'number-ambiguous'],
    ['1,500', { decimal: ',', currency: 'KWD' }, 1.5],
    ['1.500', { currency: 'KWD' }, 1.5],
    ['1.500,00', { decimal: ',' }, 1500],
  ])('takes the price %s with %j for %s', async (price, params, expected) => {
    const text = `Handle;Title;Variant Price\nmug;Mug;${price}\n`;
    const { products, rejected } = await mapText('shopify-products', text, { params });
    expect(products[0]?.body.variants[0]?.price ?? rejected[0]?.reason.code).toBe(expected);
  });

  test('rejects the product of a row that is too long, and no other', async () => {
    const lines = csvText(header, [
      product('tee'),
      variant('tee', 'M'),
      product('cap'),
      product('mug'),
    ]).split('\n');
    lines[2] = `${lines[2]},more`;
    const { products, rejected, rows } = await mapText('shopify-products', lines.join('\n'));

    expect(products.map(({ key }) => key)).toEqual(['cap', 'mug']);
    expect(rejected.map(({ key }) => key)).toContain('tee');
    expect(rows).toBe(4);
  });

  test('notices a row whose cells are shifted by an unquoted comma, though its length is right', async () => {
    const lines = csvText(header, [product('tee'), product('cap'), product('mug')]).split('\n');
    // a title with a comma in it, and the last cell lost
    lines[2] = `${(lines[2] ?? '').replace('The cap', 'The cap, blue').split(',').slice(0, header.length).join(',')}`;
    const { products, rejected, rows } = await mapText('shopify-products', lines.join('\n'));

    expect(products.map(({ key }) => key)).toEqual(['tee', 'mug']);
    expect(rejected.map(({ key }) => key)).toEqual(['cap']);
    expect(rows).toBe(3);
  });

  test('takes a header that comes again for no product, and no doubt to those beside it', async () => {
    const lines = csvText(header, [product('tee'), product('cap'), product('mug')]).split('\n');
    const { products, rejected } = await mapText(
      'shopify-products',
      [...lines.slice(0, 2), lines[0], ...lines.slice(2)].join('\n'),
    );

    expect(products.map(({ key }) => key)).toEqual(['tee', 'cap', 'mug']);
    expect(rejected.map(({ reason, rows }) => [reason.code, reason.line, rows])).toEqual([
      ['second-header', 3, 1],
    ]);
    expect(rejected[0]?.reason.message).toContain('or, if it is a record, correct its numbers');
  });

  test('hides what is a draft or archived, in any case', async () => {
    const { products } = await map([
      product('a', { Status: 'Draft' }),
      product('b', { Status: 'ARCHIVED' }),
      product('c', { Published: 'FALSE' }),
      product('d', { Status: '', Published: 'TRUE' }),
    ]);

    expect(products.map(({ body }) => body.hidden)).toEqual([true, true, true, false]);
  });
});
