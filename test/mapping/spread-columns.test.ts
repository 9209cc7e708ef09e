import { describe, expect, it } from 'vitest';
import { checkMapping } from '../../src/mapping/compile-mapping.ts';
import { proposeMapping } from '../../src/onboarding/guess/propose-mapping.ts';
import { brief, mapAll, mappingOf, products, table } from './mapping-setup.ts';

function rowsOf(text: string) {
  const [header = [], ...rows] = text.split('\n').map((line) => line.split(';'));
  return { header, rows };
}

/** The variants that the proposed mapping makes, in short; the questions where it asks. */
async function variantsOf(text: string, answers: Readonly<Record<string, string>> = {}) {
  const { header, rows } = rowsOf(text);
  const { spec, questions } = proposeMapping('products', { header, rows }, answers);
  if (spec === null)
    return questions.map(({ id, answers: offered }) => [id, offered.map(({ value }) => value)]);
  expect(checkMapping(spec)).toEqual([]);
  const { mapped } = await mapAll(spec, [table(header, rows)]);
  return products(mapped).map(({ variants }) =>
    variants.map(({ options, price, quantity, sku }) =>
      [...options, price, quantity, sku].filter((one) => one !== undefined).join(' '),
    ),
  );
}

describe('columns that each are a variant', () => {
  it.each([
    [
      'sizes with the stock',
      'SKU;Name;Price;S;M;XL\nA1;Shirt;4.00;5;1;\nA2;Coat;5.00;0;2;1',
      [
        ['S 4 5', 'M 4 1'],
        ['S 5 0', 'M 5 2', 'XL 5 1'],
      ],
    ],
    [
      'the stock of each size',
      'Name;Price;Stock S;Stock M\nShirt;4.00;5;1\nCoat;5.00;0;2',
      [
        ['S 4 5', 'M 4 1'],
        ['S 5 0', 'M 5 2'],
      ],
    ],
    [
      'stock and price of each size',
      'Name;Stock S;Stock M;Price S;Price M\nShirt;5;1;4.00;4.50\nCoat;0;2;5.00;6.00',
      [
        ['S 4 5', 'M 4.5 1'],
        ['S 5 0', 'M 6 2'],
      ],
    ],
    [
      'sizes of a colour',
      'Name;Colour;Price;S;M\nShirt;red;4.00;5;1\nShirt;blue;4.00;0;2',
      [['red S 4 5', 'red M 4 1', 'blue S 4 0', 'blue M 4 2']],
    ],
  ])('%s', async (_, text, expected) => {
    expect(await variantsOf(text)).toEqual(expected);
  });

  it.each([
    [
      'numbers that may be a stock',
      'Name;Price;36;37;38\nShoe;4.00;5;1;0\nBoot;5.00;0;2;1',
      ['stock', 'leave-out'],
      'stock',
      [
        ['36 4 5', '37 4 1', '38 4 0'],
        ['36 5 0', '37 5 2', '38 5 1'],
      ],
    ],
    [
      'numbers that grow with the size',
      'Name;Price;S;M\nShirt;4.00;52;54\nCoat;5.00;53;55',
      ['stock', 'leave-out'],
      'leave-out',
      [['4'], ['5']],
    ],
    [
      'a second stock',
      'Name;Price;Stock;S;M\nShirt;4.00;6;5;1\nCoat;5.00;2;0;2',
      ['stock', 'leave-out'],
      'leave-out',
      [['4 6'], ['5 2']],
    ],
    [
      'marks',
      'Name;Price;S;M\nShirt;4.00;x;\nCoat;5.00;x;x',
      ['offered', 'leave-out'],
      'offered',
      [['S 4'], ['S 5', 'M 5']],
    ],
    [
      'amounts without a price',
      'Name;S;M\nShirt;4.00;4.50\nCoat;5.00;6.00',
      ['price', 'leave-out'],
      'price',
      [
        ['S 4', 'M 4.5'],
        ['S 5', 'M 6'],
      ],
    ],
  ])('are asked about: %s', async (_, text, offered, answer, expected) => {
    const { header } = rowsOf(text);
    const id = `unused.${header.find((one) => /^(?:S|36)$/.test(one))}`;
    expect(await variantsOf(text)).toEqual([[id, offered]]);
    expect(await variantsOf(text, { [id]: answer })).toEqual(expected);
  });

  it('do not take further columns that a pattern would match, nor add the total to its parts', async () => {
    const text = 'Name;Price;Stock S;Stock M;Stock total\nShirt;4.00;5;1;6\nCoat;5.00;0;2;2';
    expect(await variantsOf(text)).toEqual([['unused.Stock S', ['leave-out', 'sum']]]);
    expect(await variantsOf(text, { 'unused.Stock S': 'sum' })).toEqual([['4 6'], ['5 2']]);
    expect(await variantsOf(text.replace('total', 'depot'), { 'unused.Stock S': 'sum' })).toEqual([
      ['4 6'],
      ['5 2'],
    ]);
    const others = text.replace('total', 'depot').replace(';6', ';7');
    expect(await variantsOf(others, { 'unused.Stock S': 'sum' })).toEqual([['4 13'], ['5 4']]);
  });
});

