import { describe, expect, test } from 'vitest';
import { configurable, header, map, simple } from './magento-rows.ts';
import { csvText, mapText } from './map-text.ts';

describe('magento-products', () => {
  test('finds the simple products of a configurable before and after it, in the order it lists them', async () => {
    const { products, rows } = await map([
      simple('S-M', { price: 12 }),
      configurable('SHIRT', 'sku=S-L,size=L,color=Red|sku=S-M,size=M,color=Red'),
      simple('S-L', { price: 14 }),
    ]);

    expect(products).toHaveLength(1);
    expect(products[0]?.rows).toBe(3);
    expect(rows).toBe(3);
    expect(products[0]?.body.options).toEqual([
      { name: 'Size', values: ['L', 'M'], advanced: true },
      { name: 'Colour', values: ['Red'], advanced: true },
    ]);
    expect(products[0]?.body.variants).toEqual([
      { options: ['L', 'Red'], price: 14, onSale: false, regularPrice: 14, quantity: 5, sku: 'S-L' },
      { options: ['M', 'Red'], price: 12, onSale: false, regularPrice: 12, quantity: 5, sku: 'S-M' },
    ]);
  });

  test('lets two configurables share a simple product and counts its row once', async () => {
    const { products, rows } = await map([
      configurable('ONE', 'sku=A,size=S|sku=B,size=M'),
      simple('A'),
      simple('B'),
      configurable('TWO', 'sku=B,size=M|sku=C,size=L'),
      simple('C'),
    ]);

    expect(products.map(({ key, body }) => [key, body.variants.map(({ sku }) => sku)])).toEqual([
      ['one', ['A', 'B']],
      ['two', ['B', 'C']],
    ]);
    expect(rows).toBe(5);
  });

  test('sells a simple product on its own as well when it is visible on its own', async () => {
    const { products, rows } = await map([
      simple('A', { visibility: 'Catalog, Search' }),
      configurable('SET', 'sku=A,size=S'),
    ]);

    expect(products.map(({ key }) => key).sort()).toEqual(['a', 'set']);
    expect(rows).toBe(2);
  });

  test('rejects a configurable whose simple product is not in the file', async () => {
    const { products, rejected, rows } = await map([
      configurable('SHIRT', 'sku=S-M,size=M|sku=GONE,size=L'),
      simple('S-M', { visibility: 'Search' }),
    ]);

    expect(products.map(({ key }) => key)).toEqual(['s-m']);
    expect(rejected).toHaveLength(1);
    expect(rejected[0]?.key).toBe('shirt');
    expect(rejected[0]?.reason.message).toContain('GONE');
    expect(rows).toBe(2);
  });

  test('rejects a configurable whose simple product has no price', async () => {
    const { products, rejected, rows } = await map([
      simple('S-M', { price: '' }),
      simple('S-L'),
      configurable('SHIRT', 'sku=S-M,size=M|sku=S-L,size=L'),
    ]);

    expect(products).toEqual([]);
    expect(rejected.map(({ key, reason }) => [key, reason.field, reason.line])).toEqual([
      ['shirt', 'variants.price', 2],
    ]);
    expect(rows).toBe(3);
  });

  test('reads over translations for store views, and skips what has no price of its own', async () => {
    const { products, rejected, skipped, rows } = await map([
      { sku: 'A', store_view_code: 'de', name: 'Einfach A' },
      simple('A', { visibility: 'Catalog, Search' }),
      { sku: 'A', store_view_code: 'fr', name: 'Simple A fr' },
      simple('G', { product_type: 'grouped', visibility: 'Catalog, Search' }),
      simple('B', { product_type: 'bundle', visibility: 'Catalog, Search' }),
      simple('LONE'),
    ]);

    expect(products.map(({ key, body, rows: own }) => [key, body.title, own])).toEqual([
      ['a', 'Simple A', 3],
    ]);
    expect(rejected).toEqual([]);
    expect(skipped).toHaveLength(3);
    expect(skipped.every(({ key }) => key !== null)).toBe(true);
    expect(rows).toBe(6);
  });

  test('completes image paths by the job, and keeps addresses', async () => {
    const rows = [
      simple('A', {
        visibility: 'Catalog',
        base_image: '/a/b/one.jpg',
        additional_images: '/a/b/one.jpg,https://cdn.example/two.jpg,/a/b/three.jpg',
      }),
    ];
    const mediaUrl = 'https://shop.example/media/catalog/product';

    const completed = await map(rows, { params: { mediaUrl } });
    const plain = await map(rows);

    expect(completed.products[0]?.body.images).toEqual([
      `${mediaUrl}/a/b/one.jpg`,
      'https://cdn.example/two.jpg',
      `${mediaUrl}/a/b/three.jpg`,
    ]);
    expect(plain.products[0]?.body.images).toEqual(['https://cdn.example/two.jpg']);
    expect(plain.products[0]?.notes).toEqual([
      'images: not an http address, left out; set mediaUrl to https://… in the job (params)',
    ]);
  });

  test.each(['1', 'Einzeln nicht sichtbar'])(
    'does not sell on its own what has the visibility %s',
    async (visibility) => {
      const { products, skipped } = await map([
        simple('A', { visibility }),
        simple('B', { visibility }),
        configurable('SET', 'sku=A,size=S'),
      ]);

      expect(products.map(({ key }) => key)).toEqual(['set']);
      expect(skipped.map(({ key }) => key)).toEqual(['b']);
    },
  );

  test('skips types that the store does not know, among them those of extensions', async () => {
    const { products, skipped } = await map([
      simple('A', { product_type: 'my_rental', visibility: 'Catalog' }),
      simple('B', { visibility: 'Catalog' }),
    ]);

    expect(products.map(({ key }) => key)).toEqual(['b']);
    expect(skipped.map(({ key }) => key)).toEqual(['a']);
  });

  test('distinguishes types', async () => {
    const { products } = await map([
      simple('A', { visibility: 'Catalog', product_type: 'virtual' }),
      simple('B', { visibility: 'Catalog', product_type: 'downloadable' }),
      simple('C', { visibility: 'Catalog', product_online: 2 }),
    ]);

    expect(products.map(({ body }) => [body.type, body.hidden])).toEqual([
      ['service', false],
      ['digital', false],
      ['physical', true],
    ]);
  });

  test('reads a value with a comma in it', async () => {
    const { products } = await map([
      simple('A'),
      simple('B'),
      configurable('ROD', 'sku=A,size=10,5 cm|sku=B,size=12 cm'),
    ]);

    expect(products[0]?.body.options).toEqual([
      { name: 'Size', values: ['10,5 cm', '12 cm'], advanced: true },
    ]);
  });

  test('handles a configurable of 200 simple products', async () => {
    const skus = Array.from({ length: 200 }, (_, index) => `S-${index}`);
    const { products, rows } = await map([
      ...skus.map((sku) => simple(sku)),
      configurable('BIG', skus.map((sku, index) => `sku=${sku},size=${index}`).join('|')),
    ]);

    expect(products).toHaveLength(1);
    expect(products[0]?.body.variants).toHaveLength(200);
    expect(rows).toBe(201);
  });

  test('does not leave out as invisible what a cell too many has shifted', async () => {
    const { products, skipped, rejected } = await mapText(
      'magento-products',
      [
        'sku,product_type,name,weight,product_online,visibility,price,qty,use_config_qty',
        'A,simple,Mug,,1,1,"Catalog, Search",10,',
        'B,simple,Jug,1,1,"Catalog, Search",10,5,',
        'C,simple,Cap,1,1,"Catalog, Search",10,5,',
      ].join('\n'),
    );

    expect(products.map(({ body }) => body.title)).toEqual(['Cap']);
    expect(skipped).toEqual([]);
    expect(rejected.map(({ reason }) => [reason.code, reason.line])).toEqual([
      ['row-shifted', 2],
      ['neighbour-misaligned', 2],
    ]);
  });

  test('says of a configurable product that the row of its simple one is misaligned, not that it is missing', async () => {
    const text = csvText(header, [
      simple('S-L'),
      simple('S-M'),
      configurable('SHIRT', 'sku=S-L,size=L|sku=S-M,size=M'),
    ]);
    const { products, rejected } = await mapText(
      'magento-products',
      text.replace('Simple S-M', 'Simple, S-M'),
    );

    expect(products).toEqual([]);
    expect(rejected.map(({ reason }) => reason.line)).toEqual([3]);
  });

  test('keeps no quantity back when a cell too many stands before it', async () => {
    const { products, rejected } = await mapText(
      'magento-products',
      [
        'sku,product_type,name,price,url_key,qty,is_in_stock,manage_stock,related_skus',
        'A,simple,Mug,10,mug,,25,1,1',
      ].join('\n'),
    );

    expect(products).toEqual([]);
    expect(rejected.map(({ reason }) => [reason.line, reason.column])).toEqual([[2, 'is_in_stock']]);
  });
});
