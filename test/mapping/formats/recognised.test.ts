import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { guessMapping } from '../../../src/mapping/guess-mapping.ts';
import { shippedMapping } from '../mapping-setup.ts';

/** Header lines of formats as their documents have them, shortened; no real file of these is among the test data. */
const HEADERS: readonly (readonly [mapping: string, headers: string])[] = [
  [
    'prestashop-products',
    'Product ID;Active (0/1);Name *;Categories (x,y,z...);Price tax excluded;Tax rules ID;Wholesale price;On sale (0/1);Discount amount;Discount percent;Reference #;Supplier;EAN13;Weight;Quantity;Visibility;Summary;Description;URL rewritten;Image URLs (x,y,z...)',
  ],
  [
    'bigcommerce-products',
    'Item;ID;Name;Type;SKU;Options;Inventory Tracking;Current Stock;Low Stock;Price;Cost Price;Retail Price;Sale Price;Brand ID;Channels;Categories;Description;Custom Fields;Page Title;Product URL;Weight;Is Visible;Variant Image URL;Internal Image URL (Export);Image URL (Import)',
  ],
];

const shipped = readdirSync(join(import.meta.dirname, '..', '..', '..', 'mappings'))
  .filter((name) => name.endsWith('.yaml'))
  .map((file) => basename(file, '.yaml'))
  .map((name) => ({ name, spec: shippedMapping(name), shipped: true }));

describe('a header line', () => {
  it.each(HEADERS)('of %s is recognised', (mapping, headers) => {
    expect(guessMapping(headers.split(';'), shipped).best?.name).toBe(mapping);
  });
});
