import { describe, expect, it } from 'vitest';
import { checkMapping } from '../../src/mapping/compile-mapping.ts';
import { mapAll, mappingOf, products, table } from './mapping-setup.ts';

/** Options and the options of the variants, or the code and line of the rejection. */
async function outcome(
  options: string,
  header: readonly string[],
  rows: readonly (readonly string[])[],
  rest = '',
) {
  const spec = mappingOf(`
import: products
columns: { key: Key, title: Title, 'name{n}': 'Name{n}', 'value{n}': 'Value{n}', price: Price }
group: { by: key, rows: adjacent, head: { title: present } }
product: { url: key, title: title }
options: ${options}
variants: { pricing: { price: price } ${rest} }
`);
  const { mapped } = await mapAll(spec, [table(['Key', 'Title', 'Price', ...header], rows)]);
  const [first] = mapped;
  if (first?.kind === 'rejected') {
    return `${first.reason.code} in line ${first.reason.line}`;
  }
  const [product] = products(mapped);
  return [
    product?.options.map(({ name, values }) => `${name}: ${values.join(' ')}`),
    product?.variants.map(({ options: chosen }) => chosen.join('/')),
  ];
}

const PLAIN = "{ names: 'name{n}', values: 'value{n}', none: { Title: Default Title } }";
const TWO = ['Name1', 'Value1', 'Name2', 'Value2'];

describe('options that variant rows choose', () => {
  it('are named on the head row, and have the values that variants use, as they are met', async () => {
    expect(
      await outcome(PLAIN, TWO, [
        ['k', 'T', '1', 'Size', 'S', 'Color', 'Red'],
        ['k', '', '1', '', 'M', '', 'Red'],
        ['k', '', '1', '', 'S', '', 'Blue'],
      ]),
    ).toEqual([
      ['Size: S M', 'Color: Red Blue'],
      ['S/Red', 'M/Red', 'S/Blue'],
    ]);
  });

  it('may be named on every row, alike', async () => {
    expect(
      await outcome(PLAIN, TWO, [
        ['k', 'T', '1', 'Size', 'S', '', ''],
        ['k', '', '1', 'Size', 'M', '', ''],
      ]),
    ).toEqual([['Size: S M'], ['S', 'M']]);
  });

  it('are refused when rows name them differently', async () => {
    expect(
      await outcome(PLAIN, TWO, [
        ['k', 'T', '1', 'Size', 'S', '', ''],
        ['k', '', '1', 'Length', 'M', '', ''],
      ]),
    ).toBe('option-names-differ in line 3');
  });

  it('are refused when a value has no name', async () => {
    expect(
      await outcome(PLAIN, TWO, [
        ['k', 'T', '1', 'Size', 'S', '', ''],
        ['k', '', '1', '', 'M', '', 'Red'],
      ]),
    ).toBe('option-name-missing in line 3');
  });

  it('are refused when a variant lacks a value that others have', async () => {
    expect(
      await outcome(PLAIN, TWO, [
        ['k', 'T', '1', 'Size', 'S', '', ''],
        ['k', '', '1', '', '', '', ''],
      ]),
    ).toBe('option-value-missing in line 3');
  });

  it('are refused when two of them have one name', async () => {
    expect(await outcome(PLAIN, TWO, [['k', 'T', '1', 'Size', 'S', 'Size', 'M']])).toBe(
      'option-repeated in line 2',
    );
  });

  it('are refused when two variants choose the same', async () => {
    expect(
      await outcome(PLAIN, TWO, [
        ['k', 'T', '1', 'Size', 'S', '', ''],
        ['k', '', '2', '', 'S', '', ''],
      ]),
    ).toBe('repeated-combination in line 3');
  });

  it.each([
    ['Dark Blue', 'Dark\u00a0Blue'],
    ['Caf\u00e9', 'Cafe\u0301'],
    ['S', 'S\u200b'],
  ])('are refused when two of them look the same to a buyer: %j and %j', async (one, other) => {
    const rows = [
      ['k', 'T', '1', 'Size', one],
      ['k', '', '1', '', other],
    ];
    expect(await outcome(PLAIN, ['Name1', 'Value1'], rows)).toBe('repeated-combination in line 3');
  });

  it('are none where no variant has a value', async () => {
    expect(await outcome(PLAIN, TWO, [['k', 'T', '1', 'Size', '', '', '']])).toEqual([[], ['']]);
  });

  it('are none where the only one is the word for none', async () => {
    expect(await outcome(PLAIN, TWO, [['k', 'T', '1', 'title', 'default title', '', '']])).toEqual([
      [],
      [''],
    ]);
  });

  it('are a real choice where that word is one of several values', async () => {
    expect(
      await outcome(PLAIN, TWO, [
        ['k', 'T', '1', 'Title', 'Default Title', '', ''],
        ['k', '', '1', '', 'Other', '', ''],
      ]),
    ).toEqual([['Title: Default Title Other'], ['Default Title', 'Other']]);
  });

  it('are numbered as the file numbers them, however many there are', async () => {
    const header = Array.from({ length: 12 }, (_, index) => [`Name${index + 1}`, `Value${index + 1}`]).flat();
    const cells = Array.from({ length: 12 }, (_, index) => [`N${index + 1}`, `V${index + 1}`]).flat();
    expect(await outcome(PLAIN, header, [['k', 'T', '1', ...cells]])).toEqual([
      Array.from({ length: 12 }, (_, index) => `N${index + 1}: V${index + 1}`),
      [Array.from({ length: 12 }, (_, index) => `V${index + 1}`).join('/')],
    ]);
  });

  it('may be two hundred', async () => {
    const rows = Array.from({ length: 200 }, (_, index) => [
      'k',
      index === 0 ? 'T' : '',
      '1',
      'N',
      `v${index}`,
      '',
      '',
    ]);
    const found = await outcome(PLAIN, TWO, rows);
    expect(found[1]).toHaveLength(200);
  });
});

