import { expect, it } from 'vitest';
import { mapAll, mappingOf, products, table } from './mapping-setup.ts';

const MAPPING = mappingOf(`
import: products
columns: { title: Title, price: Price, stock: Stock }
product: { url: title, title: title, hidden: { stock: { below: 100 } } }
variants: { pricing: { price: price } }
`);

it.each([
  ['99', true],
  ['100', false],
  ['2,50', true],
  ['0,0000', true],
  ['2,50 €', true],
  ['-1,0', true],
  ['150,00', false],
  ['1,250.00', false],
  ['1.250,00', false],
  // 1.25 or 1250.
  ['1,250', false],
  ['few', false],
])('a test of a number reads %s as it may be written: %s', async (stock, isBelow) => {
  const { mapped } = await mapAll(MAPPING, [table(['Title', 'Price', 'Stock'], [['Mug', '1', stock]])]);
  expect(products(mapped).map(({ hidden }) => hidden)).toEqual([isBelow]);
});
