import type { CatalogRow } from './catalog-rows.ts';
import { advancedOf, type Expectation, type ExpectedProduct, prices, variant } from './expectation.ts';

/** A Product row lists option values; its Variant rows, if any, choose among them; without them all are for sale. */
export function countWix(rows: readonly CatalogRow[]): Expectation {
  return {
    rows: rows.length,
    products: rows.filter((row) => row.cell('fieldType') === 'Product').map((row) => product(row, rows)),
    rejected: [],
    skipped: [],
  };
}

function product(row: CatalogRow, rows: readonly CatalogRow[]): ExpectedProduct {
  const children = rows.filter(
    (other) => other.cell('fieldType') === 'Variant' && other.cell('handleId') === row.cell('handleId'),
  );
  const numbers = [1, 2, 3, 4, 5, 6].filter((n) => row.cell(`productOptionName${n}`) !== '');
  const listed = numbers.map((n) =>
    row
      .cell(`productOptionDescription${n}`)
      .split(';')
      .map((value) => plain(row, n, value)),
  );
  const combinations = listed.reduce<string[][]>(
    (sofar, values) => sofar.flatMap((head) => values.map((value) => [...head, value])),
    [[]],
  );
  const sold =
    children.length > 0
      ? children.map((child) => ({
          row: child,
          options: numbers.map((n) => plain(row, n, child.cell(`productOptionDescription${n}`))),
        }))
      : combinations.map((options) => ({ row, options }));
  const variants = sold.map((one) =>
    variant(one.options, prices(Number(row.cell('price')) + Number(one.row.cell('surcharge')), null), {
      quantity: stock(one.row, one.row !== row && one.row.cell('visible') === 'false'),
      sku: one.row.cell('sku'),
    }),
  );
  return {
    title: row.cell('name'),
    type: 'physical',
    hidden: row.cell('visible') === 'false',
    images: row
      .cell('productImageUrl')
      .split(';')
      .filter((name) => name !== '')
      .map((name) => `https://static.wixstatic.com/media/${name}`),
    options: numbers.map((n, index) => ({
      name: row.cell(`productOptionName${n}`),
      values: (listed[index] ?? []).filter((value) =>
        variants.some(({ options }) => options[index] === value),
      ),
      advanced: advancedOf(variants),
    })),
    variants,
    rows: 1 + children.length,
  };
}

/** Colours are written `#b81616:Red` or `rgb(193,180,123):Cream`. */
function plain(row: CatalogRow, n: number, value: string): string {
  return row.cell(`productOptionType${n}`) === 'COLOR' ? (value.split(':').at(-1) ?? '') : value;
}

function stock(row: CatalogRow, invisible: boolean): number | undefined {
  const inventory = row.cell('inventory');
  if (invisible || inventory === 'OutOfStock') return 0;
  return inventory === 'InStock' ? undefined : Number(inventory);
}
