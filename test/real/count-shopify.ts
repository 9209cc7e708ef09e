import type { CatalogRow } from './catalog-rows.ts';
import {
  type Expectation,
  type ExpectedProduct,
  optionsInUse,
  prices,
  unique,
  variant,
} from './expectation.ts';

const price = (row: CatalogRow) => row.cell('Variant Price', 'Price');
const options = [1, 2, 3] as const;

/** Rows of one handle stand together; a row with a price is a variant, one without carries an image. */
export function countShopify(rows: readonly CatalogRow[]): Expectation {
  const blocks: CatalogRow[][] = [];
  for (const row of rows) {
    const block = blocks.at(-1);
    if (block?.[0] && handle(block[0]) === handle(row)) block.push(row);
    else blocks.push([row]);
  }
  const timesSeen = (block: CatalogRow[]) =>
    blocks.filter((other) => other[0] && block[0] && handle(other[0]) === handle(block[0])).length;
  const lost = blocks.filter((block) => timesSeen(block) > 1);
  return {
    rows: rows.length,
    products: blocks.filter((block) => timesSeen(block) === 1).map(product),
    rejected: lost.map((block) => ({
      title: block[0]?.cell('Title') ?? '',
      rows: block.length,
      why: 'its handle comes twice in the file, with two different products',
    })),
    skipped: [],
  };
}

function handle(row: CatalogRow): string {
  return row.cell('Handle', 'URL handle');
}

function product(block: CatalogRow[]): ExpectedProduct {
  const first = block[0];
  if (!first) throw new Error('a block has rows');
  const names = options
    .map((n) => first.cell(`Option${n} Name`))
    .filter((name) => name !== '' && !(name === 'Title' && first.cell('Option1 Value') === 'Default Title'));
  const sold = block.filter((row) => price(row) !== '');
  const variants = sold.map((row) => {
    const was = row.cell('Variant Compare At Price', 'Compare-at price');
    const now = Number(price(row));
    const grams = row.cell('Variant Grams', 'Weight value (grams)');
    const stock = row.cell('Variant Inventory Qty', 'Variant Inventory Quantity', 'Inventory quantity');
    const policy = row.cell('Variant Inventory Policy', 'Continue selling when out of stock').toLowerCase();
    const soldShort = policy === 'continue' && Number(stock) <= 0;
    const tracked = !soldShort && row.cell('Variant Inventory Tracker', 'Inventory tracker') !== '';
    return variant(
      options.slice(0, names.length).map((n) => row.cell(`Option${n} Value`)),
      was !== '' && Number(was) > now ? prices(Number(was), now) : prices(now, null),
      {
        quantity: tracked && stock !== '' ? Number(stock) : undefined,
        sku: row.cell('Variant SKU', 'SKU').replace(/^'/, ''),
        weight: grams === '' ? undefined : Math.round(Number(grams) * 1000) / 1e6,
      },
    );
  });
  const published = first.cell('Published', 'Published on online store').toLowerCase();
  const status = first.cell('Status').toLowerCase();
  const ships = sold.some(
    (row) => row.cell('Variant Requires Shipping', 'Requires shipping').toLowerCase() !== 'false',
  );
  return {
    title: first.cell('Title'),
    type: ships ? 'physical' : 'service',
    hidden: published === 'false' || status === 'draft' || status === 'archived',
    images: unique(
      ['Image Src', 'Variant Image']
        .flatMap((column) =>
          block.map((row) =>
            column === 'Image Src'
              ? row.cell('Image Src', 'Product image URL')
              : row.cell(column, 'Variant image URL'),
          ),
        )
        .filter((url) => url !== ''),
    ),
    options: optionsInUse(names, variants),
    variants,
    rows: block.length,
  };
}
