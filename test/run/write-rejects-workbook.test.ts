import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { writeXlsx } from '../../src/rejects/write-rejects-workbook.ts';
import { readStaged } from '../tables/read-staged.ts';

async function* each(rows: readonly (readonly string[])[]) {
  yield* rows;
}

const bytesOf = (rows: readonly (readonly string[])[]) => buffer(writeXlsx('Rejects & "more"', each(rows)));

describe('a workbook that is written', () => {
  it('is read back cell by cell, whatever the cells hold', async () => {
    const cell = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom(
        '=1+1',
        '00042',
        '1.23E+12',
        ' x ',
        '_x000D_',
        '_x005F_',
        'a\u000bb',
        '<b>&amp;</b>',
        'a\nb\tc',
        '\ufeff',
        '\uffff',
      ),
    );
    const row = fc.tuple(fc.constant('key'), cell, cell, fc.constant('end')).map((cells) => [...cells]);
    await fc.assert(
      fc.asyncProperty(fc.array(row, { minLength: 1, maxLength: 4 }), async (rows) => {
        const { cells } = await readStaged('a.xlsx', await bytesOf([['a', 'b', 'c', 'd'], ...rows]), {
          headerRow: 1,
        });
        expect(cells).toEqual(rows);
      }),
      { numRuns: 100 },
    );
  });

  it('has the same bytes for the same rows', async () => {
    const rows = [['a'], ['b']];
    expect(await bytesOf(rows)).toEqual(await bytesOf(rows));
  });

  it('cuts texts where Excel does', async () => {
    const { cells } = await readStaged(
      'a.xlsx',
      await bytesOf([
        ['a', 'b'],
        ['x'.repeat(40_000), 'y'],
      ]),
    );
    expect(cells[0]?.[0]).toHaveLength(32_767);
  });

  it('fails with the rows that it is made of', async () => {
    async function* broken() {
      yield ['a'];
      throw new Error('the rows are gone');
    }
    await expect(buffer(writeXlsx('S', broken()))).rejects.toThrow('the rows are gone');
  });
});
