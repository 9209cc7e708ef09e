import { describe, expect, it } from 'vitest';
import { shownMark } from '../../src/model/row.ts';
import { rejection, rejectsOf } from './rejects-fixture.ts';

const CATALOG =
  'handle;title;price\nshirt;"Shirt; red";1,50\nshirt;"two\nlines";x\nhat;Hat;2\nmug;"12"" mug";3\n';

describe('the rejects file', () => {
  it('has the rows unaltered, in source order, each with why and from where', async () => {
    await using rejects = await rejectsOf({ 'a.csv': CATALOG }, [
      rejection(6, 6, 'no stock'),
      rejection(2, 3, 'price is not a number'),
    ]);
    expect(rejects.rows).toBe(3);
    expect(rejects.text).toBe(
      '\ufeffhandle;title;price;storeferry_reason;storeferry_line\n' +
        'shirt;"Shirt; red";"1,50";price is not a number;2\n' +
        'shirt;"two\nlines";x;price is not a number;3\n' +
        'mug;"12"" mug";3;no stock;6\n',
    );
    expect(rejects.untouched).toBe(rejects.text);
    expect(await rejects.folder.list()).toEqual(['rejects-untouched.csv', 'rejects.csv', 'rejects.json']);
  });

  it('is not written for no rows', async () => {
    await using rejects = await rejectsOf({ 'a.csv': CATALOG }, []);
    expect([rejects.rows, await rejects.folder.list()]).toEqual([0, []]);
  });

  it('shows a row once, with all its reasons, however spans overlap', async () => {
    await using rejects = await rejectsOf({ 'a.csv': CATALOG }, [
      rejection(2, 5, 'first'),
      rejection(3, 3, 'second'),
      rejection(3, 3, 'second'),
      rejection(2, 2, 'first'),
    ]);
    expect(rejects.text.split('\n').filter((line) => line.includes('first'))).toHaveLength(3);
    expect(rejects.text).toContain('x;first / second;3\n');
  });

  it('has the mark of a workbook only where its cell is refused for it', async () => {
    const marks = { 0: shownMark('0" ml"'), 1: `EUR ${shownMark('0.00 "netto"')}`, 2: '(date)' };
    const of = (code: string, column: string) => ({
      spans: [{ file: 0, from: 2, to: 3 }],
      reason: { code, message: `${column} is wrong`, line: 2, column },
    });
    const rejects = async (...reasons: readonly ReturnType<typeof of>[]) => {
      await using written = await rejectsOf({ 'a.csv': 'size,price,day\n1,5,2\n2,6,3\n' }, reasons, marks);
      return written.text.split('\n').slice(1, 3);
    };
    expect(
      await rejects(of('price-not-a-number', 'price'), of('made-a-date', 'size'), of('x', 'day')),
    ).toMatchObject([expect.stringMatching(/^1,5 EUR,2,/), expect.stringMatching(/^2,6 EUR,3,/)]);
    expect(await rejects(of('shown-otherwise', 'size'), of('made-a-date', 'day'))).toMatchObject([
      expect.stringMatching(/^"1 \(shown.as.0"".ml""\)",5,2 \(date\),/),
      expect.stringMatching(/^"2 \(shown.as.0"".ml""\)",6,3 \(date\),/),
    ]);
  });

  it('gives the place of the cause in a group, and lets no reason start a formula', async () => {
    const reason = { code: 'x', message: '=cmd() refused', line: 3, column: 'price' };
    await using rejects = await rejectsOf({ 'a.csv': CATALOG }, [
      { spans: [{ file: 0, from: 2, to: 3 }], reason },
    ]);
    expect(rejects.text).toContain(`'=cmd() refused (line 3, column price)`);
    // In the row that is the cause, storeferry_line says the line.
    expect(rejects.text).toContain(`'=cmd() refused (column price);3\n`);
  });

  it.each(["'12''50 Prices' is not a number", "'Price' is not a number"])(
    'names the column, also where the value has its name: %j',
    async (message) => {
      const reason = { code: 'x', message, line: 2, column: 'Price' };
      await using rejects = await rejectsOf({ 'a.csv': 'Price,b\nx,1\n' }, [
        { spans: [{ file: 0, from: 2, to: 2 }], reason },
      ]);
      expect(rejects.text).toContain(`${message} (column Price)`);
    },
  );

  it('keeps reasons aligned: short rows are filled up, surplus cells have columns of their own', async () => {
    const source = 'a,b\n1\n1,2,3,,5\n1,2,,\n';
    await using rejects = await rejectsOf({ 'a.csv': source }, [rejection(2, 4)]);
    expect(rejects.text.slice(1).split('\n')).toEqual([
      'a,b,storeferry_extra_1,storeferry_extra_2,storeferry_extra_3,storeferry_reason,storeferry_line',
      '1,,,,,is wrong,2',
      '1,2,3,,5,is wrong,3',
      '1,2,,,,is wrong,4',
      '',
    ]);
  });

  it('is not written where one long row would make it a thousand times larger than its source', async () => {
    const source = `a,b\n${','.repeat(16_000)}x\n${'1\n'.repeat(4_000)}`;
    await using rejects = await rejectsOf({ 'a.csv': source }, [rejection(2, 4_002)]);
    expect(rejects.rows).toBe(0);
    expect(await rejects.folder.list()).toEqual([]);
    await using shorter = await rejectsOf({ 'a.csv': source }, [rejection(2, 100)]);
    expect(shorter.rows).toBe(99);
  });

  it('is UTF-8 with a mark and keeps CRLF, whatever the charset of the source', async () => {
    await using rejects = await rejectsOf({ 'a.csv': Buffer.from('\ufeffname\r\nJörg\r\n', 'utf16le') }, [
      rejection(2),
    ]);
    expect(rejects.text).toBe('\ufeffname,storeferry_reason,storeferry_line\r\nJörg,is wrong,2\r\n');
  });

  it('names the file of each row when there are several, and unites their columns', async () => {
    await using rejects = await rejectsOf(
      { 'a.csv': 'sku,x,x\nA,1,2\n', 'b.csv': 'price,sku\n9,B\n', 'c.csv': 'q\n1\n' },
      [rejection(2, 2, 'is wrong', 1), rejection(2, 2, 'is wrong', 0)],
    );
    expect(rejects.text.slice(1).split('\n')).toEqual([
      'sku,x,x,price,storeferry_reason,storeferry_line',
      'A,1,2,,is wrong,a.csv:2',
      'B,,,9,is wrong,b.csv:2',
      '',
    ]);
  });
});
