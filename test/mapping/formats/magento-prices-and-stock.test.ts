import { describe, expect, test } from 'vitest';
import { map, type Row, simple } from './magento-rows.ts';
import { mapText } from './map-text.ts';

describe('prices and stock of magento-products', () => {
  test.each([
    ['during the sale', '2026-03-10T12:00:00Z', true],
    ['on its last day', '2026-03-20T23:00:00Z', true],
    ['before it', '2026-02-28T23:59:00Z', false],
    ['after it', '2026-03-21T00:00:00Z', false],
  ])('applies a special price %s', async (_, now, onSale) => {
    for (const [from, to] of [
      ['2026-03-01 00:00:00', '2026-03-20 00:00:00'],
      ['3/1/26', '3/20/26'],
      ['01.03.2026 00:00', '20.03.2026'],
    ]) {
      const { products } = await map(
        [
          simple('A', {
            visibility: 'Catalog',
            special_price: '7.5000',
            special_price_from_date: from ?? '',
            special_price_to_date: to ?? '',
          }),
        ],
        { now },
      );

      expect(products[0]?.body.variants[0]).toMatchObject({
        onSale,
        regularPrice: 10,
        price: onSale ? 7.5 : 10,
      });
    }
  });

  test('reads days and months in the order the job names, and in no other', async () => {
    const rows = [
      simple('A', { visibility: 'Catalog', special_price: 7, special_price_from_date: '03/01/2026' }),
    ];
    const now = '2026-01-15T00:00:00Z';

    const unset = await map(rows, { now });
    const british = await map(rows, { now, params: { dateFormat: 'dd/MM/yyyy' } });
    const american = await map(rows, { now, params: { dateFormat: 'MM/dd/yyyy' } });

    expect(unset.rejected).toHaveLength(1);
    expect(british.products[0]?.body.variants[0]?.onSale).toBe(true);
    expect(american.products[0]?.body.variants[0]?.onSale).toBe(false);
  });

  test('rejects a special price date it cannot read rather than guess', async () => {
    const { rejected } = await map([
      simple('A', { visibility: 'Catalog', special_price: 7, special_price_from_date: 'soon' }),
    ]);

    expect(rejected[0]?.reason).toMatchObject({ line: 2, column: 'special_price_from_date' });
  });

  test.each<[string, Row, number | undefined]>([
    ['counts stock that is managed', {}, 5],
    ['counts stock that is managed by the configuration', { manage_stock: 0, use_config_manage_stock: 1 }, 5],
    ['leaves out stock that is not managed', { manage_stock: 0 }, undefined],
    ['shows what is out of stock as 0', { is_in_stock: 0 }, 0],
    ['raises negative stock to 0', { qty: '-3.0000' }, 0],
  ])('%s', async (_, row, quantity) => {
    const { products } = await map([simple('A', { visibility: 'Catalog, Search', ...row })]);

    expect(products[0]?.body.variants[0]?.quantity).toBe(quantity);
  });

  test('takes the quantity as it is when the columns about managing stock are missing', async () => {
    const { products } = await mapText(
      'magento-products',
      'sku,product_type,name,price,qty\nA,simple,Lamp,10,4\n',
    );

    expect(products[0]).toMatchObject({ key: 'lamp', body: { variants: [{ quantity: 4 }] } });
  });
});
