import type { CatalogRow } from './catalog-rows.ts';
import { type Expectation, prices, variant } from './expectation.ts';

/** One listing is one row; this shop's listings have no variations. */
export function countEtsy(rows: readonly CatalogRow[]): Expectation {
  return {
    rows: rows.length,
    products: rows.map((row) => ({
      title: row.cell('TITOLO'),
      type: 'physical',
      hidden: false,
      images: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
        .map((n) => row.cell(`IMMAGINE${n}`))
        .filter((url) => url !== ''),
      options: [],
      variants: [
        variant([], prices(Number(row.cell('PREZZO')), null), {
          quantity: Number(row.cell('QUANTITÀ')),
          sku: row.cell('SKU'),
        }),
      ],
      rows: 1,
    })),
    rejected: [],
    skipped: [],
  };
}
