import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileMapping } from '../../src/mapping/compile-mapping.ts';
import { deferTables, type Table } from '../../src/mapping/map-tables.ts';
import type { CellCurrencies } from '../../src/model/row.ts';
import { openRowScratch } from '../../src/state/sqlite/open-row-scratch.ts';
import { CONTEXT, formattedTable, mappingOf, table } from './mapping-setup.ts';

const ROWS = mappingOf(`
import: products
columns: { handle: [Handle, Url], title: Title, size: Size, price: Price }
group: { by: handle, rows: adjacent, head: { title: present } }
product: { url: handle, title: title }
options: { columns: { Size: size } }
variants: { pricing: { price: price } }
`);
const HEADER = ['Handle', 'Title', 'Size', 'Price'];

async function memosOf(tables: readonly Table[], context = 'context'): Promise<(string | null)[]> {
  const memos: (string | null)[] = [];
  for await (const batch of deferTables(compileMapping(ROWS, CONTEXT), tables, {
    context,
    openScratch: openRowScratch,
  })) {
    memos.push(...batch.map((one) => (one.kind === 'deferred' ? one.memo : null)));
  }
  return memos;
}

describe('a memo', () => {
  it('is another where the format of a cell names another currency', async () => {
    const memoOf = async (currencies?: CellCurrencies) => {
      return (await memosOf([formattedTable(HEADER, [[['a', 'A', 'S', '1'], currencies]])]))[0];
    };
    const memos = await Promise.all([memoOf(), memoOf({ 3: '$' }), memoOf({ 3: '€' }), memoOf({ 3: '$' })]);
    expect(new Set(memos).size).toBe(3);
    expect(memos[1]).toBe(memos[3]);
  });

  it('is the same for the same cells, wherever they stand and whatever stands in other columns', async () => {
    const [here] = await memosOf([table(HEADER, [['a', 'A', 'S', '1']])]);
    const there = await memosOf([
      table(
        ['Price', 'Vendor', 'Handle', 'Title', 'Size'],
        [
          ['2', 'x', 'b', 'B', 'S'],
          ['1', 'y', 'a', 'A', 'S'],
        ],
      ),
    ]);
    expect(here).toHaveLength(22);
    expect(there[1]).toBe(here);
    expect(there[0]).not.toBe(here);
  });

  it('is another one for another context, another header, and a column that is missing instead of blank', async () => {
    const memos = await Promise.all([
      memosOf([table(HEADER, [['a', 'A', '', '1']])]),
      memosOf([table(HEADER, [['a', 'A', '', '1']])], 'another context'),
      memosOf([table(['Url', 'Title', 'Size', 'Price'], [['a', 'A', '', '1']])]),
      memosOf([table(['Handle', 'Title', 'Price'], [['a', 'A', '1']])]),
    ]);
    expect(new Set(memos.flat()).size).toBe(4);
  });

  it('is not given to what cannot be a record, or may be a part of one', async () => {
    const rows = [
      ['a', '', 'S', '1'],
      ['b', 'B', 'S', '1', 'extra'],
      ['c', 'C', 'S', '1'],
    ];
    const [partial, misaligned, whole] = await memosOf([table(HEADER, rows)]);
    expect([partial, misaligned]).toEqual([null, null]);
    expect(whole).toHaveLength(22);
  });

  it('differs for any two lists of rows', async () => {
    const cell = fc.constantFrom('', 'a', 'aa', ' ', ',', '\n', '\u0001', '"', 'é');
    const rows = fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 3 });
    const whole = (given: readonly (readonly [string, string, string])[]) =>
      given.map((cells, index) => ['key', index === 0 ? `T${cells[0]}` : cells[0], cells[1], cells[2]]);
    await fc.assert(
      fc.asyncProperty(rows, rows, async (one, other) => {
        const [a] = await memosOf([table(HEADER, whole(one))]);
        const [b] = await memosOf([table(HEADER, whole(other))]);
        expect(a === b).toBe(JSON.stringify(whole(one)) === JSON.stringify(whole(other)));
      }),
      { numRuns: 300 },
    );
  });

  it('depends on which row describes the record, and on the files it stands in', async () => {
    const rows = [
      ['a', 'A', 'S', '1'],
      ['a', '', 'M', '1'],
    ];
    const [one] = await memosOf([table(HEADER, rows)]);
    const [split] = await memosOf([
      table(HEADER, rows.slice(0, 1)),
      table(['Url', 'Title', 'Size', 'Price'], rows.slice(1), 1),
    ]);
    const [turned] = await memosOf([table(HEADER, rows.toReversed())]);
    expect(new Set([one, split, turned]).size).toBe(3);
  });
});
