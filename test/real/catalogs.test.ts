import { describe, expect, test } from 'vitest';
import { dataPresent, readCatalog, suiteName } from './catalog-rows.ts';
import { CATALOGS } from './catalogs.ts';
import { mapCatalog } from './map-catalog.ts';

describe.skipIf(!dataPresent)(suiteName('real catalogs through their shipped mappings'), () => {
  describe.each(CATALOGS)('$file through $mapping', ({ file, mapping, count }) => {
    test('gives exactly the products an independent count finds, and accounts for every row', async () => {
      const expected = count(readCatalog(file));
      const mapped = await mapCatalog(file, mapping);

      expect(mapped.products.map(({ body }) => body.title).sort()).toEqual(
        expected.products.map(({ title }) => title).sort(),
      );
      expect(variantsOf(mapped.products.map(({ body }) => body))).toBe(variantsOf(expected.products));
      expect(mapped.rejected.map(({ rows }) => rows).sort()).toEqual(
        expected.rejected.map(({ rows }) => rows).sort(),
      );
      expect(mapped.skipped.map(({ rows }) => rows).sort()).toEqual(
        expected.skipped.map(({ rows }) => rows).sort(),
      );
      expect(mapped.rows).toBe(expected.rows);
    });

    test('gives each product the prices, stock, weights, options and images of its rows', async () => {
      const expected = count(readCatalog(file));
      const { products } = await mapCatalog(file, mapping);

      const byTitle = (one: { title: string }, other: { title: string }) =>
        one.title.localeCompare(other.title);
      expect(
        products
          .map(({ body: { title, type, hidden = false, images = [], options, variants }, rows }) => ({
            title,
            type,
            hidden,
            images,
            options,
            variants,
            rows,
          }))
          .sort(byTitle),
      ).toEqual([...expected.products].sort(byTitle));
    });

    test('gives each product a url of its own', async () => {
      const { products } = await mapCatalog(file, mapping);

      expect(new Set(products.map(({ key }) => key)).size).toBe(products.length);
      for (const { key, body } of products) {
        expect(body.url).toBe(key);
        expect(key).not.toMatch(/\s/);
      }
    });
  });
});

function variantsOf(products: readonly { readonly variants: readonly unknown[] }[]): number {
  return products.reduce((sum, { variants }) => sum + variants.length, 0);
}
