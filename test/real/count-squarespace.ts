import type { CatalogRow } from './catalog-rows.ts';
import { type Expectation, type ExpectedProduct, optionsInUse, prices, variant } from './expectation.ts';

/** A row with a product id starts a product; rows without one are its further variants. Every row is a variant. */
export function countSquarespace(rows: readonly CatalogRow[]): Expectation {
  const blocks: CatalogRow[][] = [];
  for (const row of rows) {
    if (row.cell('Product ID [Non Editable]') !== '') blocks.push([row]);
    else blocks.at(-1)?.push(row);
  }
  return { rows: rows.length, products: blocks.map(product), rejected: [], skipped: [] };
}

function product(block: CatalogRow[]): ExpectedProduct {
  const first = block[0];
  if (!first) throw new Error('a block has rows');
  const numbers = [1, 2, 3, 4, 5, 6].filter((n) => first.cell(`Option Name ${n}`) !== '');
  const variants = block.map((row) => {
    const stock = row.cell('Stock');
    const weight = row.cell('Weight');
    return variant(
      numbers.map((n) => row.cell(`Option Value ${n}`)),
      prices(
        Number(row.cell('Price')),
        row.cell('On Sale') === 'Yes' ? Number(row.cell('Sale Price')) : null,
      ),
      {
        quantity: stock === 'Unlimited' ? undefined : Number(stock),
        sku: row.cell('SKU'),
        weight: weight === '' ? undefined : Number(weight),
      },
    );
  });
  return {
    title: first.cell('Title'),
    type: first.cell('Product Type [Non Editable]') === 'SERVICE' ? 'service' : 'physical',
    hidden: first.cell('Visible') === 'No',
    images: first
      .cell('Hosted Image URLs')
      .split(/\s+/)
      .filter((url) => url !== ''),
    options: optionsInUse(
      numbers.map((n) => first.cell(`Option Name ${n}`)),
      variants,
    ),
    variants,
    rows: block.length,
  };
}
