import { describe, expect, test } from 'vitest';
import { dataPresent, suiteName } from './catalog-rows.ts';
import { mapCatalog } from './map-catalog.ts';

const find = async (file: string, mapping: string, key: string) => {
  const { products } = await mapCatalog(file, mapping);
  const body = products.find((product) => product.key === key)?.body;
  if (!body) throw new Error(`${file} has no product ${key}`);
  return body;
};

/** What a person reads off the file, written down by hand; the catalogs' own test compares everything by program. */
describe.skipIf(!dataPresent)(suiteName('products of real catalogs, read by a person'), () => {
  test('Shopify: stock counts only where a tracker is named; a compare-at price above the price is a sale', async () => {
    const { options, variants } = await find(
      'shopify/levinmejia_Bicycles.csv',
      'shopify-products',
      'oury-grip-set',
    );

    expect(options.map(({ name, values }) => [name, values.length])).toEqual([['Color', 10]]);
    expect(variants[0]).toMatchObject({
      options: ['Black'],
      price: 12,
      onSale: false,
      quantity: 3347,
      weight: 0.227,
    });
    expect(variants[1]).toMatchObject({
      options: ['White'],
      price: 8,
      onSale: true,
      regularPrice: 12,
      salePrice: 8,
    });
    expect(variants[1]).not.toHaveProperty('quantity');
  });

  test('Shopify: what is sold out below zero is sold out', async () => {
    const { variants } = await find(
      'shopify/levinmejia_Bicycles.csv',
      'shopify-products',
      'fyxation-curve-saddle',
    );

    expect(variants).toMatchObject([{ quantity: 0 }]);
  });

  test('Shopify: the newest format, its images in order and what is not shipped', async () => {
    const file = 'shopify/template_2026_new_format.csv';
    const shirt = await find(file, 'shopify-products', 'physical-product-the-band-t-shirt');
    const { products } = await mapCatalog(file, 'shopify-products');

    expect(shirt.options.map(({ name, values }) => [name, values])).toEqual([
      ['Size', ['Small', 'Medium', 'Large', 'XL']],
      ['Color', ['green', 'gray', 'red']],
    ]);
    expect(shirt.variants[0]).toMatchObject({ price: 19.99, regularPrice: 24.99, weight: 0.15 });
    expect(products.map(({ body }) => body.type)).toEqual(['physical', 'service']);
  });

  test('Shopify: two products of one handle, 148 lines apart, are both refused', async () => {
    const { rejected } = await mapCatalog('shopify/lowercased_headers_generated.csv', 'shopify-products');

    expect(rejected.map(({ key, spans }) => [key, spans])).toEqual([
      ['mediocre-concrete-pants', [{ file: 0, from: 20, to: 22 }]],
      ['mediocre-concrete-pants', [{ file: 0, from: 170, to: 172 }]],
    ]);
  });

  test('WooCommerce: six variations of a parent stand in two places; one is on sale', async () => {
    const { variants, options } = await find(
      'woocommerce/classic_commerce_sample_products.csv',
      'woocommerce-products',
      'hoodie',
    );

    expect(options.map(({ name }) => name)).toEqual(['Color', 'Logo']);
    expect(variants).toHaveLength(6);
    expect(variants.filter(({ onSale }) => onSale)).toMatchObject([
      { sku: 'cc-hoodie-red', price: 42, regularPrice: 45 },
    ]);
  });

  test('WooCommerce: a wine without a price is left out, with its line', async () => {
    const { rejected, skipped } = await mapCatalog(
      'woocommerce/wine_shop_serbian.csv',
      'woocommerce-products',
    );

    expect(rejected).toEqual([]);
    expect(skipped.map(({ reason }) => reason.line)).toEqual([
      234, 243, 275, 276, 279, 280, 284, 287, 294, 312, 352,
    ]);
    expect(new Set(skipped.map(({ reason }) => reason.field))).toEqual(new Set(['variants.price']));
  });

  test('Magento: the configurable takes the prices of its three simples, which are sold alone as well', async () => {
    const file = 'magento/magento2_catalog_product_sample.csv';
    const strap = await find(file, 'magento-products', 'sprite-yoga-strap1');
    const { products, skipped } = await mapCatalog(file, 'magento-products');

    expect(strap.options).toEqual([
      { name: 'Size Strap', values: ['8 foot', '10 foot', '6 foot'], advanced: true },
    ]);
    expect(strap.variants.map(({ sku, price, quantity }) => [sku, price, quantity])).toEqual([
      ['24-WG086', 17, 100],
      ['24-WG087', 21, 100],
      ['24-WG085', 14, 100],
    ]);
    expect(strap.categories?.map((one) => (typeof one === 'object' ? one.name : one))).toEqual([
      'Gear',
      'Fitness Equipment',
    ]);
    expect(products).toHaveLength(4);
    expect(skipped.map(({ reason }) => reason.line)).toEqual([5, 7, 8]);
  });

  test('Wix: colours by their names, combined where no variant rows stand', async () => {
    const { products } = await mapCatalog('wix/merch_catalog_products.csv', 'wix-products');
    const collar = products.find(({ spans }) => spans[0]?.from === 13);
    const coat = products.find(({ spans }) => spans[0]?.from === 817);

    expect(collar?.body.hidden).toBe(true);
    expect(collar?.body.variants.map(({ options, price }) => [options, price])).toEqual([
      [['Red'], 20],
      [['Cream'], 20],
    ]);
    expect(coat?.body.options.map(({ name, values }) => [name, values])).toEqual([
      ['Size', ['XS', 'S', 'M', 'L', 'XL', '2XL', '3XL']],
      ['Color', ['Red']],
    ]);
    expect(coat?.body.variants[0]).toMatchObject({
      options: ['S', 'Red'],
      price: 380,
      quantity: 2,
      sku: 'CCC6S',
    });
    expect(coat?.key).toMatch(/-14af3301$/);
  });

  test('Squarespace: a sale price that is not switched on is none', async () => {
    const file = 'squarespace/products_Jul-21.csv';
    const off = await find(file, 'squarespace-products', 'black-and-white-photography-course');
    const on = await find(file, 'squarespace-products', 'four-private-photography-classes');

    expect(off.variants).toMatchObject([{ price: 165, onSale: false, regularPrice: 165 }]);
    expect(on.variants).toMatchObject([{ price: 360, onSale: true, regularPrice: 480, salePrice: 360 }]);
    expect(off.variants[0]).not.toHaveProperty('quantity');
  });

  test('Etsy: an Italian account', async () => {
    const { products } = await mapCatalog('etsy/italian_EtsyListingsDownload.csv', 'etsy-products');

    expect(products[0]?.key).toBe('saggar-pottery-vase-with-smoky-grey-textures-and-copper-marks');
    expect(products[0]?.body.images).toHaveLength(8);
    expect(products[0]?.body.variants).toEqual([
      { options: [], price: 46, onSale: false, regularPrice: 46, quantity: 1, sku: '32' },
    ]);
  });

  test('Google Merchant: prices with their currency; "100 ML" is no stock', async () => {
    const dirham = await find(
      'google_merchant/merchant_feed_ar.csv',
      'google-merchant-products',
      'perfume_1',
    );
    const scent = await find(
      'google_merchant/merchant_feed_en.tsv',
      'google-merchant-products',
      'perfume_001',
    );
    const watch = await find('google_merchant/merchant_feed_en.tsv', 'google-merchant-products', 'watch_002');

    expect(dirham.variants[0]).toMatchObject({ price: 252, onSale: true, regularPrice: 352 });
    expect(scent.variants[0]).not.toHaveProperty('quantity');
    expect(watch.variants[0]).toMatchObject({ price: 241.6, regularPrice: 302, quantity: 1 });
  });
});
