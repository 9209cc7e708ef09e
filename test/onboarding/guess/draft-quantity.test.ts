import { describe, expect, it } from 'vitest';
import { proposeMapping } from '../../../src/onboarding/guess/propose-mapping.ts';
import { mapAll, products, table } from '../../mapping/mapping-setup.ts';
import { guessed } from './guess-setup.ts';

type Answers = Readonly<Record<string, string>>;
const stocks = (text: string, answers?: Answers) =>
  guessed(text, ({ variants: [one] }) => one?.quantity ?? null, answers);
const weights = (text: string, answers?: Answers) =>
  guessed(text, ({ variants: [one] }) => one?.weight ?? null, answers);

describe('a column that says what is sold out', () => {
  it.each([
    ['Sold out', 'yes', 'no'],
    ['Ausverkauft', 'x', ''],
    ['Nicht lieferbar', '1', '0'],
    ['Agotado', 'sí', '-'],
  ])('%s is asked about, and makes the stock 0', async (header, marked, other) => {
    const id = `unused.${header}`;
    const alone = `Name;Price;${header}\nMug;4.00;${marked}\nJug;5.00;${other}`;
    expect(await stocks(alone)).toEqual([id]);
    expect(await stocks(alone, { [id]: 'sold-out' })).toEqual([0, null]);
    expect(await stocks(alone, { [id]: 'leave-out' })).toEqual([null, null]);
    const beside = `Name;Price;Stock;${header}\nMug;4.00;3;${marked}\nJug;5.00;2;${other}`;
    expect(await stocks(beside)).toEqual([id]);
    expect(await stocks(beside, { [id]: 'sold-out' })).toEqual([0, 2]);
    expect(await stocks(beside.replace(';3;', ';0;'))).toEqual([0, 2]);
    const blank = beside.replace(';3;', ';;');
    expect(await stocks(blank)).toEqual([id]);
    expect(await stocks(blank, { [id]: 'sold-out' })).toEqual([0, 2]);
  });
});

describe('words beside the stock', () => {
  const text = (word: string, stock = '') =>
    `Name;Price;Stock;Availability\nMug;4.00;5;In stock\nJug;5.00;${stock};${word}`;

  it.each([
    ['Sold out', ''],
    ['Recalled', '3'],
    ['Ships in 6 weeks', ''],
    ['no', ''],
  ])('%s for a stock of "%s" are asked about, and may make it 0', async (word, stock) => {
    const id = 'unused.Availability';
    expect(await stocks(text(word, stock))).toEqual([id]);
    expect(await stocks(text(word, stock), { [id]: 'sold-out' })).toEqual([5, 0]);
    expect(await stocks(text(word, stock), { [id]: 'leave-out' })).toEqual([5, Number(stock) || null]);
  });

  it.each([
    ['Backorder', ''],
    ['Recalled', '0'],
    ['7', '7'],
    ['', ''],
  ])('%s for a stock of "%s" are not', async (word, stock) => {
    expect(await stocks(text(word, stock))).toEqual([5, stock === '' ? null : Number(stock)]);
  });

  it('are sold out by an answer only if the question names them: others reject their products', async () => {
    const [header = [], ...rows] = `${text('Recalled', '3')}\nPot;5.00;2;Ask us\nPan;5.00;2;no`
      .split('\n')
      .map((line) => line.split(';'));
    const id = 'unused.Availability';
    const [question] = proposeMapping('products', { header, rows }).questions;
    expect(question?.reason).toContain("other words are 'ask us'");
    const { spec } = proposeMapping('products', { header, rows }, { [id]: 'sold-out' });
    if (spec === null) throw new Error('no mapping');
    const later = [
      ['Tin', '5.00', '2', 'Blocked'],
      ['Lid', '5.00', '2', 'yes'],
    ];
    const { mapped } = await mapAll(spec, [table(header, [...rows, ...later])]);
    const quantities = products(mapped).map(({ variants: [one] }) => one?.quantity);
    expect(quantities).toEqual([5, 0, 0, 0, 2]);
    expect(mapped.map(({ kind }) => kind).indexOf('rejected')).toBe(4);
  });

  it('are not if they name the warehouse', async () => {
    expect(await stocks('Name;Preis;Bestand;Lager\nTasse;4,00;5;Bonn\nDose;5,00;2;Ulm')).toEqual([5, 2]);
  });
});

describe('0 and 1 alone', () => {
  it('are asked about where they may be numbers of pieces', async () => {
    const text = 'Name;Price;In stock\nMug;4.00;1\nJug;5.00;0';
    expect(await stocks(text)).toEqual(['unused.In stock']);
    expect(await stocks(text, { 'unused.In stock': 'pieces' })).toEqual([1, 0]);
    expect(await stocks(text, { 'unused.In stock': 'available' })).toEqual([null, 0]);
    expect(await stocks(text, { 'column.quantity': 'In stock' })).toEqual([1, 0]);
    expect(await stocks(text.replace(';1', ';2'))).toEqual([2, 0]);
  });

  it('are yes and no where they cannot', async () => {
    expect(await stocks('Name;Price;Availability\nMug;4.00;1\nJug;5.00;0')).toEqual([null, 0]);
  });
});

