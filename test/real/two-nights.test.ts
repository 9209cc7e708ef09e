import { isDeepStrictEqual } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type CatalogRow, dataPresent, readCatalog, suiteName } from './catalog-rows.ts';
import { mapCatalog } from './map-catalog.ts';

const JULY = 'squarespace/products_Jul-21.csv';
const NOVEMBER = 'squarespace/products_Nov-02.csv';

/** Columns that have a place in a product of the store. */
const SENT = [
  'Product Type [Non Editable]',
  'Title',
  'Description',
  'SKU',
  'Option Name 1',
  'Option Value 1',
  'Price',
  'On Sale',
  'Stock',
  'Categories',
  'Weight',
  'Visible',
  'Hosted Image URLs',
];

/** The cells of each product that reach the store, by its url; a sale price only where the sale is on. */
function cellsByUrl(rows: readonly CatalogRow[]): Map<string, string[][]> {
  const products = new Map<string, string[][]>();
  let current: string[][] = [];
  for (const row of rows) {
    if (row.cell('Product ID [Non Editable]') !== '') {
      current = [];
      products.set(row.cell('Product URL'), current);
    }
    const sale = row.cell('On Sale') === 'Yes' ? row.cell('Sale Price') : '';
    current.push([...SENT.map((column) => row.cell(column)), sale]);
  }
  return products;
}

describe.skipIf(!dataPresent)(suiteName('two exports of one shop'), () => {
  test('differ, mapped, in exactly the products whose cells differ', async () => {
    const before = cellsByUrl(readCatalog(JULY));
    const after = cellsByUrl(readCatalog(NOVEMBER));
    const added = [...after.keys()].filter((url) => !before.has(url));
    const changed = [...after].filter(
      ([url, cells]) => before.has(url) && !isDeepStrictEqual(before.get(url), cells),
    );

    const july = await mapCatalog(JULY, 'squarespace-products');
    const november = await mapCatalog(NOVEMBER, 'squarespace-products');
    const bodies = new Map(july.products.map(({ key, body }) => [key, body]));

    expect(november.products.flatMap(({ key }) => (bodies.has(key) ? [] : [key]))).toEqual(added);
    expect(
      november.products.flatMap(({ key, body }) =>
        bodies.has(key) && !isDeepStrictEqual(bodies.get(key), body) ? [key] : [],
      ),
    ).toEqual(changed.map(([url]) => url));
    expect(added).toHaveLength(2);
    expect(changed).toHaveLength(46);
  });
});
