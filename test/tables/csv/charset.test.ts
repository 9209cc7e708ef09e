import { describe, expect, it } from 'vitest';
import { EncodingError } from '../../../src/model/storeferry-error.ts';
import { readCsv } from '../../../src/tables/csv/read-csv.ts';
import { allRows, inPieces, read, refusal } from './open-bytes.ts';

describe('the charset', () => {
  const umlauts = 'name,city\nJörg,Köln\nÄnne,Zürich\n';

  it('is that of a byte order mark, before what the job names', async () => {
    const utf16 = Buffer.from(`\ufeff${umlauts}`, 'utf16le');
    for (const bytes of [utf16, Buffer.from(utf16).swap16(), Buffer.from(`\ufeff${umlauts}`)]) {
      const { table, cells } = await read(bytes, { encoding: 'windows-1252' });
      expect(table.dialect.bom).toBe(true);
      expect(cells[1]).toEqual(['Änne', 'Zürich']);
    }
  });

  it('is as the job names it', async () => {
    const { table, cells } = await read(Buffer.from(umlauts, 'latin1'), { encoding: 'latin1' });
    expect(table.dialect).toMatchObject({ encoding: 'windows-1252', bom: false });
    expect(cells[0]).toEqual(['Jörg', 'Köln']);
  });

  it('is refused when it is not UTF-8, with place, byte and candidates', async () => {
    const error = await refusal(Buffer.from(umlauts, 'latin1'));
    expect(error).toBeInstanceOf(EncodingError);
    expect(error.place).toEqual({ file: 'sample.csv', line: 2, column: 2 });
    expect(error.message).toContain('0xF6 (byte 12 of the file)');
    expect(error.message).toContain('windows-1252 (there it reads Jörg)');
    expect(error.hint).toContain('encoding: windows-1252');
  });

  it('is refused wherever in the file the first such byte stands', async () => {
    const content = `a,b\n${'"x\ny",ü\n'.repeat(5000)}`;
    const bytes = Buffer.concat([Buffer.from(content), Buffer.from('1,caf\xe9\n', 'latin1')]);
    for (const lengths of [[65_536], [1, 2, 3]]) {
      const attempt = async () =>
        allRows(await readCsv(inPieces(bytes, lengths), { name: 'x', blockBytes: 1000 }));
      await expect(attempt()).rejects.toMatchObject({ place: { file: 'x', line: 10_002, column: 6 } });
    }
  });

  it.each([
    ['windows-1252', Buffer.from('name\ncaf\xe9 cr\xe8me\nJ\xf6rg M\xfcller\n', 'latin1')],
    ['shift_jis', Buffer.from([0x61, 0x0a, 0x83, 0x52, 0x83, 0x7d, 0x83, 0x93, 0x83, 0x68, 0x0a])],
    [
      'windows-1251',
      Buffer.from([0x61, 0x0a, 0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2, 0x20, 0xec, 0xe8, 0xf0, 0x0a]),
    ],
    [
      'macintosh',
      Buffer.from([0x61, 0x0a, 0x63, 0x61, 0x66, 0x8e, 0x20, 0x4d, 0x9f, 0x6c, 0x6c, 0x65, 0x72, 0x0a]),
    ],
    ['gb18030', Buffer.from([0x61, 0x0a, 0xd6, 0xd0, 0xb9, 0xfa, 0xb2, 0xe8, 0xd2, 0xb6, 0x0a])],
  ])('is suggested as %s if that fits best', async (encoding, bytes) => {
    const error = await refusal(bytes);
    expect(error instanceof EncodingError && error.candidates[0]).toBe(encoding);
  });

  it('is refused when bytes are no text in the encoding that is named', async () => {
    // 'a,b', '1,コ', then 0xa0, which begins no character.
    const bytes = Buffer.from('612c620d0a312c83520d0a322ca00a', 'hex');
    for (const lengths of [[100], [1], [8, 3]]) {
      const attempt = async () =>
        allRows(await readCsv(inPieces(bytes, lengths), { name: 'x', encoding: 'shift_jis', blockBytes: 4 }));
      await expect(attempt()).rejects.toMatchObject({
        place: { file: 'x', line: 3 },
        message: expect.stringContaining('byte 14 '),
      });
    }
  });

  it('is refused when the file ends within a character', async () => {
    expect((await refusal(Buffer.from([0x61, 0x0a, 0x83]), { encoding: 'shift_jis' })).message).toMatch(
      /ends in the middle/,
    );
    expect(await refusal(Buffer.from([0x61, 0x0a, 0xe2, 0x82]))).toBeInstanceOf(EncodingError);
  });

  it('is refused when the job names a legacy one and the file is plainly UTF-8', async () => {
    expect((await refusal('name\nÄÖÜäöüß éè\n', { encoding: 'windows-1252' })).message).toMatch(
      /is in UTF-8/,
    );
  });

  it('is refused when it looks like UTF-16 without a mark, and read when the job says so', async () => {
    const bytes = Buffer.from('a,b\n1,ü\n', 'utf16le');
    expect((await refusal(bytes)).hint).toContain('encoding: utf-16le');
    expect((await read(bytes, { encoding: 'utf-16le' })).cells).toEqual([['1', 'ü']]);
  });

  it('is refused when Node does not know it, with what to do', async () => {
    const error = await refusal('a\n', { encoding: 'cp850' });
    expect(error.message).toContain('cp850');
    expect(error.hint).toContain('iconv');
  });

  it('never accepts a NUL', async () => {
    expect((await refusal('a,b\n1,2\n\0,2\n')).place).toEqual({ file: 'sample.csv', line: 3, column: 1 });
  });
});