describe('words for the stock', () => {
  it('that are not understood are asked about', async () => {
    const text = 'Name;Price;Stock\nMug;4.00;low\nJug;5.00;high';
    expect(await stocks(text)).toEqual(['column.quantity']);
    expect(await stocks(text, { 'column.quantity': '' })).toEqual([null, null]);
    const words = { 'column.quantity': 'Stock', 'word.low': 'sold-out', 'word.high': 'available' };
    expect(await stocks(text, words)).toEqual([0, null]);
  });

  it('may be those of schema.org', async () => {
    const address = 'https://schema.org/';
    const text = `Name;Price;Availability\nMug;4.00;${address}OutOfStock\nJug;5.00;${address}InStock`;
    expect(await stocks(text)).toEqual([0, null]);
  });
});

it.each([
  [
    'is what lines of orders have',
    'Order no;SKU;Product;Price;Qty\n1001;A1;Mug;4.00;5\n1001;A2;Jug;5.00;2',
    'Qty',
  ],
  ['is of all variants', 'Name;Price S;Price M;Stock\nMug;4;5;5\nJug;5;6;2', 'Stock'],
])('the stock is asked about where it %s', async (_, text, header) => {
  expect(await stocks(text)).toEqual(['column.quantity']);
  expect(await stocks(text, { 'column.quantity': header })).toEqual([5, 2]);
  expect(await stocks(text, { 'column.quantity': '' })).toEqual([null, null]);
});

it.each([
  ['Customer rating', '4.5', false],
  ['Customer price group', 'Retail', false],
  ['Order multiple', '5', false],
  ['Customer name', 'Ada Low', true],
  ['Kunden-Nr.', 'K1', true],
  ['Buyer e-mail', 'a@x.example', true],
  ['Invoice date', '2026-01-02', true],
])('the stock is asked about beside %s where it is that of orders', async (header, cell, isAsked) => {
  const text = `Name;Price;Qty;${header}\nMug;4.00;5;${cell}\nJug;5.00;2;${cell}`;
  expect((await stocks(text)).includes('column.quantity')).toBe(isAsked);
});

it('is not asked about beside a code for orders, each once', async () => {
  const text = 'SKU;Order reference;Name;Price;Stock\nA1;B1;Mug;4.00;5\nA2;B2;Jug;5.00;2';
  expect(await stocks(text)).toEqual([5, 2]);
});

it('is not asked about where all variants have a word for it', async () => {
  const text = 'Name;Price S;Price M;Stock\nMug;4;5;in stock\nJug;5;6;sold out';
  expect(await stocks(text)).toEqual([null, 0]);
});

it('is 0 where one of two columns says so', async () => {
  const text =
    'Name;Price;Stock;Sold out;Availability\nMug;4.00;5;x;in stock\nJug;5.00;2;;sold out\nPot;5.00;3;;';
  const answers = { 'unused.Sold out': 'sold-out', 'unused.Availability': 'sold-out' };
  expect(await stocks(text, answers)).toEqual([0, 0, 3]);
});

describe('the unit of a weight', () => {
  it('is read from its column where a few units are not known: these rows are rejected', () => {
    const header = ['Name', 'Price', 'Weight', 'Weight unit'];
    const rows = ['g', 'kg', 'stone'].map((unit) => [`Mug ${unit}`, '4.00', '300', unit]);
    expect(proposeMapping('products', { header, rows }).spec).toMatchObject({
      variants: { weight: { unit: 'weightUnit' } },
    });
  });

  it('is that of a column which says it on every row', async () => {
    const text = 'Name;Price;Weight;Weight unit\nMug;4.00;300;g\nJug;5.00;1.5;kg';
    expect(await weights(text)).toEqual([0.3, 1.5]);
    const german = 'Name;Preis;Gewicht;Gewichtseinheit\nTasse;4,00;0,5;kg\nDose;5,00;1,5;g';
    expect(await weights(german)).toEqual([0.5, 0.0015]);
  });

  it.each<[seen: string, ...later: [cell: string, weight: number | null][]]>([
    ['0,3 kg;1,25 kg', ['0,8 kg', 0.8], ['1.250,5 g', 1.2505], ['0.8 kg', null], ['1.250 g', null]],
    ['0.3 kg;1.25 kg', ['0.8 kg', 0.8], ['1,250.5 g', 1.2505], ['0,8 kg', null], ['1,250 g', null]],
    ['0,3 kg;1.250 g', ['1.250 g', 1.25], ['0.8 kg', null], ['1,250 kg', null]],
    ['0.3 kg;1,25 kg', ['0,8 kg', 0.8], ['1.5 kg', 1.5], ['1,250 g', null], ['1.250 g', null]],
    ['300 g;2 kg', ['0,8 kg', 0.8], ['1.5 kg', 1.5], ['1,250 g', null]],
    ['300;2 kg', ['0,8', 0.0008], ['1.5', 0.0015], ['1,250', null]],
  ])('in the cells is read with its number, as %s show it: later %s, %s', async (seen, ...later) => {
    const header = ['Name', 'Price', 'Weight'];
    const rowsOf = (cells: readonly string[]) => cells.map((cell, index) => [`Mug ${index}`, '4', cell]);
    const rows = rowsOf(seen.split(';'));
    const { spec } = proposeMapping('products', { header, rows }, { weightIn: 'g' });
    if (spec === null) throw new Error('no mapping');
    const { mapped } = await mapAll(spec, [table(header, rowsOf(later.map(([cell]) => cell)))]);
    const sent = mapped.map((one) =>
      one.kind === 'record' ? products([one])[0]?.variants[0]?.weight : null,
    );
    expect(sent).toEqual(later.map(([, weight]) => weight));
  });

  it('is asked about where that column is about something else, or differs from the header', async () => {
    const text = 'Name;Price;Weight;Unit\nMug;4.00;300;g\nJug;5.00;1.5;kg';
    expect(await weights(text)).toEqual(['weightIn']);
    expect(await weights(text, { weightIn: 'Unit' })).toEqual([0.3, 1.5]);
    const differing = 'Name;Price;Weight (kg);Weight unit\nMug;4.00;300;g\nJug;5.00;500;g';
    expect(await weights(differing)).toEqual(['weightIn']);
    expect(await weights(differing, { weightIn: 'g' })).toEqual([0.3, 0.5]);
  });
});

