import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatRow } from '../../src/model/row.ts';
import { readCsv } from '../../src/tables/csv/read-csv.ts';
import { allRows, inPieces } from '../tables/csv/open-bytes.ts';
import { rejection, rejectsOf } from './rejects-fixture.ts';

describe('a corrected rejects file', () => {
  const save = (text: string, delimiter: string) =>
    text
      .replace('\ufeff', '')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => line.split(';').join(delimiter))
      .join('\r\n');
  const SIMPLE = 'sku;name;price\nA;Änne;1\nB;Bär;x\nC;Cä;y\n';
  const rejectSimple = () => rejectsOf({ 'a.csv': SIMPLE }, [rejection(2, 4)]);

  it('gives the rows as they were, without our columns, when nothing was edited', async () => {
    await using rejects = await rejectSimple();
    const { edits, files } = await rejects.corrected(rejects.text);
    expect(files).toMatchObject([{ name: 'rejects.csv', header: ['sku', 'name', 'price'] }]);
    expect(files[0]?.rows).toEqual([
      { line: 2, cells: ['A', 'Änne', '1'] },
      { line: 3, cells: ['B', 'Bär', 'x'] },
      { line: 4, cells: ['C', 'Cä', 'y'] },
    ]);
    expect(edits).toMatchObject({
      rows: 3,
      editedRows: 0,
      deletedRows: 0,
      cells: [],
    });
  });

  it.each([',', '\t', '|', ';'])('may be saved with the delimiter %j', async (delimiter) => {
    await using rejects = await rejectSimple();
    const { edits, files, dialect } = await rejects.corrected(save(rejects.text, delimiter));
    expect(dialect.delimiter).toBe(delimiter);
    expect(files[0]?.cells[1]).toEqual(['B', 'Bär', 'x']);
    expect(edits.editedCells).toBe(0);
  });

  it.each(['windows-1252', 'macintosh'])(
    'may be saved in %s: the kept copy shows which encoding',
    async (encoding) => {
      await using rejects = await rejectSimple();
      const codes = encoding === 'macintosh' ? { Ä: 0x80, ä: 0x8a } : { Ä: 0xc4, ä: 0xe4 };
      const text = save(rejects.text, ';').replace('B;Bär;x', 'B;Bär;2');
      const bytes = Buffer.from(
        [...text].map((character) =>
          character === 'Ä' || character === 'ä' ? codes[character] : character.charCodeAt(0),
        ),
      );
      const { edits, files, dialect } = await rejects.corrected(bytes);
      expect(dialect.encoding).toBe(encoding);
      expect(files[0]?.cells).toEqual([
        ['A', 'Änne', '1'],
        ['B', 'Bär', '2'],
        ['C', 'Cä', 'y'],
      ]);
      expect(edits.cells).toEqual([{ line: '3', column: 'price', old: 'x', new: '2' }]);
    },
  );

  it.each(['windows-1252', 'windows-1250', 'macintosh'] as const)(
    'may be saved with semicolons in %s where it had commas: quotes and characters are read as they are',
    async (encoding) => {
      const windows = { ü: 0xfc, ß: 0xdf };
      const codes = { 'windows-1252': windows, 'windows-1250': windows, macintosh: { ü: 0x9f, ß: 0xa7 } }[
        encoding
      ];
      const source = [
        'sku,name,text,price',
        'A,Tür,"ein ""großer"" Tisch, grün",1',
        'B,Fuß,"12"" breit; schwer\nund grün",x',
      ];
      await using rejects = await rejectsOf({ 'a.csv': `${source.join('\n')}\n` }, [rejection(2, 4)]);
      const saved = [
        'sku;name;text;price;storeferry_reason;storeferry_line',
        'A;Tür;"ein ""großer"" Tisch, grün";1;is wrong;2',
        'B;Fuß;"12"" breit; schwer\nund grün";2;is wrong;3',
      ].join('\r\n');
      const bytes = Buffer.from(
        [...saved].map((character) =>
          character === 'ü' || character === 'ß' ? codes[character] : character.charCodeAt(0),
        ),
      );
      const { edits, files, dialect } = await rejects.corrected(bytes);
      expect(dialect.delimiter).toBe(';');
      expect(files[0]?.cells).toEqual([
        ['A', 'Tür', 'ein "großer" Tisch, grün', '1'],
        ['B', 'Fuß', '12" breit; schwer\nund grün', '2'],
      ]);
      expect(edits.cells).toEqual([{ line: '3', column: 'price', old: 'x', new: '2' }]);
    },
  );

  it('is refused where several charsets fit, and read what was typed differently', async () => {
    await using rejects = await rejectsOf({ 'a.csv': 'sku,name\nA,x\nB,y\n' }, [rejection(2, 3)]);
    const bytes = Buffer.from(rejects.text.slice(1).replace('A,x', 'A,\u00d8eka'), 'latin1');
    await expect(rejects.corrected(bytes)).rejects.toMatchObject({
      code: 'source',
      message: expect.stringMatching(/'Øeka' in windows-1252 or '.*eka' in \S+ \(line 2, column name\)/),
      hint: expect.stringMatching(/CSV UTF-8/),
    });
  });

  it('is refused for what it lacks, not for its charset, where it is no rejects file in any', async () => {
    await using rejects = await rejectsOf({ 'a.csv': 'sku,name\nA,x\nB,y\n' }, [rejection(2, 3)]);
    await expect(rejects.corrected(Buffer.from('sku,name\nA,Größe\n', 'latin1'))).rejects.toMatchObject({
      message: expect.stringContaining('storeferry_line'),
    });
  });

  it('is read in the charset that its other rows show', async () => {
    await using rejects = await rejectsOf({ 'a.csv': 'sku,name\nA,x\nB,Tür weiß schön\n' }, [
      rejection(2, 3),
    ]);
    const bytes = Buffer.from(rejects.text.slice(1).replace('A,x', 'A,Größe'), 'latin1');
    const { edits } = await rejects.corrected(bytes);
    expect(edits.cells).toEqual([{ line: '2', column: 'name', old: 'x', new: 'Größe' }]);
  });

  it('is read to its end in the encoding that its last rows show', async () => {
    const rows = Array.from({ length: 4000 }, (_, row) => `${row},"plain ""text"" ${row}, so long",x`);
    const source = ['sku,name,price', ...rows, 'Z,"Straße, ""grün""",x'].join('\n');
    await using rejects = await rejectsOf({ 'a.csv': `${source}\n` }, [rejection(2, 4002)]);
    const saved = ['sku;name;price;storeferry_reason;storeferry_line']
      .concat(rows.map((_, row) => `${row};"plain ""text"" ${row}, so long";x;is wrong;${row + 2}`))
      .concat('Z;"Straße, ""grün""";x;is wrong;4002')
      .join('\r\n');
    const { edits, dialect } = await rejects.corrected(Buffer.from(saved, 'latin1'));
    expect([dialect.encoding, dialect.delimiter, edits.editedCells, edits.rows]).toEqual([
      ...['windows-1252', ';', 0, 4001],
    ]);
  });

  it('lists what was edited and deleted, and refuses rows that were not rejected', async () => {
    await using rejects = await rejectSimple();
    const [header, a, , c] = rejects.text.split('\n');
    const { edits, refused, files } = await rejects.corrected(
      [header, c?.replace(';y;', ';3;'), a, 'D;new;4;;', a].join('\n'),
    );
    expect(edits).toMatchObject({ rows: 4, editedRows: 1, deletedRows: 1, editedCells: 1, refusedCells: 2 });
    expect(edits.cells).toEqual([{ line: '4', column: 'price', old: 'y', new: '3' }]);
    expect(refused).toMatchObject([
      { line: 4, cell: { column: 'storeferry_line', why: 'line' } },
      { line: 5, cell: { column: 'storeferry_line', why: 'line' } },
    ]);
    expect(files[0]?.rows.slice(0, 2)).toEqual([
      { line: 2, cells: ['C', 'Cä', '3'] },
      { line: 3, cells: ['A', 'Änne', '1'] },
    ]);
  });

  it('may have its columns moved and removed', async () => {
    await using rejects = await rejectSimple();
    const { edits, files } = await rejects.corrected('storeferry_line;price;;sku\n2;1;;A\n3;2;;B\n4;y;;C\n');
    expect(files[0]?.header).toEqual(['sku', 'name', 'price']);
    expect(files[0]?.cells[1]).toEqual(['B', 'Bär', '2']);
    expect(edits).toMatchObject({ removedColumns: ['name'], editedCells: 1 });
  });

  it('is refused with a column that was added, or without the column of lines', async () => {
    await using rejects = await rejectSimple();
    await expect(rejects.corrected('storeferry_line;sku;stock\n2;A;7\n')).rejects.toMatchObject({
      message: "This is not a rejects file of this run: 'stock' is no column of it.",
      hint: expect.stringMatching(/add new columns to the source/),
    });
    await expect(rejects.corrected('sku;name;price\nA;Änne;1\n')).rejects.toMatchObject({
      message: 'This is not a rejects file of this run: the column storeferry_line is gone.',
    });
  });

  it('keeps the cells that no reason names: a change of them is refused, as is a row of another line', async () => {
    await using rejects = await rejectsOf({ 'a.csv': SIMPLE }, [
      rejection(2, 2, "'x' is not a number (column price)"),
      rejection(3, 4),
    ]);
    const { edits, refused, files } = await rejects.corrected(
      rejects.text.replace('A;Änne;1', 'A;Anna;2').replace('B;Bär;x', 'X;Uhr;9'),
    );
    expect(files[0]?.cells).toEqual([
      ['A', 'Änne', '2'],
      ['B', 'Bär', 'x'],
      ['C', 'Cä', 'y'],
    ]);
    expect(edits).toMatchObject({ editedCells: 1, refusedCells: 2 });
    expect(refused).toMatchObject([
      { line: 2, cell: { column: 'name', old: 'Änne', new: 'Anna', why: 'unnamed' } },
      { line: 3, cell: { line: '3', column: 'storeferry_line', why: 'line' } },
    ]);
  });

  it('restores characters that a spreadsheet could not save', async () => {
    await using rejects = await rejectsOf({ 'a.csv': 'sku,name\nA,Привет 👋\nB,ok?\n' }, [rejection(2, 3)]);
    const { edits, files } = await rejects.corrected(
      rejects.text.replace('Привет 👋', '?????? ??').replace('ok?', 'fine?'),
    );
    expect(files[0]?.cells).toEqual([
      ['A', 'Привет 👋'],
      ['B', 'fine?'],
    ]);
    expect(edits).toMatchObject({ restoredCells: 1, editedCells: 1 });
  });

  it.each(['windows-1252', 'macintosh'])('is read where a spreadsheet opened it as %s', async (charset) => {
    await using rejects = await rejectsOf({ 'a.csv': 'sku,Größe\nA,schön\nB,süß\n' }, [rejection(2, 3)]);
    const { edits, files } = await rejects.corrected(
      new TextDecoder(charset).decode(Buffer.from(rejects.text.slice(1))).replace(/^B,.*?,/m, 'B,sauer,'),
    );
    expect(files[0]).toMatchObject({
      header: ['sku', 'Größe'],
      cells: [
        ['A', 'schön'],
        ['B', 'sauer'],
      ],
    });
    expect(edits).toMatchObject({ restoredCells: 1, editedCells: 1, removedColumns: [] });
  });

  it('takes no line break written otherwise for an edit, and keeps lines right', async () => {
    await using rejects = await rejectsOf({ 'a.csv': 'sku,name\nA,"x\r\ny"\nB,z\n' }, [rejection(2, 4)]);
    const { edits, files } = await rejects.corrected(rejects.text.replaceAll('\r\n', '\n'));
    expect(edits.editedCells).toBe(0);
    expect(files[0]?.rows).toEqual([
      { line: 2, cells: ['A', 'x\r\ny'] },
      { line: 4, cells: ['B', 'z'] },
    ]);
  });

  describe('rows that were short or long', () => {
    const RAGGED = 'a,b,c\n1\n1,2,3,4,5\n1,2,3\n';
    const reject = () => rejectsOf({ 'a.csv': RAGGED }, [rejection(2, 4)]);

    it('are so again when not edited', async () => {
      await using rejects = await reject();
      expect((await rejects.corrected(rejects.text)).files[0]?.cells).toEqual([
        ['1'],
        ['1', '2', '3', '4', '5'],
        ['1', '2', '3'],
      ]);
    });

    it('are whole when edited', async () => {
      await using rejects = await reject();
      const text = rejects.text.replace('1,,,,,', '1,x,,,,').replace('1,2,3,4,5,', '1,2,3 4 5,,,');
      const { files, edits } = await rejects.corrected(text);
      expect(files[0]?.cells).toEqual([
        ['1', 'x', ''],
        ['1', '2', '3 4 5'],
        ['1', '2', '3'],
      ]);
      expect(edits.cells.map(({ column }) => column)).toEqual([
        'b',
        'c',
        'storeferry_extra_1',
        'storeferry_extra_2',
      ]);
    });

    it('are too long still when only some surplus cells are cleared', async () => {
      await using rejects = await reject();
      const { files } = await rejects.corrected(rejects.text.replace('1,2,3,4,5,', '1,2,3,4,,'));
      expect(files[0]?.cells[1]).toEqual(['1', '2', '3', '4']);
    });
  });

  it('takes the row whose cells were moved back', async () => {
    const source = 'sku,name,kind,code,price\nshirt,Shirt, blue,Clothes,S-1,12.50\n';
    await using rejects = await rejectsOf({ 'a.csv': source }, [rejection(2)]);
    const [header] = rejects.text.split('\n');
    const { files, refused } = await rejects.corrected(
      `${header}\nshirt,"Shirt, blue",Clothes,S-1,12.50,,is wrong,2\n`,
    );
    expect(refused).toEqual([]);
    expect(files[0]?.cells).toEqual([['shirt', 'Shirt, blue', 'Clothes', 'S-1', '12.50']]);
  });

  it('says of a refused row the line on which it is given, also below old cells of several lines', async () => {
    const source = 'sku,body,price\nA,"x\ny\nz",1\nB,w,2\nC,v,3\n';
    await using rejects = await rejectsOf({ 'a.csv': source }, [rejection(2, 6)]);
    const { files, refused } = await rejects.corrected(
      'sku,price,storeferry_line\nA,5,2\nB,#REF!,5\nC,7,6\n',
    );
    const lines = files[0]?.rows.map(({ line, cells }) => [cells[0], line]);
    expect(lines).toEqual([
      ['A', 2],
      ['B', 5],
      ['C', 6],
    ]);
    expect(refused.map(({ line }) => line)).toEqual([5]);
  });

  it('gives each header its own file, so that a missing column is not a blank one', async () => {
    await using rejects = await rejectsOf({ 'a.csv': 'sku,x\nA,1\n', 'b.csv': 'price,sku\n9,B\n' }, [
      rejection(2, 2, 'is wrong', 0),
      rejection(2, 2, 'is wrong', 1),
    ]);
    const { files } = await rejects.corrected(rejects.text.replace(',9,', ',8,'));
    expect(files.map(({ header, rows }) => ({ header, rows }))).toEqual([
      { header: ['sku', 'x'], rows: [{ line: 2, cells: ['A', '1'] }] },
      { header: ['price', 'sku'], rows: [{ line: 3, cells: ['8', 'B'] }] },
    ]);
    expect(new Set(files.map(({ name }) => name)).size).toBe(2);
  });

  describe('that a spreadsheet has damaged', () => {
    const SOURCE = [
      'sku,barcode,size,price,note',
      '000123,1234567890123,3-4,1.50,a',
      '000124,4006381333931,1/2,tbc,b',
      '0777,98,XL,2.00,c',
    ];
    const reject = () =>
      rejectsOf({ 'a.csv': `${SOURCE.join('\n')}\n` }, [
        rejection(2, 2, "'tbc' is not a number (line 3, column price)"),
        rejection(3, 3, "'tbc' is not a number (column price)"),
        rejection(4, 4, 'is refused'),
      ]);
    const save = (rows: readonly string[]) =>
      ['sku;barcode;size;price;note;storeferry_reason;storeferry_line', ...rows].join('\r\n');

    it('has its old values where these are certain, and the edits', async () => {
      await using rejects = await reject();
      const { edits, files } = await rejects.corrected(
        save([
          '123;1,23457E+12;03. Apr;1,5;a;;2',
          '124;4,00638E+12;01.02.2026;21,00;b;;3',
          '777;98;XL;2;c;;4',
        ]),
      );
      expect(files[0]?.cells).toEqual([
        ['000123', '1234567890123', '3-4', '1.50', 'a'],
        ['000124', '4006381333931', '1/2', '21,00', 'b'],
        ['0777', '98', 'XL', '2.00', 'c'],
      ]);
      expect(edits).toMatchObject({ editedCells: 1, restoredCells: 9, refusedCells: 0 });
      const first = { line: '2', column: 'sku', old: '000123', new: '123' };
      expect(edits.restored[0]).toEqual(first);
    });

    it('is refused row by row where what was meant is not known; the old value stands there', async () => {
      await using rejects = await reject();
      const { edits, refused, files } = await rejects.corrected(
        save(['125;1234567890123;3-4;1.50;a;;2', '000124;9,78E+12;1/2;#REF!;b;;3', '0777;98;XL;2.00;c;;4']),
      );
      expect(files[0]?.cells[1]).toEqual(['000124', '4006381333931', '1/2', 'tbc', 'b']);
      expect(edits).toMatchObject({ editedCells: 0, restoredCells: 0, refusedCells: 3 });
      const old = { old: '4006381333931', new: '9,78E+12' };
      expect(refused).toEqual([
        { file: 0, line: 2, cell: { line: '2', column: 'sku', old: '000123', new: '125', why: 'unnamed' } },
        { file: 0, line: 3, cell: { line: '3', column: 'barcode', ...old, why: 'unnamed' } },
      ]);
    });
  });

  it('refuses a file with thousands of rows more, without reading it to its end', async () => {
    await using rejects = await rejectSimple();
    const rows = Array.from({ length: 50_000 }, (_, index) => `${index};Uhr;4;;`);
    const saved = `${rejects.text}${rows.join('\n')}\n"never closed`;
    await expect(rejects.corrected(saved)).rejects.toMatchObject({
      code: 'source',
      message: expect.stringMatching(/more than 10000 of its rows are not rejected rows/),
    });
  });

  it('is refused when it is an export of the same columns', async () => {
    await using rejects = await rejectSimple();
    const other = rejects.corrected('sku;name;price\nX;Uhr;9\nY;Zaun;8\n');
    await expect(other).rejects.toMatchObject({
      code: 'source',
      hint: expect.stringMatching(/keep this column, which names the row/),
    });
    const ofOtherRun = 'sku;name;price;storeferry_reason;storeferry_line\nX;Uhr;9;too long;2\n';
    await expect(rejects.corrected(ofOtherRun)).rejects.toMatchObject({ code: 'source' });
  });

  it('is refused when it is another file, or broken', async () => {
    await using rejects = await rejectSimple();
    await expect(rejects.corrected('foo,bar\n1,2\n')).rejects.toMatchObject({ code: 'source' });
    await expect(rejects.corrected(rejects.text.replace('x;', '"x;'))).rejects.toMatchObject({ code: 'csv' });
  });

  it('survives any content: what was rejected comes back row for row, whatever spreadsheet saved it', async () => {
    const cell = fc
      .oneof(
        fc.constantFrom(
          '',
          ' ',
          '"',
          ',',
          ';',
          '\n',
          '\r\n',
          '=1',
          '?',
          'é',
          '日本',
          'storeferry_line',
          '\ufeffx',
          '\u2028',
        ),
        fc.string({ unit: 'binary', maxLength: 6 }),
      )
      .map((text) => text.replaceAll('\0', ''));
    const row = fc
      .array(cell, { minLength: 1, maxLength: 6 })
      .filter((cells) => cells.some((text) => text.trim() !== ''));
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.stringMatching(/^[a-z]{1,4}$/), { minLength: 2, maxLength: 4 }),
        fc.array(row, { minLength: 1, maxLength: 6 }),
        fc.constantFrom(',', ';', '\t'),
        fc.constantFrom(',', ';', '\t'),
        async (header, rows, delimiter, saved) => {
          const source = [header, ...rows].map((cells) => `${formatRow(cells, delimiter)}\n`).join('');
          await using rejects = await rejectsOf({ 'a.csv': source }, [rejection(1, 1000)]);
          const read = await rejects.corrected(rejects.text);
          const trimmed = rows.map((cells) => {
            let length = cells.length;
            while (length > header.length && cells[length - 1]?.trim() === '') length -= 1;
            return cells.slice(0, length);
          });
          expect(read.edits.editedCells).toBe(0);
          expect(read.files[0]?.cells).toEqual(trimmed);
          const table = await readCsv(inPieces(Buffer.from(rejects.text)), { name: 'x', delimiter });
          const resaved = [table.header, ...(await allRows(table)).map(({ cells }) => cells)]
            .map((cells) => `${formatRow(cells, saved)}\r\n`)
            .join('');
          expect((await rejects.corrected(resaved)).files[0]?.cells).toEqual(trimmed);
        },
      ),
      { numRuns: 60 },
    );
  });
});
