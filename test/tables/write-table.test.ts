import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import fc from 'fast-check';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import type { TypedCell } from '../../src/tables/write-table.ts';
import { csvStyle, csvText, type WrittenFormat, writeTable } from '../../src/tables/write-table.ts';
import { readStaged } from './read-staged.ts';

type Cells = readonly TypedCell[];

function table(columns: readonly string[], rows: readonly Cells[]) {
  return {
    name: 'Rejects & "more"',
    columns,
    async *rows() {
      yield rows;
    },
  };
}

const bytesOf = async (columns: readonly string[], rows: readonly Cells[], format: WrittenFormat = 'xlsx') =>
  await buffer(Readable.from(writeTable(table(columns, rows), format)));

async function* broken(): AsyncGenerator<readonly Cells[]> {
  yield [['a']];
  throw new Error('the rows are gone');
}

const AMOUNT = { number: '19.90' };
const LONG_ID = { number: '9007199254740993' };
const HUGE = { number: '12345678901234567890' };
const TIME = new Date('2026-11-01T06:00:00.000Z');

describe('a workbook that is written', () => {
  it('ends its rows with its reader', async () => {
    const ended = Promise.withResolvers<void>();
    let begun = false;
    async function* rows(): AsyncGenerator<readonly Cells[]> {
      try {
        begun = true;
        for (let row = 0; ; row++)
          yield Array.from({ length: 1_000 }, (_, cell) => [`${row} ${cell} ${Math.random()}`]);
      } finally {
        ended.resolve();
      }
    }
    for await (const _ of writeTable({ name: 'Endless', columns: ['a'], rows }, 'xlsx')) if (begun) break;
    await ended.promise;
  });

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
        const { cells } = await readStaged('a.xlsx', await bytesOf(['a', 'b', 'c', 'd'], rows), {
          headerRow: 1,
        });
        expect(cells).toEqual(rows);
      }),
      { numRuns: 100 },
    );
  });

  it('keeps the types of its cells, and all digits of long ids', async () => {
    const { cells } = await readStaged(
      'a.xlsx',
      await bytesOf(
        ['amount', 'id', 'time', 'paid', 'nothing', 'code'],
        [[AMOUNT, LONG_ID, TIME, true, null, '007']],
      ),
    );
    expect(cells).toEqual([['19.9', '9007199254740993', '2026-11-01T06:00:00', 'TRUE', '', '007']]);
  });

  it('has as text what a spreadsheet cannot hold', async () => {
    const days = ['1850-01-01', '+010000-01-01', '1900-01-01', '1900-02-28', '1900-03-01'];
    const times = days.map((day) => new Date(`${day}T00:00:00.000Z`));
    const numbers = ['1e400', '-1e400', '1e5'].map((number) => ({ number }));
    const { cells } = await readStaged('a.xlsx', await bytesOf([...'abcdefgh'], [[...times, ...numbers]]));
    const texts = days.slice(0, -1).map((day) => `${day} 00:00:00`);
    expect(cells).toEqual([[...texts, '1900-03-01T00:00:00', '1e400', '-1e400', '100000']]);
  });

  it('is refused with more columns than a sheet has', async () => {
    const columns = Array.from({ length: 16_385 }, (_, index) => `c${index}`);
    await expect(bytesOf(columns, [])).rejects.toThrow('A sheet has at most 16384 columns.');
    await expect(bytesOf(columns.slice(1), [])).resolves.toBeDefined();
  });

  it('has the same bytes for the same rows', async () => {
    expect(await bytesOf(['a'], [['b']])).toEqual(await bytesOf(['a'], [['b']]));
  });

  it('is refused with a longer text than a cell holds, unless its table is cut', async () => {
    const columns = ['id', 'note'];
    const rows = [32_767, 40_000].map((length, row) => [{ number: `${row}` }, 'x'.repeat(length)]);
    const refusal = bytesOf(columns, rows);
    await expect(refusal).rejects.toThrow(
      "A sheet has at most 32767 characters in a cell: 'note' of the id 1 (row 3) has more.",
    );
    await expect(refusal).rejects.toMatchObject({ hint: 'Choose format: csv or parquet.' });
    await expect(bytesOf(columns.slice(1), [['x'.repeat(32_768)]])).rejects.toThrow(
      "cell: 'note' (row 2) has more",
    );
    const cut = await buffer(writeTable({ ...table(columns, rows), cutsTexts: true }, 'xlsx'));
    const { cells } = await readStaged('a.xlsx', cut);
    expect(cells.map(([, note]) => note?.length)).toEqual([32_767, 32_767]);
  });

  it('fails with the rows that it is made of', async () => {
    const failing = writeTable({ name: 'S', columns: ['a'], rows: broken }, 'xlsx');
    await expect(buffer(Readable.from(failing))).rejects.toThrow('the rows are gone');
  });
});

describe('a Parquet file that is written', () => {
  const columns = ['amount', 'id', 'huge', 'time', 'paid', 'nothing', 'mixed', 'text'];
  const rows: readonly Cells[] = [
    [AMOUNT, LONG_ID, HUGE, TIME, true, null, { number: '1' }, 'ä'],
    [{ number: '-0.1' }, { number: '7' }, null, null, false, null, 'x', ''],
    [null, null, null, null, null, null, null, null],
  ];
  const read = async (bytes: Buffer) => {
    const file = new Uint8Array(bytes).buffer;
    const { schema } = parquetMetadata(file);
    return { schema, rows: await parquetReadObjects({ file }) };
  };

  it('is read back exactly, with a type for each column', async () => {
    const found = await read(await bytesOf(columns, rows, 'parquet'));
    expect(found.rows).toEqual([
      {
        amount: 19.9,
        id: 9007199254740993n,
        huge: Number(HUGE.number),
        time: TIME,
        paid: true,
        nothing: null,
        mixed: '1',
        text: 'ä',
      },
      { amount: -0.1, id: 7n, huge: null, time: null, paid: false, nothing: null, mixed: 'x', text: '' },
      Object.fromEntries(columns.map((name) => [name, null])),
    ]);
    const [amount, id, huge] = found.schema.slice(1);
    expect(amount).toMatchObject({ converted_type: 'DECIMAL', precision: 18, scale: 4 });
    expect(id).toMatchObject({ type: 'INT64' });
    expect(huge).toMatchObject({ converted_type: 'DECIMAL', precision: 38, scale: 0 });
  });

  it('has groups of rows, and a schema also without any row', async () => {
    const many = Array.from({ length: 25_000 }, (_, index): Cells => [{ number: String(index) }]);
    const found = await read(await bytesOf(['n'], many, 'parquet'));
    expect(found.rows).toHaveLength(25_000);
    expect(found.rows[24_999]).toEqual({ n: 24_999n });
    expect((await read(await bytesOf(['a', 'b'], [], 'parquet'))).schema).toHaveLength(3);
  });
});

it('CSV for Europe has semicolons and decimal commas', async () => {
  const style = csvStyle({ format: 'excel-csv', decimal: ',' });
  const content = csvText(table(['total', 'note'], [[AMOUNT, 'a;b']]), style, ',');
  expect(await buffer(Readable.from(content))).toEqual(Buffer.from('\ufefftotal;note\r\n"19,90";"a;b"\r\n'));
});
