import { describe, expect, it } from 'vitest';
import { proposeMapping } from '../../../src/onboarding/guess/propose-mapping.ts';
import { mapAll, products, table } from '../../mapping/mapping-setup.ts';
import { guessed } from './guess-setup.ts';

const variants = (text: string, answers?: Readonly<Record<string, string>>) =>
  guessed(
    text,
    ({ title, options, variants: all }) => [
      [title, ...options.map(({ name }) => name)].join(': '),
      ...all.map((one) => `${one.options.join('/')} ${one.sku} ${one.price}`),
    ],
    answers,
  );

describe('options whose names and values are in columns of their own', () => {
  const products = [
    ['Tee: Color', 'Red TEE-R 5', 'Blue TEE-B 6'],
    ['Cap', ' CAP 7'],
  ];

  it.each([
    [
      'the SKU',
      'SKU;Name;Price;Parent;Attribute 1 name;Attribute 1 value(s);Attribute 1 visible',
      'TEE;Tee;;;Color;Red, Blue;1\nTEE-R;Tee - Red;5.00;TEE;Color;Red;1\nTEE-B;Tee - Blue;6.00;TEE;Color;Blue;1\nCAP;Cap;7.00;;Material;Wool;1',
    ],
    [
      'an id',
      'ID;SKU;Name;Price;Parent;Attribute 1 name;Attribute 1 value(s)',
      '1;;Tee;;;Color;Red, Blue\n2;TEE-R;Tee - Red;5.00;id:1;Color;Red\n3;TEE-B;Tee - Blue;6.00;id:1;Color;Blue\n4;CAP;Cap;7.00;;;',
    ],
    [
      'headers in German',
      'Artikelnummer;Name;Preis;Übergeordnetes Produkt;Attribut 1 Name;Attribut 1 Wert(e)',
      'TEE;Tee;;;Color;Red, Blue\nTEE-R;Tee - Red;5,00;TEE;Color;Red\nTEE-B;Tee - Blue;6,00;TEE;Color;Blue\nCAP;Cap;7,00;;;',
    ],
    [
      'its name',
      'SKU;Name;Price;Option Name 1;Option Value 1',
      'TEE-R;Tee;5.00;Color;Red\nTEE-B;Tee;6.00;Color;Blue\nCAP;Cap;7.00;;',
    ],
    [
      'blank names, and the word for no options',
      'SKU;Title;Price;Option1 Name;Option1 Value',
      'TEE-R;Tee;5.00;Color;Red\nTEE-B;;6.00;;Blue\nCAP;Cap;7.00;Title;Default Title',
    ],
    [
      'blank names below a row with the list',
      'SKU;Name;Price;productOptionName1;productOptionDescription1',
      'TEE;Tee;4.00;Color;Red;Blue\nTEE-R;;5.00;Color;Red\nTEE-B;;6.00;Color;Blue\nCAP;Cap;7.00;;'.replace(
        'Red;Blue',
        'Red|Blue',
      ),
    ],
  ])('are those of rows that belong together by %s', async (_, header, rows) => {
    expect(await variants(`${header}\n${rows}`)).toEqual(products);
  });

  it('are numbered', async () => {
    const text =
      'SKU;Name;Price;Option 1 name;Option 1 value;Option 2 name;Option 2 value;Option 3 name;Option 3 value\nA;Tee;5.00;Color;Red;Size;S;Fit;Slim\nB;Tee;6.00;Color;Red;Size;M;Fit;Wide';
    expect(await variants(text)).toEqual([['Tee: Color: Size: Fit', 'Red/S/Slim A 5', 'Red/M/Wide B 6']]);
  });

  it('that a variation leaves open may be any of those that its parent lists', async () => {
    const text =
      'SKU;Name;Price;Parent;Attribute 1 name;Attribute 1 value(s);Attribute 2 name;Attribute 2 value(s)\nTEE;Tee;;;Color;Red, Blue;Size;S, M\nTEE-R;Tee - Red;5.00;TEE;Color;Red;Size;\nTEE-B;Tee - Blue;6.00;TEE;Color;Blue;Size;M';
    expect(await variants(text)).toEqual([
      ['Tee: Color: Size', 'Red/S TEE-R 5', 'Red/M TEE-R 5', 'Blue/M TEE-B 6'],
    ]);
  });

  it('that a row lists are all of a product without further rows, beside products with them', async () => {
    const text =
      'SKU;Name;Price;productOptionName1;productOptionDescription1\nTEE;Tee;4.00;Color;Red|Blue\nTEE-R;;5.00;Color;Red\nTEE-B;;6.00;Color;Blue\nCAP;Cap;7.00;Size;S|M';
    expect(await variants(text)).toEqual([
      ['Tee: Color', 'Red TEE-R 5', 'Blue TEE-B 6'],
      ['Cap: Size', 'S CAP 7', 'M CAP 7'],
    ]);
  });

  it('of a product alone are no options', async () => {
    const text =
      'SKU;Name;Price;Attribute 1 name;Attribute 1 value(s);Attribute 1 visible\nA;Mug;5.00;Material;Clay;1\nB;Jug;6.00;Material;Glass;0';
    expect(await variants(text)).toEqual([
      ['Mug', ' A 5'],
      ['Jug', ' B 6'],
    ]);
  });
});

