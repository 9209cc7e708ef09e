import { describe, expect, it } from 'vitest';
import { brief, mapAll, mappingOf, products, table } from './mapping-setup.ts';

const HEADER = ['Type', 'Handle', 'Title', 'Size', 'Price'];

function mapping(head = '') {
  return mappingOf(`
import: products
columns: { type: Type, handle: Handle, title: Title, size: Size, price: Price }
group: { by: handle, rows: anywhere${head} }
product: { url: [title, slug], title: title, hidden: { type: hidden } }
options: { columns: { Size: size } }
variants: { pricing: { price: price } }
`);
}

async function outcome(rows: readonly (readonly string[])[], head = '') {
  const { mapped } = await mapAll(mapping(head), [table(HEADER, rows)]);
  return mapped.map(brief);
}

const A1 = ['P', 'a', 'A', 'S', '1'];
const A2 = ['V', 'a', '', 'M', '2'];
const B1 = ['P', 'b', 'B', 'S', '3'];
const B2 = ['V', 'b', '', 'M', '4'];

describe('rows that may stand anywhere', () => {
  it('are collected by their key, records in the order of their first rows', async () => {
    const { mapped } = await mapAll(mapping(), [table(HEADER, [B1, A1, B2, A2])]);
    expect(mapped.map(brief)).toEqual(['record b (2 rows)', 'record a (2 rows)']);
    expect(mapped[0]?.spans).toEqual([
      { file: 0, from: 2, to: 2 },
      { file: 0, from: 4, to: 4 },
    ]);
    expect(products(mapped).map(({ variants }) => variants.map(({ price }) => price))).toEqual([
      [3, 4],
      [1, 2],
    ]);
  });

  it('are described by the row that the mapping names, wherever it stands', async () => {
    expect(await outcome([A2, A1], ', head: { type: P }')).toEqual(['record a (2 rows)']);
  });

  it('are refused when two rows describe one record', async () => {
    for (const rows of [
      [A1, A1.with(4, '2')],
      [A1, A2, A1],
    ]) {
      expect(await outcome(rows, ', head: { type: P }')).toEqual([
        `rejected a described-twice (${rows.length} rows)`,
      ]);
    }
  });

  it('are left out where they repeat the row before them in every cell', async () => {
    expect(await outcome([A1, A1, A2, A2, B1], ', head: { type: P }')).toEqual([
      'skipped a identical-copy (1 row)',
      'skipped a identical-copy (1 row)',
      'record a (2 rows)',
      'record b (1 row)',
    ]);
  });

  it('are rejected alone without a key', async () => {
    expect(await outcome([A1, ['P', '', 'X', 'S', '1'], B1])).toEqual([
      'record a (1 row)',
      'rejected null key-missing (1 row)',
      'record b (1 row)',
    ]);
  });

  it('without a key are rejected with the record whose rows they stand between', async () => {
    expect(await outcome([A1, ['V', '', '', 'L', '1'], A2])).toEqual(['rejected a key-missing (3 rows)']);
  });

  it('that are misaligned are rejected with every record that a cell of them names', async () => {
    expect(await outcome([A1, B1, ['V', 'x', 'b', '', 'L', '1'], A2, B2])).toEqual([
      'record a (2 rows)',
      'rejected b row-too-long (3 rows)',
    ]);
  });

  it('that are misaligned and name nothing put both neighbours in doubt', async () => {
    expect(await outcome([A1, ['V', 'x', 'y', '', 'L', '1'], B1, A2])).toEqual([
      'rejected a neighbour-misaligned (2 rows)',
      'rejected null row-too-long (1 row)',
      'rejected b neighbour-misaligned (1 row)',
    ]);
  });

  it('that are misaligned and alone keep their key where the first column says it', async () => {
    const spec = mappingOf(`
import: products
columns: { handle: Handle, price: Price }
group: { by: handle, rows: anywhere }
product: { url: handle, title: handle }
variants: { pricing: { price: price } }
`);
    const { mapped } = await mapAll(spec, [
      table(
        ['Handle', 'Price'],
        [
          ['a', '1', 'x'],
          ['b', '1'],
        ],
      ),
    ]);
    expect(mapped.map(brief)).toEqual(['rejected a row-too-long (1 row)', 'record b (1 row)']);
  });

  it('keep the cells of columns that only one of the files has', async () => {
    const { mapped } = await mapAll(mapping(), [
      table(HEADER, [A1], 0),
      table(['Handle', 'Size', 'Price'], [['a', 'L', '9']], 1),
    ]);
    expect(products(mapped)[0]?.variants.map(({ price, options }) => [price, ...options])).toEqual([
      [1, 'S'],
      [9, 'L'],
    ]);
  });
});
