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
      addedRows: 0,
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
    const added = Buffer.concat([Buffer.from(rejects.text.slice(1)), Buffer.from('C,\u00d8,,', 'latin1')]);
    await expect(rejects.corrected(added)).rejects.toMatchObject({
      message: expect.stringMatching(/cells that were added/),
    });
    const { files } = await rejects.corrected(bytes, 'windows-1250');
    expect(files[0]?.cells[0]).toEqual(['A', 'Řeka']);
  });

  it.each(['Größe', 'Müller', 'Überzug'])(
    'is read where only one charset makes words of %s',
    async (typed) => {
      await using rejects = await rejectsOf({ 'a.csv': 'sku,name\nA,x\nB,y\n' }, [rejection(2, 3)]);
      const bytes = Buffer.from(rejects.text.slice(1).replace('A,x', `A,${typed}`), 'latin1');
      const { edits } = await rejects.corrected(bytes);
      expect(edits.cells).toEqual([{ line: '2', column: 'name', old: 'x', new: typed }]);
    },
  );

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

  it('lists what was edited, deleted and added', async () => {
    await using rejects = await rejectSimple();
    const [header, a, , c] = rejects.text.split('\n');
    const { edits, files } = await rejects.corrected(
      [header, c?.replace(';y;', ';3;'), a, 'D;new;4;;'].join('\n'),
    );
    expect(edits).toMatchObject({ rows: 3, editedRows: 1, deletedRows: 1, addedRows: 1, editedCells: 1 });
    expect(edits.cells).toEqual([{ line: '4', column: 'price', old: 'y', new: '3' }]);
    expect([...edits.byColumn]).toEqual([['price', 1]]);
    expect(files[0]?.rows).toEqual([
      { line: 2, cells: ['C', 'Cä', '3'] },
      { line: 3, cells: ['A', 'Änne', '1'] },
      { line: 4, cells: ['D', 'new', '4'] },
    ]);
  });

  it('may have its columns moved, removed and added', async () => {
    await using rejects = await rejectSimple();
    const { edits, files } = await rejects.corrected(
      'storeferry_line;price;stock;sku\n2;1;7;A\n3;2;8;B\n4;y;9;C\n',
    );
    expect(files[0]?.header).toEqual(['sku', 'name', 'price', 'stock']);
    expect(files[0]?.cells[1]).toEqual(['B', 'Bär', '2', '8']);
    expect(edits).toMatchObject({ removedColumns: ['name'], addedColumns: ['stock'], editedCells: 1 });
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
    expect(edits).toMatchObject({ restoredCells: 1, editedCells: 1, addedColumns: [], removedColumns: [] });
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

    it('are known by their cells when our columns are gone', async () => {
      await using rejects = await reject();
      const { files, edits } = await rejects.corrected('a,b,c\n1,,\n1,2,3\n');
      expect(files[0]?.cells).toEqual([['1'], ['1', '2', '3']]);
      expect(edits).toMatchObject({ deletedRows: 1, addedRows: 0 });
    });
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
      const first = { line: '2', column: 'sku', old: '000123', new: '123', damage: 'zeros' };
      expect(edits.restored[0]).toEqual(first);
    });

    it('has the same where our columns are gone', async () => {
      await using rejects = await reject();
      const saved = [
        'sku,barcode,size,price,note',
        '123,1234567890123,3-4,1.50,a',
        '000124,4006381333931,02. Jan,3,b',
      ];
      const { edits, files } = await rejects.corrected(saved.join('\n'));
      expect(files[0]?.cells).toEqual([
        ['000123', '1234567890123', '3-4', '1.50', 'a'],
        ['000124', '4006381333931', '1/2', '3', 'b'],
      ]);
      expect(edits).toMatchObject({ editedCells: 1, restoredCells: 2, deletedRows: 1 });
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
        { file: 0, line: 2, cell: { line: '2', column: 'sku', old: '000123', new: '125', damage: 'zeros' } },
        { file: 0, line: 3, cell: { line: '3', column: 'barcode', ...old, damage: 'shortened' } },
      ]);
    });
  });

  describe('whose rows have lost their line', () => {
    const SOURCE = 'sku,name,brand,price\n000100,Mug,Acme,x\n000200,Jug,Acme,y\n000300,Cup,Acme,z\n';
    const reject = () => rejectsOf({ 'a.csv': SOURCE }, [rejection(2, 4)]);
    const saved = (...rows: readonly string[]) =>
      ['sku,name,brand,price,storeferry_reason,storeferry_line', ...rows].join('\n');

    it.each(['', '99', '2'])(
      'compares such a row with the rejected one that it is like (line %j)',
      async (line) => {
        await using rejects = await reject();
        const rows = ['000100,Mug,Acme,1,,2', `200,Jug,Acme,2,,${line}`, '000300,Cup,Acme,3,,4'];
        const { edits, refused, files } = await rejects.corrected(saved(...rows));
        expect(files[0]?.cells[1]).toEqual(['000200', 'Jug', 'Acme', '2']);
        expect(edits).toMatchObject({ addedRows: 0, deletedRows: 0, editedCells: 3, restoredCells: 1 });
        expect(edits.restored[0]).toMatchObject({ line: '3', column: 'sku', damage: 'zeros' });
        expect(refused).toEqual([]);
      },
    );

    const HEADER = 'sku,name,code,published,tracker,price';
    const row = (sku: string, code: string) => `${sku},Name of ${sku},${code},true,shopify,x`;
    const [A, B, C] = [row('A', '000111'), row('B', '000222'), row('C', '000333')];

    it.each(['all columns', 'without the column of codes'])(
      'compares rows that have the lines of others with what they were: %s',
      async (columns) => {
        await using yesterday = await rejectsOf({ 'a.csv': [HEADER, C, A, B].join('\n') }, [rejection(2, 4)]);
        await using today = await rejectsOf({ 'a.csv': [HEADER, A, B, C].join('\n') }, [rejection(2, 4)]);
        const edited = yesterday.text.replaceAll(',x,', ',9,').replaceAll(',000', ',');
        const saved = columns === 'all columns' ? edited : edited.replaceAll(/^((?:.*?,){2}).*?,/gm, '$1');
        const { edits, files, refused } = await today.corrected(saved);
        expect(files[0]?.cells.map(([sku, , code, , , price]) => [sku, code, price])).toEqual([
          ['C', '000333', '9'],
          ['A', '000111', '9'],
          ['B', '000222', '9'],
        ]);
        expect(edits).toMatchObject({ editedCells: 3, addedRows: 0, deletedRows: 0 });
        expect(refused).toEqual([]);
      },
    );

    it('undoes the damage in a row that was copied with its line', async () => {
      await using rejects = await rejectsOf({ 'a.csv': [HEADER, A].join('\n') }, [rejection(2)]);
      const [header = '', only = ''] = rejects.text.replace(',000', ',').split('\n');
      const copy = only.replace(',true,', ',false,');
      const { edits, files } = await rejects.corrected([header, only, copy].join('\n'));
      expect(edits).toMatchObject({ addedRows: 1, restoredCells: 2, refusedCells: 0 });
      expect(files[0]?.cells[1]).toEqual(['A', 'Name of A', '000111', 'false', 'shopify', 'x']);
    });

    it('refuses a row that is like none while a rejected one is missing', async () => {
      await using rejects = await reject();
      const rows = ['000100,Mug,Acme,1,,2', '200,New jug,Bolt,2,,', '000300,Cup,Acme,3,,4'];
      const { edits, refused } = await rejects.corrected(saved(...rows));
      expect(edits).toMatchObject({ addedRows: 1, deletedRows: 1, refusedCells: 1 });
      expect(refused).toMatchObject([{ line: 3, cell: { column: 'storeferry_line', damage: 'line' } }]);
    });

    it('lets rows be added where none is missing', async () => {
      await using rejects = await reject();
      const rows = [
        '000100,Mug,Acme,1,,2',
        '000200,Jug,Acme,2,,3',
        '000300,Cup,Acme,3,,4',
        '400,Mug,Acme,4,,',
      ];
      const { edits, files } = await rejects.corrected(saved(...rows));
      expect(edits).toMatchObject({ addedRows: 1, deletedRows: 0, refusedCells: 0 });
      expect(files[0]?.cells[3]).toEqual(['400', 'Mug', 'Acme', '4']);
    });

    it('refuses a file with thousands of rows more, without reading it to its end', async () => {
      await using rejects = await reject();
      const rows = Array.from({ length: 50_000 }, (_, index) => `${index},Mug,Acme,4,,`);
      await expect(
        rejects.corrected(saved('000100,Mug,Acme,1,,2', ...rows, '"never closed')),
      ).rejects.toMatchObject({
        code: 'source',
        message: expect.stringMatching(/more than 10000 rows were added/),
      });
    });

    it('refuses added rows where columns are missing: these would be sent as blank', async () => {
      await using rejects = await reject();
      const { refused, files } = await rejects.corrected(
        'sku,price,storeferry_line\n000100,1,2\n000200,2,3\n000300,3,4\n400,4,\n',
      );
      expect(files[0]?.cells[1]).toEqual(['000200', 'Jug', 'Acme', '2']);
      expect(refused).toMatchObject([{ line: 5, cell: { damage: 'line' } }]);
    });
  });

  it('is refused by the row where an added one shows damage; its text stands', async () => {
    await using rejects = await rejectSimple();
    const { edits, refused, files } = await rejects.corrected(`${rejects.text}4.00638E+12;new;4;;\n`);
    expect(files[0]?.cells[3]).toEqual(['4.00638E+12', 'new', '4']);
    expect(edits).toMatchObject({ addedRows: 1, editedCells: 0, refusedCells: 1 });
    expect(refused).toMatchObject([
      { line: 5, cell: { line: '5 of the corrected file', column: 'sku', damage: 'shortened' } },
    ]);
  });

  it('is refused when it is an export of the same columns', async () => {
    await using rejects = await rejectSimple();
    const other = rejects.corrected('sku;name;price\nX;Uhr;9\nY;Zaun;8\n');
    await expect(other).rejects.toMatchObject({
      code: 'source',
      message: expect.stringMatching(/2 of its 2 rows do not resemble any/),
    });
    const mixed = rejects.corrected('sku;name;price\nA;Änne;1\nY;Zaun;8\n');
    await expect(mixed).rejects.toMatchObject({
      code: 'source',
      hint: expect.stringMatching(/keep the column storeferry_line/),
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
