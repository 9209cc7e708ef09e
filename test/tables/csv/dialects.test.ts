import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CsvOptions, readCsv } from '../../../src/tables/csv/read-csv.ts';

async function read(text: string, options: Omit<CsvOptions, 'name'> = {}) {
  const table = await readCsv(Readable.from([Buffer.from(text)]), { name: 'a.csv', ...options });
  const rows = [];
  for await (const batch of table.batches()) {
    for (const { line, cells } of batch) rows.push([line, ...cells]);
  }
  return { header: table.header, rows, delimiter: table.dialect.delimiter, doubt: table.doubt };
}

describe('headerRow', () => {
  const text = 'Price list, 2026; spring\r\n"not a ""cell\n\nsku;price\n a ;1,5\nb;2,5\n';
  it('is the line of the header, whatever stands above it', async () => {
    expect(await read(text, { headerRow: 4 })).toEqual({
      header: ['sku', 'price'],
      rows: [
        [5, ' a ', '1,5'],
        [6, 'b', '2,5'],
      ],
      delimiter: ';',
      doubt: null,
    });
  });
  it('leaves out what stands between it and the first row with data', async () => {
    const units = 'sku;price\nno;EUR\n\nexample;0\na;1,5\nb;2,5\n';
    const { rows } = await read(units, { dataRow: 5 });
    expect(rows).toEqual([
      [5, 'a', '1,5'],
      [6, 'b', '2,5'],
    ]);
    expect((await read(units, { dataRow: 99 })).rows).toEqual([]);
  });
  it('counts the line that names the delimiter', async () => {
    expect(await read('sep=;\nTitle\na;b\n1;2\n', { headerRow: 3 })).toMatchObject({
      header: ['a', 'b'],
      rows: [[4, '1', '2']],
    });
  });
  it('is read in pieces of any size, with any line end', async () => {
    const lines = ['x'.repeat(50), '', 'a,b', '1,2'];
    for (const newline of ['\n', '\r\n', '\r']) {
      for (const blockBytes of [1, 2, 3, 50, 51, 52]) {
        const found = await read(lines.join(newline), { headerRow: 3, blockBytes });
        expect(found).toMatchObject({ header: ['a', 'b'], rows: [[4, '1', '2']] });
      }
    }
  });
  it('is refused where the file ends before', async () => {
    await expect(read('a,b\n1,2\n', { headerRow: 5 })).rejects.toThrow('the file has no line 5');
  });
  it.each(['', ' ', ';;'])('is refused where that line is %j', async (blank) => {
    const text = `Title\n${blank}\n\nsku;name\na;b\n`;
    await expect(read(text, { headerRow: 2 })).rejects.toThrow('There is no header: line 2 is empty.');
  });
  it('is the first line with content where it is the first', async () => {
    expect(await read('\nsku;name\na;b\n', { headerRow: 1 })).toMatchObject({ header: ['sku', 'name'] });
  });
  it('refuses a line above it that is beyond the limit, before it is read to its end', async () => {
    let pieces = 0;
    const input = Readable.from(
      (function* () {
        for (; pieces < 1_000; pieces += 1) yield Buffer.alloc(65_536, 'x');
      })(),
    );
    const options = { name: 'a.csv', headerRow: 3, limits: { rowBytes: 1_000_000 } };
    await expect(readCsv(input, options)).rejects.toThrow('beyond the limit rowBytes');
    expect(pieces).toBeLessThan(100);
    await expect(
      read(`x\n${'x'.repeat(101)}\na,b\n`, { headerRow: 3, limits: { rowBytes: 100 } }),
    ).rejects.toMatchObject({ place: { line: 2 } });
  });
  it('searches a long line above it once', async () => {
    await expect(read('x'.repeat(30_000_000), { headerRow: 2 })).rejects.toThrow('the file has no line 2');
  });
});

describe('escape: backslash', () => {
  it('reads quotes and backslashes behind a backslash', async () => {
    const text = '\ufeff"a","b"\n"12\\" vinyl","C:\\\\"\n"x\\ny","plain ""too"""\n1\\2,3\n';
    expect((await read(text, { escape: 'backslash' })).rows).toEqual([
      [2, '12" vinyl', 'C:\\'],
      [3, 'x\\ny', 'plain "too"'],
      [4, '1\\2', '3'],
    ]);
  });
  it('is asked for where a file seems to need it', async () => {
    await expect(read('a,b\n"12\\" vinyl",1\n')).rejects.toThrow();
    await expect(read('a,b\nx\\"y,1\n')).rejects.toMatchObject({
      hint: expect.stringContaining('escape: backslash'),
    });
  });
  it('gives every cell back, in pieces of any size', async () => {
    const cell = fc.stringMatching(/^[a"\\,\n é]*$/);
    const written = (text: string) => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
    const row = fc.tuple(cell, cell).filter((cells) => cells.some((one) => one.trim() !== ''));
    await fc.assert(
      fc.asyncProperty(
        fc.array(row, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 9 }),
        async (rows, blockBytes) => {
          const text = `h,i\n${rows.map((cells) => cells.map(written).join(',')).join('\n')}\n`;
          const found = await read(text, { escape: 'backslash', delimiter: ',', blockBytes });
          expect(found.rows.map(([, ...cells]) => cells)).toEqual(rows);
        },
      ),
      { numRuns: 200 },
    );
  });
});

describe('skipBlanks', () => {
  it('lets a quote open a cell behind blanks', async () => {
    const text = '"a", "b"\n 1,  "x, y"\n2 , z "big"\n';
    expect((await read(text, { skipBlanks: true })).rows).toEqual([
      [2, ' 1', 'x, y'],
      [3, '2 ', ' z "big"'],
    ]);
    await expect(read(text)).rejects.toMatchObject({ hint: expect.stringContaining('skipBlanks: true') });
  });
});
