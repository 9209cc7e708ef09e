import { once } from 'node:events';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { CsvError } from '../../../src/model/storeferry-error.ts';
import { readCsv } from '../../../src/tables/csv/read-csv.ts';
import { allRows, inPieces, open, read, refusal } from './open-bytes.ts';

describe('rows', () => {
  it('carry the physical line on which they start, whatever ends the lines', async () => {
    const { rows } = await read('a,b\r\n1,"x\ny\r\nz"\r\n\n2,"q\rr"\n3,4\r5,6');
    expect(rows.map(({ line }) => line)).toEqual([2, 6, 8, 9]);
    expect(rows[0]?.cells).toEqual(['1', 'x\ny\r\nz']);
  });

  it('are passed on short or long as they are', async () => {
    const { cells } = await read('a,b,c\n1\n1,2,3,4\n');
    expect(cells).toEqual([['1'], ['1', '2', '3', '4']]);
  });

  it('are not lines without content, which are counted apart', async () => {
    const { rows, table } = await read('a,b\n\n1,2\n,\n  ,\u00a0\n"",""\n3,4\n\n');
    expect(rows.map(({ line }) => line)).toEqual([3, 7]);
    expect(table.counts).toEqual({ rows: 2, blankLines: 5 });
  });

  it('come in batches of at most a thousand, and carry the index of their file', async () => {
    const table = await open(`a,b\n${'1,2\n'.repeat(2500)}`, { file: 3 });
    const sizes: number[] = [];
    for await (const batch of table.batches()) {
      sizes.push(batch.length);
      expect(batch[0]?.file).toBe(3);
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(1000);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(2500);
  });

  it('keep cells that look like names of the language', async () => {
    const { header, cells } = await read('__proto__,constructor,,__proto__\nX,Y,Z,A\n');
    expect(header).toEqual(['__proto__', 'constructor', '', '__proto__']);
    expect(cells).toEqual([['X', 'Y', 'Z', 'A']]);
  });
});

describe('the header', () => {
  it('is the first line with content, even when it looks like a title', async () => {
    const { header, rows } = await read('\n\n"This is a title row",,\n"Foo","Bar","Baz"\n');
    expect(header).toEqual(['This is a title row', '', '']);
    expect(rows[0]?.line).toBe(4);
  });

  it.each([
    ['Stock of the day\nsku,name,price\nA,Mug,9\nB,Cup,8\n', 1, 2],
    ['\n"Stock of the day",,\n\n"sku","name","price"\nA,Mug,9\n', 2, 4],
    ['# Required | An id,# Required | The name,# The price\nid,title,price\nA,Mug,9\n', 1, 2],
    ['Report;2026-01-31\n\nsku;name;price;stock\nA;Mug;9;1\nB;Cup;8;2\n', 1, 3],
  ])('is in doubt where a title stands above it: %j', async (content, line, header) => {
    const { table } = await read(content, { delimiter: content.includes(';') ? ';' : ',' });
    expect(table.doubt?.place).toEqual({ file: 'sample.csv', line });
    expect(table.doubt?.hint).toContain(`line ${header}`);
  });

  it.each([
    'email\nann@mail.example\n',
    'sku,,\nA,Mug,Blue\nB,Cup,Red\n',
    'sku\nA\nB\n',
    'name,price\nMug,9\nCup,8\n',
    'name,note\nMug,blue\nCup,red\n',
  ])('is what it was where the first line may be one: %j', async (content) => {
    expect((await read(content, { delimiter: ',' })).table.doubt).toBeNull();
  });

  it('is known again further down, and in words above columns of values', async () => {
    const twice = await read('sku,name\nA,Mug\nsku,name\nB,Cup\n');
    expect(twice.rows.map(({ line, heading }) => [line, heading])).toEqual([
      [2, undefined],
      [3, true],
      [4, undefined],
    ]);
    const units = await read(
      'sku,name,price,weight\nCode,Title,in EUR,in kg\n1,Mug,9.50,2\n2,Cup,8,1\n3,Jug,7,4\n',
    );
    expect(units.rows.map(({ heading }) => heading)).toEqual([true, undefined, undefined, undefined]);
    const data = await read('sku,name,price,weight\nA,Mug,n/a,n/a\n1,Mug,9.50,2\n2,Cup,8,1\n3,Jug,7,4\n');
    expect(data.rows.every(({ heading }) => heading === undefined)).toBe(true);
  });

  it('may stand alone', async () => {
    expect((await read('a,b\n')).rows).toEqual([]);
  });

  it.each(['', '\ufeff', '\n\r\n , \n'])('is missed in a file without content', async (content) => {
    expect((await refusal(content)).message).toMatch(/empty/);
  });
});

describe('quotes', () => {
  const cases = [
    ['text after a closing quote', 'a,b\n1,"x" y\n', 2, 7],
    ['text after a closing quote on a later line', 'a,b\n1,"x\ny"z,2\n', 3, 3],
    ['a quote that is never closed', 'a,b\n1,2\n3,"x\n4,5\n', 3, 3],
    ['a blank before an opening quote', 'a,b\n1, "x, y"\n', 2, 4],
    ['a single quote within an unquoted cell', 'a,b\n1,12" vinyl\n', 2, 5],
    ['a backslash before a quote', 'a,b\n1,say \\"hi\\"\n', 2, 8],
    ['a quote escaped by a backslash in a quoted cell', 'a,b\n1,"say \\"hi\\" now"\n', 2, 10],
  ] as const;

  it.each(cases)('are refused with line and column: %s', async (_what, content, line, column) => {
    const error = await refusal(content);
    expect(error.place).toEqual({ file: 'sample.csv', line, column });
    expect(error.hint).toBeTruthy();
    expect(error.message).not.toMatch(/vinyl|x, y/);
  });

  it('stand for themselves in pairs within an unquoted cell, where no reader ends it elsewhere', async () => {
    expect((await read(`a,b\n37°36'37.8"N 121°2'17.9"W,2\n`)).cells[0]?.[0]).toBe(
      `37°36'37.8"N 121°2'17.9"W`,
    );
  });

  it('may be followed by blanks', async () => {
    expect((await read('a,b\n"1" ,"2" \n')).cells).toEqual([['1', '2']]);
  });

  it('are ordinary characters where the job says so', async () => {
    const { cells } = await read('a\tb\n12" vinyl\t"Best" mug\n', { quotes: 'none' });
    expect(cells).toEqual([['12" vinyl', '"Best" mug']]);
  });
});

describe('the delimiter', () => {
  it.each([
    ['sku;price\nA;1,50\nB;2,30\n', ';'],
    ['sku\tname, long\nA\tx\n', '\t'],
    ['a|b|c\n1|"x,y"|3\n', '|'],
    ['"a;x";"b, c"\n1;2\n', ';'],
    ['email\nana@shop.example\n', ','],
    ['Price (x;y;z),b,c,d,e,f,g\n1,2,3,4,5,6,7\n', ','],
    ['sep=;\na,b;c\n1;2\n', ';'],
    ['Name;Price, EUR\nMug;1,50\nCup;2,30\n', ';'],
    ['Name;Size (W,H,D);Price\nMug;1,2,3;9\nCup;3,4,5;8\n', ';'],
    ['Name;Preis (netto, brutto);Menge\n', ';'],
    ['Name;Price,EUR\nMug;1,50\nCup;2\nJug;3\n', ';'],
    ['a, b, c\n1, 2, 3\n', ','],
  ])('is detected from the header and the rows: %j', async (content, expected) => {
    const { table, header } = await read(content);
    expect(table.dialect.delimiter).toBe(expected);
    expect(header.length > 1).toBe(!content.startsWith('email'));
  });

  it('is refused where two fit about as well', async () => {
    const error = await refusal('a,b;c\n1,5;2\n2,5;3\n');
    expect(error.message).toContain('"," and ";"');
    expect(error.hint).toContain('delimiter');
  });

  it('may be given, as one character', async () => {
    expect((await read('a,b;c\n1,5;2\n', { delimiter: ';' })).cells).toEqual([['1,5', '2']]);
    expect((await read('a^b\n1^2\n', { delimiter: '^' })).cells).toEqual([['1', '2']]);
    expect((await refusal('a,b\n', { delimiter: '"' })).message).toContain('delimiter');
    expect((await refusal('a,b\n', { delimiter: '||' })).message).toContain('delimiter');
  });

  it('is judged on the whole header, however long', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `column ${index}`);
    const { header } = await read(`"${'x, '.repeat(200)}";${names.join(';')}\n1;2\n`, { blockBytes: 64 });
    expect(header).toHaveLength(301);
  });

  it('counts a line that names it as a line', async () => {
    expect((await read('sep=|\na|b\n1|2\n')).rows[0]?.line).toBe(3);
  });
});