describe('options that the head row lists', () => {
  const LISTED =
    "{ names: 'name{n}', values: 'value{n}', listed: ['value{n}', { split: ; }] , combine: true }";
  const only = ', rows: { title: blank }';

  it('show their values in the order listed, those that are used', async () => {
    expect(
      await outcome(
        LISTED,
        TWO,
        [
          ['k', 'T', '1', 'Size', 'S;M;L', '', ''],
          ['k', '', '1', '', 'L', '', ''],
          ['k', '', '1', '', 'S', '', ''],
        ],
        only,
      ),
    ).toEqual([['Size: S L'], ['L', 'S']]);
  });

  it('combine where there are no variant rows', async () => {
    expect(await outcome(LISTED, TWO, [['k', 'T', '1', 'Size', 'S;M', 'Color', 'Red;Blue']], only)).toEqual([
      ['Size: S M', 'Color: Red Blue'],
      ['S/Red', 'S/Blue', 'M/Red', 'M/Blue'],
    ]);
  });

  it('combine to at most 200', async () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => `v${index}`).join(';');
    const at = await outcome(LISTED, TWO, [['k', 'T', '1', 'A', many(20), 'B', many(10)]], only);
    expect(at[1]).toHaveLength(200);
    expect(await outcome(LISTED, TWO, [['k', 'T', '1', 'A', many(67), 'B', many(3)]], only)).toBe(
      'too-many-combinations in line 2',
    );
  });
});

describe('options by column', () => {
  it('are those that differ, where the mapping says so', async () => {
    const spec = mappingOf(`
import: products
columns: { key: Key, size: Size, color: Color, fit: Fit, price: Price }
group: { by: key, rows: anywhere }
product: { url: key, title: key }
options: { columns: { Color: color, Size: size, Fit: fit }, keep: differing }
variants: { pricing: { price: price } }
`);
    const { mapped } = await mapAll(spec, [
      table(
        ['Key', 'Size', 'Color', 'Fit', 'Price'],
        [
          ['a', 'S', 'Red', '', '1'],
          ['a', 'M', 'Red', '', '1'],
          ['b', 'S', 'Red', 'x', '1'],
          ['c', 'S', 'Red', '', '1'],
          ['c', 'S', 'Red', '', '2'],
        ],
      ),
    ]);
    expect(products(mapped).map(({ options }) => options.map(({ name }) => name))).toEqual([['Size'], []]);
    expect(mapped[2]).toMatchObject({ kind: 'rejected', reason: { code: 'repeated-combination' } });
  });
});

