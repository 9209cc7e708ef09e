import { Readable } from 'node:stream';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inertCell, withoutInertMark } from '../../src/model/row.ts';
import { readCsv } from '../../src/tables/csv/read-csv.ts';
import { csvLine, csvStyle, markOf } from '../../src/tables/write-table.ts';

const HEADER = ['id', 'name', 'note'];

function fileOf(rows: readonly (readonly string[])[], format: 'csv' | 'excel-csv'): string {
  const style = csvStyle({ format });
  return markOf(style) + [HEADER, ...rows].map((row) => csvLine(row, style)).join('');
}

async function readBack(text: string): Promise<(readonly string[])[]> {
  const table = await readCsv(Readable.from([Buffer.from(text)]), { name: 'file.csv' });
  const rows: (readonly string[])[] = [];
  for await (const batch of table.batches()) rows.push(...batch.map(({ cells }) => cells));
  return rows;
}

const nasty = fc.constantFrom(
  '=1+1',
  '+1',
  '-1',
  '-1-1',
  '@x',
  '\t=x',
  '\r=x',
  '＝1',
  '－1',
  ' =1',
  '\u200b=1',
  '"',
  ',',
  ';',
  '\r\n',
  '\n',
  "'",
  '-5',
  'é',
  '\ufeff',
  '=HYPERLINK("x")',
);
const cell = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.array(nasty, { maxLength: 4 }).map((parts) => parts.join('')),
);
const rows = fc.array(fc.tuple(fc.integer().map(String), cell, cell), { maxLength: 8 });

describe('a table that was written', () => {
  it('reads back equal, by our own reader and by another', async () => {
    await fc.assert(
      fc.asyncProperty(rows, async (given) => {
        const wellFormed = given.map((row) => row.map((text) => text.toWellFormed()));
        const text = fileOf(wellFormed, 'csv');
        expect(await readBack(text)).toEqual(wellFormed);
        expect(parse(text, { bom: true }).slice(1)).toEqual(wellFormed);
      }),
      { numRuns: 300 },
    );
  });

  it('starts no formula in the flavour for spreadsheets, and is otherwise the same', () => {
    fc.assert(
      fc.property(rows, (given) => {
        const text = fileOf(given, 'excel-csv');
        expect(text.startsWith('\ufeff')).toBe(true);
        const read: string[][] = parse(text, { bom: true, record_delimiter: '\r\n' }).slice(1);
        for (const [index, row] of read.entries()) {
          for (const [column, shown] of row.entries()) {
            const original = given[index]?.[column] ?? '';
            if (!shown.startsWith("'")) expect(inertCell(shown)).not.toMatch(/^'/);
            expect(withoutInertMark(shown)).toBe(original);
          }
        }
      }),
      { numRuns: 300 },
    );
  });

  it('keeps a row whose only cell is empty', () => {
    expect(csvLine([''], csvStyle({ format: 'csv' }))).toBe('""\n');
  });
});

describe('a cell made inert', () => {
  it.each([
    ['a;=1+1', "a;'=1+1"],
    ['a,b, "=1', 'a,b,\' "=1'],
    ['x\n=1', "x\n'=1"],
    ['x\r\n=1;@y', "x\r\n'=1;'@y"],
    ["a;-5|cmd|' /C calc'!A0", "a;'-5|cmd|' /C calc'!A0"],
    ["'=1", "''=1"],
    ["'-5", "''-5"],
    ["=1;'=2", "'=1;''=2"],
  ])('has one before every piece that another delimiter would make of it: %j', (text, inert) => {
    expect(inertCell(text)).toBe(inert);
    expect(withoutInertMark(inert)).toBe(text);
  });

  it('always comes back as it was', () => {
    fc.assert(
      fc.property(cell, (text) => {
        expect(withoutInertMark(inertCell(text))).toBe(text);
        expect(withoutInertMark(inertCell(inertCell(text)))).toBe(inertCell(text));
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    '=cmd()',
    '+44 20 7946',
    '-1+1',
    '@SUM(A1)',
    '\t1',
    '\r1',
    '\n1',
    '＝1',
    '＋1',
    '－1',
    '＠1',
    ' =1',
    '\u0000=1',
  ])('has an apostrophe before %j', (text) => {
    expect(inertCell(text)).toBe(`'${text}`);
    expect(withoutInertMark(inertCell(text))).toBe(text);
  });

  it.each(['', 'a=b', '-5', '-5.25', '-30,5', '-1e3', '5', "'quoted", '0'])('is %j as it was', (text) => {
    expect(inertCell(text)).toBe(text);
    expect(withoutInertMark(text)).toBe(text);
  });
});