describe('the newline of the dialect', () => {
  it.each([
    ['a\nb\n', '\n'],
    ['a\r\nb\r\n', '\r\n'],
    ['a\rb\r', '\r'],
    ['a\r\nb\n', 'mixed'],
    ['a', '\n'],
  ])('is detected: %j', async (content, newline) => {
    expect((await open(content)).dialect.newline).toBe(newline);
  });
});

describe('limits', () => {
  it.each([
    ['cellBytes', (more: string) => `a,b\n1,"${'x\n'.repeat(250)}${more}"\n`, { cellBytes: 500 }, 2],
    ['cellBytes', (more: string) => `a,b\n1,"${'""'.repeat(500)}${more}"\n`, { cellBytes: 500 }, 2],
    ['cellBytes', (more: string) => `a,b\n1,${'é'.repeat(250)}${more}\n`, { cellBytes: 500 }, 2],
    [
      'rowBytes',
      (more: string) => `a,b\n1,2\n"x\n",2\n1,${'x'.repeat(498)}${more}\r\n3,4\n`,
      { rowBytes: 500 },
      5,
    ],
    ['rowBytes', (more: string) => `a,b\n"\n",${'x'.repeat(496)}${more}`, { rowBytes: 500 }, 2],
    ['columns', (more: string) => `a,b\n1,2\n${'x,'.repeat(29)}x${more && ',y'}\n`, { columns: 30 }, 3],
    ['rows', (more: string) => `a,b\n${'1,2\n'.repeat(10)}\n${more}`, { rows: 10 }, 13],
    ['headerBytes', (more: string) => `\na,"${'é\n'.repeat(5)}${more}"\n1,2\n`, { headerBytes: 15 }, 2],
  ])(
    '%s lets through what is just within it, and refuses one more by its name, line and setting',
    async (limit, content, limits, line) => {
      for (const blockBytes of [1, 100, 100_000]) {
        await expect(open(content(''), { limits, blockBytes }).then(allRows)).resolves.toBeDefined();
        const error = await refusal(content('y'), { limits, blockBytes });
        expect(error.message).toContain(`beyond the limit ${limit} (`);
        expect(error.hint).toContain(`limits: { ${limit}: `);
        expect(error.place).toMatchObject({ file: 'sample.csv', line });
      }
    },
  );

  it('refuses millions of quotes in a row, each of which takes memory', async () => {
    const quoted = (count: number) => `a,b\n1,2\n1,${'"'.repeat(count)}\n`;
    await expect(open(quoted(1_000_000)).then(allRows)).resolves.toHaveLength(2);
    const error = await refusal(quoted(2_000_002));
    expect(error.message).toBe('The row that begins here has more than 2000000 quotes.');
    expect(error.place).toMatchObject({ file: 'sample.csv', line: 3 });
    await expect(open(quoted(2_000_002), { quotes: 'none' }).then(allRows)).resolves.toHaveLength(2);
  });

  it('trips on a gigabyte in one cell long before memory does', async () => {
    const piece = Buffer.alloc(1024 * 1024, 'x');
    let sent = 0;
    function* endless() {
      yield Buffer.from('a,b\n1,"');
      for (; sent < 1024; sent += 1) yield piece;
    }
    const input = Readable.from(endless(), { objectMode: false });
    const table = await readCsv(input, { name: 'big.csv', delimiter: ',' });
    await expect(allRows(table)).rejects.toMatchObject({
      message: expect.stringContaining('limit cellBytes (16777216): cell 2 '),
      place: { line: 2, column: 3 },
    });
    expect(sent).toBeLessThan(70);
  });
});