describe('options that each row lists in a cell', () => {
  const listing = (names: string, values: string, rows: readonly (readonly string[])[]) =>
    mapAll(
      mappingOf(`
import: products
columns: { key: Key, price: Price, names: Names, values: Values }
group: { by: key, rows: adjacent }
product: { url: key, title: key }
options: { names: ${names}, values: ${values} }
variants: { pricing: { price: price } }
`),
      [table(['Key', 'Price', 'Names', 'Values'], rows)],
    );
  const lists = (rows: readonly (readonly string[])[]) =>
    listing('[names, { split: "," }]', '[values, { split: "," }]', rows);

  it('are matched by name, in whatever order a row lists them', async () => {
    const { mapped } = await lists([
      ['k', '1', 'Size, Color', 'S, Red'],
      ['k', '2', 'Color, Size', 'Blue, M'],
    ]);
    const [product] = products(mapped);
    expect(product?.options.map(({ name, values }) => [name, values])).toEqual([
      ['Size', ['S', 'M']],
      ['Color', ['Red', 'Blue']],
    ]);
    expect(product?.variants.map(({ options }) => options)).toEqual([
      ['S', 'Red'],
      ['M', 'Blue'],
    ]);
  });

  it.each([
    ['there are more values than names', 'Size', 'S, Red', 'option-lists-differ'],
    ['there are fewer values than names', 'Size, Color', 'S', 'option-lists-differ'],
    ['there are fewer values than places', 'Size, , Color', 'S, Red', 'option-lists-differ'],
    ['a value has no name', 'Size, , Color', 'S, Slim, Red', 'option-name-missing'],
    ['a name comes twice', 'Size, Size', 'S, M', 'option-repeated'],
  ])('are refused where %s', async (_, names, values, code) => {
    const { mapped } = await lists([
      ['k', '1', 'Size, Color', 'M, Red'],
      ['k', '2', names, values],
    ]);
    expect(mapped).toMatchObject([{ kind: 'rejected', reason: { code, line: 3, field: 'options' } }]);
  });

  it.each([
    ['Fit, Size, Color', ', S, Red'],
    ['Size, Fit, Color, ', 'S, , Red'],
    ['Size, , Color', 'S, , Red, '],
    ['Size, Color, Fit', 'S, Red, '],
  ])('are matched by their places: %s are %s', async (names, values) => {
    const [commas, lines] = await Promise.all([
      lists([['k', '1', names, values]]),
      listing('[names, { split: "\\n" }]', '[values, { split: "\\n" }]', [
        ['k', '1', names.replaceAll(', ', '\n'), values.replaceAll(', ', '\n')],
      ]),
    ]);
    for (const { mapped } of [commas, lines])
      expect(products(mapped)[0]?.options.map((option) => [option.name, option.values])).toEqual([
        ['Size', ['S']],
        ['Color', ['Red']],
      ]);
  });

  it('need a list of values', () => {
    const spec = mappingOf(`
import: products
columns: { key: Key, price: Price, names: Names, values: Values }
product: { url: key, title: key }
options: { names: [names, { split: "," }], listed: values }
variants: { pricing: { price: price } }
`);
    expect(checkMapping(spec).map(({ message }) => message)).toContain(
      'a list of names goes with a list of values, and not with listed',
    );
  });
});

