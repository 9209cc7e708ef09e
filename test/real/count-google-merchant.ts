import type { CatalogRow } from './catalog-rows.ts';
import { type Expectation, prices, variant } from './expectation.ts';

/** These feeds have no item groups: one row is one product. A quantity such as '100 ML' is no stock. */
export function countGoogleMerchant(rows: readonly CatalogRow[]): Expectation {
  return {
    rows: rows.length,
    products: rows.map((row) => {
      const sale = row.cell('sale_price');
      const quantity = row.cell('quantity');
      return {
        title: row.cell('title'),
        type: 'physical',
        hidden: false,
        images: [row.cell('image_link', 'Image')],
        options: [],
        variants: [
          variant([], prices(amount(row.cell('price')), sale === '' ? null : amount(sale)), {
            quantity: /^\d+$/.test(quantity) ? Number(quantity) : undefined,
            sku: row.cell('id'),
          }),
        ],
        rows: 1,
      };
    }),
    rejected: [],
    skipped: [],
  };
}

function amount(text: string): number {
  return Number(text.replace(' AED', ''));
}