const SPEC = mappingOf(`
import: products
columns: { name: Name, price: Price, stock: { header: "Stock {size}", occurrence: all } }
product: { url: [name, slug], title: name }
options: { fromColumns: { name: Size, columns: stock } }
variants: { pricing: { price: price }, quantity: [stock, integer] }
`);

describe('options.fromColumns', () => {
  it('rejects a product whose columns are all blank, and names the column of a wrong cell', async () => {
    const rows = [
      ['Shirt', '4.00', '', ''],
      ['Coat', '5.00', '1', 'few'],
    ];
    const { mapped } = await mapAll(SPEC, [table(['Name', 'Price', 'Stock S', 'Stock M'], rows)]);
    expect(mapped.map(brief)).toEqual([
      'rejected shirt no-value-in-columns (1 row)',
      expect.stringContaining('rejected coat'),
    ]);
    expect(mapped[1]).toMatchObject({ reason: { column: 'Stock M', line: 3, field: 'variants.quantity' } });
  });

  it('takes the sizes that each file has', async () => {
    const tables = [
      table(['Name', 'Price', 'Stock S'], [['Shirt', '4.00', '1']], 0),
      table(['Name', 'Price', 'Stock M', 'Stock S'], [['Coat', '5.00', '2', '3']], 1),
    ];
    const { mapped } = await mapAll(SPEC, tables);
    expect(
      products(mapped).map(({ variants }) => variants.map(({ options, quantity }) => [...options, quantity])),
    ).toEqual([
      [['S', 1]],
      [
        ['S', 3],
        ['M', 2],
      ],
    ]);
  });

  it('lists its values in the order of the columns, also beside other options', async () => {
    const spec = mappingOf(`
import: products
columns: { name: Name, colour: Colour, price: Price, stock: { header: "Stock {size}", occurrence: all } }
group: { by: [name, slug], rows: adjacent }
product: { url: [name, slug], title: name }
options: { columns: { Colour: colour }, fromColumns: { name: Size, columns: stock } }
variants: { pricing: { price: price }, quantity: [stock, integer] }
`);
    const rows = [
      ['Shirt', 'red', '4.00', '', '2'],
      ['Shirt', 'blue', '4.00', '1', '3'],
    ];
    const { mapped } = await mapAll(spec, [table(['Name', 'Colour', 'Price', 'Stock S', 'Stock M'], rows)]);
    expect(products(mapped)[0]?.options.map(({ name, values }) => [name, values])).toEqual([
      ['Colour', ['red', 'blue']],
      ['Size', ['S', 'M']],
    ]);
  });

  it('needs families of headers', () => {
    const single = mappingOf(`
import: products
columns: { name: Name, price: Price, stock: Stock }
product: { url: [name, slug], title: name }
options: { fromColumns: { name: Size, columns: stock } }
variants: { pricing: { price: price }, quantity: [stock, integer] }
`);
    expect(
      checkMapping(single)
        .map(({ message }) => message)
        .join(),
    ).toContain('is not a family of headers');
  });
});