describe('options whose names are in the headers', () => {
  const spec = (options: string, column = 'header: "Option: {name}", occurrence: all') =>
    mappingOf(`
import: products
columns: { key: Key, price: Price, option: { ${column} } }
group: { by: key, rows: anywhere }
product: { url: key, title: key }
options: ${options}
variants: { pricing: { price: price } }
`);

  it('are those for which a variant has a value, by name in files whose columns differ', async () => {
    const { mapped } = await mapAll(spec('{ columns: option }'), [
      table(
        ['Key', 'Price', 'Option: Size', 'Option: Colour'],
        [
          ['a', '1', 'S', 'Red'],
          ['b', '2', 'XL', ''],
        ],
      ),
      table(
        ['Key', 'Option: Colour', 'Option: Fit', 'Price', 'Option: Size'],
        [['a', 'Blue', '', '1', 'M']],
        1,
      ),
    ]);
    expect(
      products(mapped).map(({ url, options, variants }) => [
        url,
        options,
        variants.map((one) => one.options),
      ]),
    ).toEqual([
      [
        'a',
        [
          { name: 'Size', values: ['S', 'M'], advanced: false },
          { name: 'Colour', values: ['Red', 'Blue'], advanced: false },
        ],
        [
          ['S', 'Red'],
          ['M', 'Blue'],
        ],
      ],
      ['b', [{ name: 'Size', values: ['XL'], advanced: false }], [['XL']]],
    ]);
  });

  it('take values through transforms', async () => {
    const { mapped } = await mapAll(spec('{ columns: option, values: [option, lower] }'), [
      table(['Key', 'Price', 'Option: Size'], [['a', '1', 'S']]),
    ]);
    expect(products(mapped)[0]?.variants[0]?.options).toEqual(['s']);
  });

  it('need a family of headers', () => {
    expect(checkMapping(spec('{ columns: option }', 'header: Option')).map(({ message }) => message)).toEqual(
      ['option is not a family of headers: expected a column with `occurrence: all`'],
    );
    expect(checkMapping(spec('{ columns: choice }')).map(({ message }) => message)).toContainEqual(
      expect.stringContaining('choice'),
    );
  });
});

describe('advanced', () => {
  const advancedOf = async (rows: readonly (readonly string[])[], options = '') => {
    const spec = mappingOf(`
import: products
columns: { key: Key, size: Size, colour: Colour, price: Price, was: Was, stock: Stock, sku: SKU, weight: Weight }
group: { by: key, rows: adjacent }
product: { url: key, title: key }
options: { columns: { Size: size, Colour: colour } ${options} }
variants:
  sku: sku
  pricing: { price: [price, number], was: [was, number] }
  quantity: [stock, integer]
  weight: { value: [weight, number], unit: store }
`);
    const header = ['Key', 'Size', 'Colour', 'Price', 'Was', 'Stock', 'SKU', 'Weight'];
    const { mapped } = await mapAll(spec, [table(header, rows)]);
    return products(mapped).map((product) => product.options.map(({ advanced }) => advanced));
  };
  const first = ['k', 'S', 'Red', '10', '', '5', 'a', '1'];

  it.each([
    ['nothing', ['k', 'M', 'Red', '10', '', '5', 'a', '1'], false],
    ['price', ['k', 'M', 'Red', '11', '', '5', 'a', '1'], true],
    ['sale', ['k', 'M', 'Red', '10', '12', '5', 'a', '1'], true],
    ['stock', ['k', 'M', 'Red', '10', '', '6', 'a', '1'], true],
    ['stock that is not tracked', ['k', 'M', 'Red', '10', '', '', 'a', '1'], true],
    ['SKU', ['k', 'M', 'Red', '10', '', '5', 'b', '1'], true],
    ['weight', ['k', 'M', 'Red', '10', '', '5', 'a', '2'], true],
  ])('is said of all options if variants differ in %s', async (_what, second, advanced) => {
    expect(await advancedOf([first, second])).toEqual([[advanced, advanced]]);
  });

  it('is false for an only variant, and what the mapping says otherwise', async () => {
    expect(await advancedOf([first])).toEqual([[false, false]]);
    const differing = ['k', 'M', 'Red', '11', '', '5', 'b', '1'];
    expect(await advancedOf([first, differing], ', advanced: false')).toEqual([[false, false]]);
    expect(await advancedOf([first], ', advanced: true')).toEqual([[true, true]]);
  });
});
