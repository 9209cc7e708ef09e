import { describe, expect, test } from 'vitest';
import { csvText, mapText } from './map-text.ts';

const header = [
  'handleId',
  'fieldType',
  'name',
  'productImageUrl',
  'collection',
  'sku',
  'price',
  'surcharge',
  'visible',
  'discountMode',
  'discountValue',
  'inventory',
  'weight',
  'productOptionName1',
  'productOptionType1',
  'productOptionDescription1',
  'productOptionName2',
  'productOptionType2',
  'productOptionDescription2',
] as const;
type Row = Partial<Record<(typeof header)[number], string | number>>;

const product = (more: Row = {}): Row => ({
  handleId: 'product_0a1b2c3d-0000-0000-0000-000000000001',
  fieldType: 'Product',
  name: 'Linen Scarf',
  price: '40.0',
  visible: 'true',
  discountMode: 'PERCENT',
  discountValue: '0.0',
  inventory: 'InStock',
  ...more,
});
const sizes: Row = {
  productOptionName1: 'Size',
  productOptionType1: 'DROP_DOWN',
  productOptionDescription1: 'S;M;L',
};
const variant = (more: Row): Row => ({
  handleId: 'product_0a1b2c3d-0000-0000-0000-000000000001',
  fieldType: 'Variant',
  visible: 'true',
  inventory: 1,
  ...more,
});
const map = (rows: readonly Row[]) => mapText('wix-products', csvText(header, rows));

