import { describe, expect, it } from 'vitest';
import { brief, mapAll, products, shippedMapping, table } from '../mapping-setup.ts';

const PRODUCTS = [
  'Product ID',
  'Name *',
  'Price tax excluded',
  'Reference #',
  'Quantity',
  'Out of stock action',
];
const COMBINATIONS = [
  'Product ID*',
  'Attribute (Name:Type:Position)*',
  'Value (Value:Position)*',
  'Reference',
  'Impact on price',
  'Quantity',
];

const map = (items: readonly (readonly string[])[], combinations: readonly (readonly string[])[]) =>
  mapAll(
    shippedMapping('prestashop-products'),
    [table(COMBINATIONS, combinations, 0), table(PRODUCTS, items, 1)],
    { params: { combinations: true } },
  );

describe('products and combinations of PrestaShop in two files', () => {
  it('are one product each, in whatever order the files come', async () => {
    const { mapped } = await map(
      [
        ['1', 'Tee', '10', 'T', '0', '1'],
        ['2', 'Cap', '8', 'C', '2', '0'],
      ],
      [
        ['1', 'Size:select:0', 'S:0', 'T-S', '0', '0'],
        ['1', 'Size:select:0', 'L:1', 'T-L', '1.50', '3'],
      ],
    );

    expect(products(mapped).map(({ url, variants }) => [url, variants])).toEqual([
      [
        'tee',
        [
          { options: ['S'], price: 10, onSale: false, regularPrice: 10, sku: 'T-S' }, // sold without stock
          { options: ['L'], price: 11.5, onSale: false, regularPrice: 11.5, quantity: 3, sku: 'T-L' },
        ],
      ],
      ['cap', [{ options: [], price: 8, onSale: false, regularPrice: 8, quantity: 2, sku: 'C' }]],
    ]);
  });

  it('are rejected where a combination names no product of the files, or one that several have', async () => {
    const { mapped } = await map(
      [
        ['1', 'Tee', '10', 'T', '0', '0'],
        ['1', 'Shirt', '12', 'S', '0', '0'],
      ],
      [
        ['1', 'Size:select:0', 'S:0', 'T-S', '0', '4'],
        ['7', 'Size:select:0', 'S:0', 'X-S', '0', '4'],
      ],
    );

    expect(mapped.map(brief)).toEqual([
      'rejected null parent-missing (1 row)',
      'rejected tee parent-ambiguous (2 rows)',
      'rejected shirt parent-ambiguous (1 row)',
    ]);
  });
});
