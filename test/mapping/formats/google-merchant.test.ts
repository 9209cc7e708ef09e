import { describe, expect, test } from 'vitest';
import { mapText } from './map-text.ts';

const map = (lines: readonly string[], options: Parameters<typeof mapText>[2] = {}) =>
  mapText('google-merchant-products', lines.join('\n'), options);

describe('google-merchant-products', () => {
  test('makes one product of the rows of an item group, wherever they stand, by what differs among them', async () => {
    const { products, rows } = await map([
      'id,item_group_id,title,price,availability,image_link,color,size,gender',
      'A-1,SHIRT,Shirt,20.00 EUR,in stock,https://img.example/1.jpg,Red,S,unisex',
      'B,,Cap,10.00 EUR,in_stock,https://img.example/b.jpg,Blue,,unisex',
      'A-2,SHIRT,Shirt L,22.00 EUR,out_of_stock,https://img.example/2.jpg,Red,L,unisex',
    ]);

    expect(rows).toBe(3);
    expect(products.map(({ key, rows: own }) => [key, own]).sort()).toEqual([
      ['B', 1],
      ['SHIRT', 2],
    ]);
    expect(products.find(({ key }) => key === 'SHIRT')?.body).toMatchObject({
      title: 'Shirt',
      images: ['https://img.example/1.jpg', 'https://img.example/2.jpg'],
      options: [{ name: 'Size', values: ['S', 'L'], advanced: true }],
      variants: [
        { options: ['S'], price: 20, sku: 'A-1' },
        { options: ['L'], price: 22, sku: 'A-2', quantity: 0 },
      ],
    });
    expect(products.find(({ key }) => key === 'B')?.body.options).toEqual([]);
  });

  test('rejects an item group whose rows do not differ', async () => {
    const { products, rejected } = await map([
      'id,item_group_id,title,price,color',
      'A-1,SHIRT,Shirt,20.00 EUR,Red',
      'A-2,SHIRT,Shirt,20.00 EUR,Red',
    ]);

    expect(products).toEqual([]);
    expect(rejected.map(({ key, rows }) => [key, rows])).toEqual([['SHIRT', 2]]);
  });

  test('leaves an id that comes twice to the job: two records of one key', async () => {
    const { products } = await map(['id,title,price', 'a,Cup,5 EUR', 'a,Cup,6 EUR']);

    expect(products.map(({ key, rows }) => [key, rows])).toEqual([
      ['a', 1],
      ['a', 1],
    ]);
  });

  test.each([
    ['id,title,price,image link,sale price'],
    ['ID,Title,Price,Image_Link,Sale_Price'],
    ['g:id,g:title,g:price,g:image_link,g:sale_price'],
  ])('reads the header %s', async (header) => {
    const { products } = await map([header, 'x_1,Cup,352 AED,https://img.example/1.jpg,252 AED']);

    expect(products[0]).toMatchObject({
      key: 'x_1',
      body: {
        images: ['https://img.example/1.jpg'],
        variants: [{ price: 252, onSale: true, regularPrice: 352, salePrice: 252 }],
      },
    });
  });

  test.each([
    ['352 AED', 352],
    ['AED 352', 352],
    ['1299.50 USD', 1299.5],
    ['$15', 15],
    ['0.00 EUR', 0],
    ['1,299.00 USD', 1299],
    ['1.250 KWD', 1.25],
  ])('reads the price %s', async (price, expected) => {
    const { products } = await map(['id,title,price', `a,Cup,"${price}"`]);

    expect(products[0]?.body.variants[0]?.price).toBe(expected);
  });

  test.each([
    ['EUR 1,500', {}, 'number-ambiguous'],
    ['1,500 KWD', {}, 'number-ambiguous'],
    ['1.500 EUR', {}, 'number-ambiguous'],
    ['1.000 KWD', { decimal: ',' }, 'number-ambiguous'],
    ['1,500 EUR', { decimal: ',' }, 'number-ambiguous'],
    ['10¢', {}, 'not-a-number'],
  ])('rejects the price %s with %j', async (price, params, code) => {
    const { products, rejected } = await map(['id,title,price', `a,Cup,"${price}"`], { params });

    expect(products).toEqual([]);
    expect(rejected[0]?.reason).toMatchObject({ code, field: 'variants.price', line: 2, column: 'price' });
  });

  test('reads thousands where the job says their sign, and says how', async () => {
    const lines = ['id,title,price', 'a,Cup,"EUR 1,500"'];
    const { rejected } = await map(lines);
    const { products } = await map(lines, { params: { thousands: ',' } });

    expect(rejected[0]?.reason.message).toContain('or thousands to ","');
    expect(products[0]?.body.variants[0]?.price).toBe(1500);
  });

  test('reads decimal commas when the job says so, and rejects them otherwise', async () => {
    const lines = ['id\ttitle\tprice', 'a\tCup\t15,50 EUR'];

    const set = await map(lines, { params: { decimal: ',', thousands: '.' }, delimiter: '\t' });
    const unset = await map(lines, { delimiter: '\t' });

    expect(set.products[0]?.body.variants[0]?.price).toBe(15.5);
    expect(unset.rejected[0]?.reason).toMatchObject({ field: 'variants.price', line: 2, column: 'price' });
  });

  test.each([
    ['2026-02-10T00:00:00Z', true],
    ['2026-01-31T23:00:00Z', false],
    ['2026-03-01T08:00:00Z', false],
  ])('judges the sale period at %s', async (now, onSale) => {
    for (const period of [
      '2026-02-01T00:00-0800/2026-02-28T23:59-0800',
      '2026-02-01T00:00:00-08:00 / 2026-02-28T23:59:59-08:00',
    ]) {
      const { products } = await map(
        ['id,title,price,sale_price,sale_price_effective_date', `a,Cup,20.00 USD,15.00 USD,${period}`],
        { now },
      );

      expect(products[0]?.body.variants[0]?.onSale).toBe(onSale);
    }
  });

  test.each([
    ['in stock', '', undefined],
    ['in_stock', '7', 7],
    ['out of stock', '7', 0],
    ['preorder', '', undefined],
    ['backorder', '100 ML', undefined],
    ['discontinued', '7', 0],
  ])('reads availability %s with quantity "%s"', async (availability, quantity, expected) => {
    const { products } = await map([
      'id,title,price,availability,quantity',
      `a,Cup,5 EUR,${availability},${quantity}`,
    ]);

    expect(products[0]?.body.variants[0]?.quantity).toBe(expected);
  });

  test('notices an availability that is none: the row is shifted', async () => {
    const { products, rejected } = await map([
      'id,title,price,availability',
      'a,Cup,5 EUR,https://img.example/1.jpg',
    ]);

    expect(products).toEqual([]);
    expect(rejected).toHaveLength(1);
  });

  test('takes further images from one cell or from repeated columns', async () => {
    const { products } = await map([
      'id,title,price,image_link,additional_image_link,additional_image_link',
      'a,Cup,5 EUR,https://img.example/1.jpg,"https://img.example/w_9,h_9/2.jpg,https://img.example/3.jpg",https://img.example/4.jpg',
    ]);

    expect(products[0]?.body.images).toEqual([
      'https://img.example/1.jpg',
      'https://img.example/w_9,h_9/2.jpg',
      'https://img.example/3.jpg',
      'https://img.example/4.jpg',
    ]);
  });

  test.each([
    ['0.5 kg', 0.5],
    ['500 g', 0.5],
    ['1 lb', 0.45359237],
  ])('converts the weight %s', async (weight, kilograms) => {
    const { products } = await map(['id,title,price,shipping_weight', `a,Cup,5 EUR,${weight}`]);

    expect(products[0]?.body.variants[0]?.weight).toBeCloseTo(kilograms, 6);
  });

  test('takes the last level of the product type, and no bare category numbers', async () => {
    const { products } = await map([
      'id,title,price,product_type,google_product_category',
      'a,Cup,5 EUR,Home > Kitchen > Cups,212',
      'b,Jug,5 EUR,,Home & Garden > Kitchen',
      'c,Urn,5 EUR,,212',
    ]);

    expect(
      products.map(
        ({ body }) => body.categories?.map((one) => (typeof one === 'object' ? one.name : one)) ?? [],
      ),
    ).toEqual([['Cups'], ['Kitchen'], []]);
  });

  test('does not import a group without the row that a comma without quotes has shifted', async () => {
    const { products, rejected } = await map([
      'id,title,description,link,image_link,price,sale_price,availability,item_group_id,color',
      'A-1,Shirt,Soft,https://shop.example/1,https://img.example/1.jpg,20.00 EUR,,in stock,SHIRT,Red',
      'A-2,Shirt,Soft, warm,https://shop.example/2,https://img.example/2.jpg,20.00 EUR,,in stock,SHIRT,Blue',
      'A-3,Shirt,Soft,https://shop.example/3,https://img.example/3.jpg,20.00 EUR,,in stock,SHIRT,Green',
      'B,Cap,Soft, warm,https://shop.example/4,https://img.example/4.jpg,,10.00 EUR,in stock,,',
      'C,Cap,Soft,https://shop.example/5,https://img.example/5.jpg,10.00 EUR,,in stock,,',
      'D,Cap,Soft,www.shop.example/6,https://img.example/6.jpg,10.00 EUR,,in stock,,',
    ]);

    expect(products.map(({ key }) => key)).toEqual(['D']);
    expect(rejected.map(({ reason }) => [reason.code, reason.line])).toContainEqual(['row-too-long', 5]);
  });
});