describe('wix-products', () => {
  test('makes the url of the name and the start of the id', async () => {
    const { products } = await map([product()]);

    expect(products[0]?.key).toBe('linen-scarf-0a1b2c3d');
  });

  test.each<[string, Row, Row, object]>([
    [
      'adds the surcharge of a variant',
      {},
      { surcharge: '5.5' },
      { price: 45.5, onSale: false, regularPrice: 45.5 },
    ],
    [
      'takes a discount in percent off price and surcharge',
      { discountValue: '15' },
      { surcharge: '5' },
      { price: 38.25, onSale: true, regularPrice: 45, salePrice: 38.25 },
    ],
    [
      'takes a discount in money off price and surcharge',
      { discountMode: 'AMOUNT', discountValue: '10' },
      { surcharge: '5' },
      { price: 35, onSale: true, regularPrice: 45, salePrice: 35 },
    ],
    [
      'rounds to cents as people do',
      { price: '0.3', discountValue: '33.3' },
      {},
      { price: 0.2, onSale: true, regularPrice: 0.3, salePrice: 0.2 },
    ],
  ])('%s', async (_, head, row, prices) => {
    const { products } = await map([
      product({ ...sizes, ...head }),
      variant({ productOptionDescription1: 'S', ...row }),
    ]);

    expect(products[0]?.body.variants).toEqual([{ options: ['S'], quantity: 1, ...prices }]);
  });

  test.each<[string, string | number, number | undefined]>([
    ['a number', 12, 12],
    ['InStock', 'InStock', undefined],
    ['OutOfStock', 'OutOfStock', 0],
    ['a negative number', -4, 0],
  ])('reads an inventory of %s', async (_, inventory, quantity) => {
    const { products } = await map([product({ inventory })]);

    expect(products[0]?.body.variants[0]?.quantity).toBe(quantity);
  });

  test('rejects an inventory that is neither a number nor a known word', async () => {
    const { rejected } = await map([product({ inventory: 'a few' })]);

    expect(rejected[0]?.reason).toMatchObject({ field: 'variants.quantity', line: 2, column: 'inventory' });
  });

  test('cannot sell a variant that is not visible, whatever its stock', async () => {
    const { products } = await map([
      product(sizes),
      variant({ productOptionDescription1: 'M', visible: 'false', inventory: 9 }),
      variant({ productOptionDescription1: 'S', inventory: 9 }),
    ]);

    expect(products[0]?.body.hidden).toBe(false);
    expect(products[0]?.body.variants.map(({ quantity }) => quantity)).toEqual([0, 9]);
  });

  test('shows values in the order listed, and only those that are for sale', async () => {
    const { products } = await map([
      product(sizes),
      variant({ productOptionDescription1: 'L' }),
      variant({ productOptionDescription1: 'S' }),
    ]);

    expect(products[0]?.body.options).toEqual([{ name: 'Size', values: ['S', 'L'], advanced: false }]);
    expect(products[0]?.body.variants.map(({ options }) => options)).toEqual([['L'], ['S']]);
  });

  test('combines listed values when there are no variant rows, colours by their names', async () => {
    const { products, rows } = await map([
      product({
        ...sizes,
        sku: 'SCARF',
        productOptionName2: 'Colour',
        productOptionType2: 'COLOR',
        productOptionDescription2: '#ffffff:White;rgb(1,2,3):Night: blue;Sand:#c2b280',
      }),
    ]);

    expect(rows).toBe(1);
    expect(products[0]?.body.options[1]?.values).toEqual(['White', 'Night: blue', 'Sand']);
    expect(products[0]?.body.variants).toHaveLength(9);
    expect(products[0]?.body.variants[1]).toEqual({
      options: ['S', 'Night: blue'],
      price: 40,
      onSale: false,
      regularPrice: 40,
      sku: 'SCARF',
    });
  });

  test('keeps the colon of a value that is no colour', async () => {
    const { products } = await map([
      product({ ...sizes, productOptionDescription1: 'Ratio 1:2;Ratio 1:4' }),
      variant({ productOptionDescription1: 'Ratio 1:4' }),
    ]);

    expect(products[0]?.body.options[0]?.values).toEqual(['Ratio 1:4']);
  });

  test('rejects listed values that combine to more than 200 variants', async () => {
    const many = Array.from({ length: 15 }, (_, index) => `v${index}`).join(';');
    const { rejected } = await map([
      product({
        ...sizes,
        productOptionDescription1: many,
        productOptionName2: 'Colour',
        productOptionType2: 'DROP_DOWN',
        productOptionDescription2: many,
      }),
    ]);

    expect(rejected[0]?.reason.message).toMatch(/225/);
  });

  test('turns media names into addresses and keeps addresses', async () => {
    const { products } = await map([
      product({
        productImageUrl:
          'ab12_cd~mv2.jpg;https://img.example/2.jpg;wix:image://v1/ef34~mv2.png/scarf.png#originWidth=10',
      }),
    ]);

    expect(products[0]?.body.images).toEqual([
      'https://static.wixstatic.com/media/ab12_cd~mv2.jpg',
      'https://img.example/2.jpg',
      'https://static.wixstatic.com/media/ef34~mv2.png',
    ]);
  });

  test('rejects variant rows whose product row is missing', async () => {
    const { products, rejected, rows } = await map([variant({ productOptionDescription1: 'M' })]);

    expect(products).toEqual([]);
    expect(rejected).toHaveLength(1);
    expect(rows).toBe(1);
  });

  test('notices a row that is shifted by a cell', async () => {
    const { products, rejected } = await map([
      product(),
      { handleId: 'product_9', fieldType: 'Scarf', name: 'Product', price: 'x' },
    ]);

    expect(products).toHaveLength(1);
    expect(rejected).toHaveLength(1);
  });

  test('notices an unquoted comma in the name of an option, and one in its values', async () => {
    for (const [partial, code] of [
      ['Size, eu,DROP_DOWN,S;M,,', 'cell-unexpected'],
      ['Size,DROP_DOWN,S;M, long,,', 'option-without-values'],
    ] as const) {
      const text = csvText(header, [product({ ...sizes, productOptionDescription1: 'S;M' })]);
      const shifted = text.replace('Size,DROP_DOWN,S;M,,,', partial);
      const { products, rejected } = await mapText('wix-products', shifted);

      expect(shifted).not.toBe(text);
      expect(products).toEqual([]);
      expect(rejected.map(({ reason, rows }) => [reason.code, rows])).toEqual([[code, 1]]);
    }
  });

  test('reads the newer format, with a handle and prices of its own for each variant', async () => {
    const { products, rejected } = await mapText(
      'wix-products',
      [
        'handle,fieldType,name,visible,plainDescription,media,price,strikethroughPrice,inventory,sku,weight,productOptionName1,productOptionType1,productOptionChoices1',
        'linen-scarf,PRODUCT,Linen Scarf,TRUE,<p>Soft.</p>,ab12~mv2.jpg,40,,IN_STOCK,,,Colour,SWATCH_CHOICES,#fff:White;#000:Black',
        'linen-scarf,VARIANT,,TRUE,,,40,50,3,LS-W,0.2,,,#fff:White',
        'linen-scarf,VARIANT,,TRUE,,,45,,OUT_OF_STOCK,LS-B,0.2,,,#000:Black',
        'linen-scarf,MEDIA,,,,https://img.example/2.jpg,,,,,,,,',
      ].join('\n'),
    );

    expect(rejected).toEqual([]);
    expect(products[0]).toMatchObject({
      key: 'linen-scarf',
      rows: 4,
      body: {
        title: 'Linen Scarf',
        description: '<p>Soft.</p>',
        hidden: false,
        images: ['https://static.wixstatic.com/media/ab12~mv2.jpg', 'https://img.example/2.jpg'],
        options: [{ name: 'Colour', values: ['White', 'Black'], advanced: true }],
        variants: [
          {
            options: ['White'],
            price: 40,
            onSale: true,
            regularPrice: 50,
            salePrice: 40,
            quantity: 3,
            sku: 'LS-W',
            weight: 0.2,
          },
          {
            options: ['Black'],
            price: 45,
            onSale: false,
            regularPrice: 45,
            quantity: 0,
            sku: 'LS-B',
            weight: 0.2,
          },
        ],
      },
    });
  });
});