describe('the input', () => {
  it('is destroyed when reading ends early, is refused, or is not begun', async () => {
    const bytes = Buffer.from(`a,b\n${'1,2\n'.repeat(100_000)}`);
    const early = inPieces(bytes);
    for await (const batch of (await readCsv(early, { name: 'x' })).batches()) {
      expect(batch.length).toBeGreaterThan(0);
      break;
    }
    expect(early.destroyed).toBe(true);

    const unread = inPieces(bytes);
    {
      using table = await readCsv(unread, { name: 'x' });
      expect(table.header).toEqual(['a', 'b']);
    }
    expect(unread.destroyed).toBe(true);

    const refused = inPieces(Buffer.from('a,"b'));
    await expect(readCsv(refused, { name: 'x' })).rejects.toThrow(CsvError);
    expect(refused.destroyed).toBe(true);
  });

  it('may fail by itself, and its error is passed on', async () => {
    const input = new Readable({
      read() {
        this.push('a,b\n');
        this.destroy(new Error('the disk is gone'));
      },
    });
    await expect(readCsv(input, { name: 'x' })).rejects.toThrow('the disk is gone');
    if (!input.closed) await once(input, 'close');
  });
});

it('refuses a row of too many cells before it has read it', async () => {
  const commas = Buffer.alloc(64 * 1024, ',');
  for (const delimiter of [',', ';', '\t', '|']) {
    let read = 0;
    const input = new Readable({
      read() {
        read += commas.length;
        this.push(read > 31 * 1024 * 1024 ? null : Buffer.alloc(commas.length, delimiter));
      },
    });
    await expect(readCsv(input, { name: 'x.csv', delimiter })).rejects.toThrow(/cells/);
    expect(read).toBeLessThan(1024 * 1024);
  }
});

it('counts no delimiters within quotes as cells', async () => {
  const long = 'x,'.repeat(40_000);
  const text = `a,b\n1,"${long}"\n2,"${long.replaceAll(',', '"",""')}"\n`;
  const table = await readCsv(Readable.from([Buffer.from(text)]), { name: 'x.csv', delimiter: ',' });
  const rows: number[] = [];
  for await (const batch of table.batches()) rows.push(...batch.map(({ cells }) => cells.length));
  expect(rows).toEqual([2, 2]);
});