it('asks of which product rows are variants where only their kind says that', async () => {
  const text =
    'Kind;SKU;Name;Price;Family;Size\nparent;T;Tee;1.00;F1;\nvariant;T-S;Tee S;5.00;F1;S\nvariant;T-M;Tee M;6.00;F1;M';
  expect(await variants(text)).toEqual(['group']);
  expect(await variants(text, { group: 'none' })).toEqual([
    ['Tee', ' T 1'],
    ['Tee S', ' T-S 5'],
    ['Tee M', ' T-M 6'],
  ]);
});

it('takes words in lower case for the SKU where its header can mean nothing else', async () => {
  const text =
    'SKU;Name;Price;Parent;Attribute 1 name;Attribute 1 value(s)\ntee;Tee;;;Color;Red, Blue\ntee-red;Tee - Red;5.00;tee;Color;Red\ntee blue;Tee - Blue;6.00;tee;Color;Blue';
  expect(await variants(text)).toEqual([['Tee: Color', 'Red tee-red 5', 'Blue tee blue 6']]);
});

it("takes the signs from SKUs that a spreadsheet must not read as numbers: '00123", async () => {
  expect(await variants(`SKU;Name;Price\n'00123;Mug;5.00\n="00124";Jug;6.00`)).toEqual([
    ['Mug', ' 00123 5'],
    ['Jug', ' 00124 6'],
  ]);
});

it('asks about rows with names and the same handle', async () => {
  const text = 'Handle;SKU;Name;Price;Fit\ntee;T-1;Tee;5.00;slim\ntee;T-2;Tee;6.00;wide';
  expect(await variants(text)).toEqual(['group']);
  expect(await variants(text, { group: 'Handle' })).toEqual(['column.option']);
  expect(await variants(text, { group: 'Handle', 'column.option': 'Fit' })).toEqual([
    ['Tee: Fit', 'slim T-1 5', 'wide T-2 6'],
  ]);
});

describe('rows with the same name, of which a few have the same size', () => {
  const header = ['SKU', 'Name', 'Price', 'Size'];
  const rows = ['Tee', 'Cap'].flatMap((name) =>
    ['S', 'M', 'L'].map((size) => [`${name}-${size}`, name, '5.00', size]),
  );
  const propose = (all: readonly string[][], answers = {}) =>
    proposeMapping('products', { header, rows: all }, answers);

  it('are asked about: a row that repeats another makes no products of the variants', async () => {
    const twice = [...rows, ['TEE-S-2', 'Tee', '5.00', 'S']];
    const [question] = propose(twice).questions;
    expect([question?.id, question?.answers.map(({ value }) => value)]).toEqual(['group', ['Name', 'none']]);
    const { spec } = propose(twice, { group: 'Name' });
    if (spec === null) throw new Error('asked');
    const { mapped } = await mapAll(spec, [table(header, twice)]);
    expect(mapped.map(({ kind }) => kind).toSorted()).toEqual(['record', 'rejected']);
    expect(products(mapped).map(({ title, variants }) => [title, variants.length])).toEqual([['Cap', 3]]);
    expect(propose(twice, { group: 'none' }).questions).toEqual([]);
  });

  it('are products where most have the same', () => {
    const posters = ['A', 'B', 'C'].map((sku) => [sku, 'Poster', '5.00', 'L']);
    expect(propose(posters).questions).toEqual([]);
  });
});

it('a kind of row is no category, and is asked about where it names variants, also below repeated names', () => {
  for (const kinds of ['parent;variation', 'Vater;Kind']) {
    const [one = '', other = ''] = kinds.split(';');
    const rows = [
      ['A1', 'Tee', '4.00', one],
      ['A1-S', 'Tee', '4.00', other],
      ['A2', 'Cap', '5.00', 'single'],
    ];
    const file = { header: ['SKU', 'Name', 'Price', 'Type'], rows };
    expect(proposeMapping('products', file).questions.map(({ id }) => id)).toEqual(['group']);
    const { spec } = proposeMapping('products', file, { group: 'none' });
    expect(spec?.columns).not.toHaveProperty('category');
  }
});

it('a word for kinds of rows is a category below a header that says so, but beside variants', () => {
  const propose = (header: string, ...kinds: readonly string[]) => {
    const rows = kinds.map((kind, at) => [`A${at}`, `Dish ${at}`, '4.00', kind]);
    const file = { header: ['SKU', 'Name', 'Price', header], rows };
    return proposeMapping('products', file, { group: 'none' }).spec?.columns;
  };
  for (const header of ['Category', 'Product group', 'Kategorie'])
    expect(propose(header, 'Main', 'Single', 'Main', 'Main')).toMatchObject({ category: header });
  expect(propose('Type', 'Single', 'Single', 'Master')).not.toHaveProperty('category');
  expect(propose('Type', 'simple', 'bundle', 'fee')).not.toHaveProperty('category');
  expect(propose('Type', 'simple', 'bundle', 'kit', 'donation')).not.toHaveProperty('category');
  expect(propose('Type', 'Lamps', 'Mugs', 'Bundle')).toHaveProperty('category');
  expect(propose('Category', 'Parent', 'Parent', 'Child')).not.toHaveProperty('category');
});
