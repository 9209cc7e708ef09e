import { describe, expect, test } from 'vitest';
import { mapText } from './map-text.ts';

const map = (...lines: string[]) => mapText('woocommerce-products', lines.join('\n'));

describe('woocommerce-products', () => {
  test('finds variations by SKU and by id, before and after their parent', async () => {
    const { products, rows } = await map(
      'ID,Type,SKU,Name,Published,Regular price,Parent,Attribute 1 name,Attribute 1 value(s)',
      '11,variation,T-M,Tee - M,1,21,T,Size,M',
      '10,variable,T,Tee,1,,,Size,"S, M"',
      '12,variation,T-S,Tee - S,1,20,id:10,Size,S',
    );

    expect(rows).toBe(3);
    expect(products).toHaveLength(1);
    expect(products[0]?.body.variants.map(({ options, price }) => [options, price])).toEqual([
      [['M'], 21],
      [['S'], 20],
    ]);
  });

  test.each([
    [
      ['parent', 'parent', '3'],
      [undefined, undefined, 3],
    ],
    [
      ['parent', '3', '3'],
      [8, 3, 3],
    ],
  ])(
    'gives the stock of the parent to one variation, not to each of several: %j',
    async (stocks, quantities) => {
      const { products } = await map(
        'Type,SKU,Name,Published,In stock?,Stock,Regular price,Parent,Attribute 1 name,Attribute 1 value(s)',
        'variable,T,Tee,1,1,8,,,Size,"S, M, L"',
        ...stocks.map((stock, index) => `variation,T-${index},Tee,1,1,${stock},20,T,Size,${'SML'[index]}`),
      );

      expect(products[0]?.body.variants.map(({ quantity }) => quantity)).toEqual(quantities);
      const note = 'variants.quantity: one stock for several variants together, left out';
      expect(products[0]?.notes).toEqual(quantities.includes(undefined) ? [note] : undefined);
    },
  );

  test('matches attributes by name where rows number them differently', async () => {
    const { products } = await map(
      'Type,SKU,Name,Published,Regular price,Parent,Attribute 1 name,Attribute 1 value(s),Attribute 2 name,Attribute 2 value(s)',
      'variable,T,Tee,1,,,Size,"S, M",Colour,"Red, Blue"',
      'variation,T-1,Tee,1,20,T,Colour,Red,Size,S',
      'variation,T-2,Tee,1,20,T,Size,M,Colour,Blue',
    );

    expect(products[0]?.body.options.map(({ name }) => name)).toEqual(['Size', 'Colour']);
    expect(products[0]?.body.variants.map(({ options }) => options)).toEqual([
      ['S', 'Red'],
      ['M', 'Blue'],
    ]);
  });

  test('reads rows that were written before the header grew', async () => {
    const { products, rejected } = await map(
      'Type,SKU,Name,Published,Regular price,Attribute 1 name,Attribute 1 value(s)',
      'simple,A,Cap,1,5',
      'simple,B,Mug,1,6,Material,Clay',
    );

    expect(rejected).toEqual([]);
    expect(products.map(({ key }) => key)).toEqual(['cap', 'mug']);
  });

  test.each([
    ['0', 'notify', 0],
    ['', 'notify', undefined],
    ['notify', '0', undefined],
    ['', '0', 0],
  ])(
    'sells a variation without stock on backorder by its own cell "%s", else its parent\'s "%s"',
    async (own, parents, quantity) => {
      const { products } = await map(
        'Type,SKU,Name,Published,In stock?,Stock,Backorders allowed?,Regular price,Parent,Attribute 1 name,Attribute 1 value(s)',
        `variable,T,Tee,1,1,0,${parents},,,Size,S`,
        `variation,T-S,Tee,1,1,parent,${own},20,T,Size,S`,
      );

      expect(products[0]?.body.variants).toHaveLength(1);
      expect(products[0]?.body.variants[0]?.quantity).toBe(quantity);
    },
  );

  test.each(['0', 'nein', 'outofstock'])(
    'sends no stock of what the shop does not sell: In stock? %s',
    async (inStock) => {
      const { products } = await map(
        'Type,Name,In stock?,Stock,Regular price',
        `simple,Cup,${inStock},7,5`,
        `simple,Jug,${inStock},,5`,
      );

      expect(products.map(({ body }) => body.variants[0]?.quantity)).toEqual([0, 0]);
    },
  );

  test('rejects a variation whose parent is not in the file', async () => {
    const { products, rejected, rows } = await map(
      'Type,SKU,Name,Published,Regular price,Parent',
      'variation,T-S,Tee - S,1,20,GONE',
      'simple,A,Cap,1,5,',
    );

    expect(products.map(({ key }) => key)).toEqual(['cap']);
    expect(rejected.map(({ key }) => key)).toEqual([null]);
    expect(rows).toBe(2);
  });

  test('makes no product of variations where the file has no column for their parent', async () => {
    const { products, skipped } = await map(
      'ID,Type,Name,Regular price',
      '1,variation,Tee - S,10',
      '2,simple,Cap,5',
    );

    expect(products.map(({ key }) => key)).toEqual(['cap']);
    expect(skipped.map(({ reason }) => reason.line)).toEqual([2]);
  });

  test('rejects a product of which a variation names an attribute that the product does not have', async () => {
    const { products, rejected } = await map(
      'ID,Type,SKU,Name,Regular price,Parent,Attribute 1 name,Attribute 1 value(s),Attribute 2 name,Attribute 2 value(s)',
      '1,variable,T,Tee,,,Size,"S, M",,',
      '2,variation,T-S,,10,T,Size,S,Colour,',
      '3,variation,T-M,,10,T,Size,M,Colour,Red',
      '4,variable,C,Cap,,,Size,"S, M",,',
      '5,variation,C-S,,5,C,Size,S,Colour,',
    );

    expect(products.map(({ key, body }) => [key, body.options?.map(({ name }) => name)])).toEqual([
      ['cap', ['Size']],
    ]);
    expect(rejected.map(({ key, rows, reason }) => [key, rows, reason.code, reason.line])).toEqual([
      ['tee', 3, 'option-unknown', 4],
    ]);
  });

  test('does not import a product without the variation whose parent has shifted into another cell', async () => {
    const { products, rejected } = await map(
      'ID,Type,SKU,Name,In stock?,Regular price,Weight (kg),Parent,Attribute 1 name,Attribute 1 value(s)',
      '1,simple,C,Cap,1,5,,,,',
      '2,variable,T,Tee,1,,,,Size,"S, M"',
      '3,variation,T-S,Tee,1,10,T,,Size,S',
      '4,variation,T-M,Tee,1,10,,T,Size,M',
    );

    expect(products.map(({ key }) => key)).toEqual(['cap']);
    expect(rejected.map(({ key, rows, reason }) => [key, rows, reason.code])).toEqual([
      ['tee', 3, 'row-shifted'],
    ]);
  });

  test('does not import a product without the variation whose description has a comma without quotes', async () => {
    const { products, rejected } = await map(
      'ID,Type,SKU,Name,Published,Description,Tax status,In stock?,Regular price,Parent,Attribute 1 name,Attribute 1 value(s)',
      '1,simple,C,Cap,1,,taxable,1,5,,,',
      '2,variable,T,Tee,1,,taxable,1,,,Size,"S, M"',
      '3,variation,T-S,Tee,1,Soft, warm,taxable,1,10,T,Size,S',
      '4,variation,T-M,Tee,1,,taxable,1,10,T,Size,M',
      '5,simple,J,Jug,1,,taxable,1,5,,,',
    );

    expect(products.map(({ key }) => key)).toEqual(['cap', 'jug']);
    expect(rejected.map(({ key, rows, reason }) => [key, rows, reason.line])).toEqual([['tee', 3, 4]]);
  });

  test('does not import a product without the variation whose row lacks a cell', async () => {
    const { products } = await map(
      'ID,Type,SKU,Name,Published,Description,In stock?,Stock,Regular price,Parent,Attribute 1 name,Attribute 1 value(s)',
      '2,variable,T,Tee,1,Soft,1,,,,Size,"S, M"',
      '3,variation,T-S,Tee,1,1,7,10,T,Size,S',
      '4,variation,T-M,Tee,1,,1,7,10,T,Size,M',
    );

    expect(products).toEqual([]);
  });
});
