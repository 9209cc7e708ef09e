import { describe, expect, test } from 'vitest';
import { mapText } from './map-text.ts';

/** Each mapping of products with the smallest file it reads: a product with this price and stock. */
const FORMATS: readonly (readonly [string, (price: string, stock: string) => string])[] = [
  [
    'shopify-products',
    (price, stock) => `Handle,Title,Variant Price,Variant Inventory Qty\na,Cup,${price},${stock}`,
  ],
  ['woocommerce-products', (price, stock) => `Type,Name,Regular price,Stock\nsimple,Cup,${price},${stock}`],
  [
    'google-merchant-products',
    (price, stock) => `id,title,price,quantity,availability\na,Cup,${price},${stock},in stock`,
  ],
  ['etsy-products', (price, stock) => `TITLE,PRICE,QUANTITY\nCup,${price},${stock}`],
  [
    'wix-products',
    (price, stock) => `handleId,fieldType,name,price,inventory\np,Product,Cup,${price},${stock}`,
  ],
  ['squarespace-products', (price, stock) => `Product URL,Title,Price,Stock\ncup,Cup,${price},${stock}`],
  [
    'magento-products',
    (price, stock) => `sku,product_type,name,url_key,price,qty\ns,simple,Cup,cup,${price},${stock}`,
  ],
  [
    'prestashop-products',
    (price, stock) => `Product ID,Name *,Price tax excluded,Reference #,Quantity\n1,Cup,${price},C,${stock}`,
  ],
  [
    'bigcommerce-products',
    (price, stock) =>
      `Item,Name,Type,Options,Inventory Tracking,Current Stock,Price\nProduct,Cup,physical,,product,${stock},${price}`,
  ],
  [
    'opencart-products',
    (price, stock) => `name(en-gb),model,quantity,price,status\nCup,C,${stock},${price},true`,
  ],
  ['shopware-products', (price, stock) => `product_number,stock,name,price_gross\nC,${stock},Cup,${price}`],
  [
    'square-products',
    (price, stock) =>
      `Item Name,Variation Name,Price,Current Quantity Harbour\nCup,Regular,${price},${stock}`,
  ],
  [
    'ecwid-products',
    (price, stock) =>
      `type,product_internal_id,product_name,product_price,product_is_inventory_tracked,product_quantity\nproduct,7,Cup,${price},true,${stock}`,
  ],
  [
    'lightspeed-products',
    (price, stock) => `handle,sku,name,retail_price,inventory_Main_Outlet\ncup,C,Cup,${price},${stock}`,
  ],
  [
    'yml-products',
    (price, stock) => `@id,name,price,currencyId,categoryId,count\na,Cup,${price},RUB,1,${stock}`,
  ],
  ['ceneo-products', (price, stock) => `@id,@price,@avail,@stock,name\na,${price},1,${stock},Cup`],
  [
    'skroutz-products',
    (price, stock) => `id,name,link,price_with_vat,quantity\na,Cup,https://s.example,${price},${stock}`,
  ],
  [
    'shopify-json-products',
    (price, stock) =>
      `handle,title,variants[].price,variants[].inventory_quantity,variants[].inventory_management\na,Cup,${price},${stock},shopify`,
  ],
];

/** What a job must say for some mappings. */
const PARAMS: Readonly<Record<string, Readonly<Record<string, boolean>>>> = {
  'opencart-products': { withoutOptions: true },
  'prestashop-products': { combinations: false },
};

describe.each(FORMATS)('%s', (mapping, file) => {
  const params = PARAMS[mapping] ?? {};
  const map = async (price: string, stock: string) => {
    const { products, rejected } = await mapText(mapping, file(price, stock), { params, delimiter: ',' });
    const [variant] = products[0]?.body.variants ?? [];
    return variant === undefined ? rejected[0]?.reason.code : [variant.price, variant.quantity];
  };

  test('reads a price and a stock', async () => {
    expect(await map('15.50', '7')).toEqual([15.5, 7]);
  });

  test('takes a price of 1.500 for neither 1.5 nor 1500', async () => {
    expect(await map('1.500', '7')).toBe('number-ambiguous');
  });

  test('takes a stock of 1.000 for neither 1 nor 1000', async () => {
    // Feeds have texts such as '100 ML' here: what is no count is not sent.
    const expected = mapping === 'google-merchant-products' ? [15.5, undefined] : 'number-ambiguous';
    expect(await map('15.50', '1.000')).toEqual(expected);
  });
});