describe('a stock of 0', () => {
  it.each([
    ['Track inventory', 'no', 'yes'],
    ['Lagerführung', 'nein', 'ja'],
    ['Backorders allowed', 'x', ''],
    ['Pre-order', '1', '0'],
    ['Inventory policy', 'continue', 'deny'],
    ['Inventory tracker', '', 'shop'],
  ])('beside %s %s is asked about, and not sent if it can be bought', async (header, buyable, other) => {
    const text = `Name;Price;Stock;${header}\nMug;4.00;0;${buyable}\nJug;5.00;0;${other}\nCan;6.00;-2;${buyable}`;
    const quantities = (answers?: Readonly<Record<string, string>>, rows = text) =>
      guessed(rows, ({ variants: [one] }) => one?.quantity ?? null, answers);
    const id = `unused.${header}`;
    expect(await quantities()).toEqual([id]);
    expect(await quantities({ [id]: 'leave-out' })).toEqual([0, 0, 0]);
    expect(await quantities({ [id]: 'buyable' })).toEqual([null, 0, null]);
    expect(await quantities({}, text.replace(';0;', ';3;').replace('-2', '2'))).toEqual([3, 0, 2]);
    expect(await quantities({}, text.replace(';0;', ';;').replace('-2', '2'))).toEqual([null, 0, 2]);
  });
});

it('is the counted one beside a column with 0 and 1, which is asked about where they differ', async () => {
  const text = 'Name;Price;In stock;Stock\nMug;4.00;1;5\nJug;5.00;0;0';
  expect(await stocks(text)).toEqual([5, 0]);
  expect(await stocks(text.replace(';0;0', ';0;3'))).toEqual(['unused.In stock']);
});

it('asks about a short header that resembles a word for the stock', async () => {
  const text = 'Name;Price;Score\nMug;4.00;5\nJug;5.00;7';
  expect(await stocks(text)).toEqual(['column.quantity']);
  expect(await stocks(text, { 'column.quantity': '' })).toEqual([null, null]);
});

describe('a stock of nines', () => {
  const text = 'Name;Price;Stock\nMug;4.00;9999\nJug;5.00;12\nCan;6.00;0';

  it('far from all others may stand for any number', async () => {
    expect(await stocks(text)).toEqual(['word.9999']);
    expect(await stocks(text, { 'word.9999': 'count' })).toEqual([9999, 12, 0]);
    expect(await stocks(text, { 'word.9999': 'available' })).toEqual([null, 12, 0]);
    expect(await stocks(text.replace('12', '8000'))).toEqual([9999, 8000, 0]);
  });
});

it('a weight per metre is not that of the product', async () => {
  const text = 'Name;Price;Weight per m\nRope;4.00;0.2 kg\nWire;5.00;0.5 kg';
  expect(await weights(text)).toEqual([null, null]);
  expect(await weights(text.replace(' per m', ''))).toEqual([0.2, 0.5]);
});

it('a stock for one country beside another is asked about', async () => {
  const text = 'Name;Price;Stock EU;Stock US\nMug;4.00;5;9\nJug;5.00;2;8';
  expect(await stocks(text)).toEqual(['unused.Stock EU']);
  expect(await stocks(text, { 'unused.Stock EU': 'sum' })).toEqual([14, 10]);
  expect((await stocks(text, { 'column.quantity': 'Stock US' }))[0]).toBe(9);
  expect(await stocks(text.replace('Stock EU', 'Width'))).toEqual([9, 8]);
});
