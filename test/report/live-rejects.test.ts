import { describe, expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { rejection, rejectsOf } from './rejects-fixture.ts';

const LIVE = ['=cmd()', '+1;=2', '@x', "'=1", 'a;=1', '-1-1', '\t=1', 'plain', '-5'];
const HEADER = ['key', '=HYPERLINK("http://a.example")', 'a;@b', 'note'];
const quoted = (cells: readonly string[]) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',');
const SOURCE = [quoted(HEADER), ...LIVE.map((cell, row) => quoted([`k${row}`, cell, `x${row}`, 'n']))].join(
  '\n',
);
const startsFormula = /^\s*[=+@＝＋＠]|^-\D/u;

describe('formulas in a rejects file', () => {
  it('are not live, headers and names of files included, and come back as they were', async (context) => {
    await using rejects = await rejectsOf({ '=evil.csv': `${SOURCE}\n`, 'b.csv': `${SOURCE}\n` }, [
      rejection(2, LIVE.length + 2, '=cmd() is no price', 0),
    ]);
    const cells = rejects.text
      .slice(1)
      .split(/(?<=")\n|,(?=")|\n|,/)
      .map((cell) => cell.replace(/^"/, ''));
    const live = cells.filter((cell) => startsFormula.test(cell));
    expect(rejects.text).toContain("'=evil.csv:2");
    const unedited = await rejects.corrected(rejects.text);
    const [file] = unedited.files;
    expect(file?.header).toEqual(HEADER);
    expect(file?.cells.map((row) => row[1])).toEqual(LIVE);
    expect(unedited.edits).toMatchObject({
      editedCells: 0,
      removedColumns: [],
      deletedRows: 0,
    });
    const lost = LIVE.filter((cell, row) => file?.cells[row]?.[1] !== cell);
    figure(context, {
      invariant: 20,
      seed: null,
      fired: { 'rejected cells that start formulas': LIVE.length, 'headers that start formulas': 2 },
      measured: [none('live cells', live.length), none('cells changed by a retry', lost.length)],
    });
  });

  it('come back from a spreadsheet that took the apostrophes off, or put them on', async () => {
    await using rejects = await rejectsOf({ 'a.csv': 'key,price\nk,=1+1\n' }, [rejection(2)]);
    expect(rejects.text).toContain("k,'=1+1,");
    const taken = await rejects.corrected(rejects.text.replace("'=1+1", '=1+1'));
    expect(taken.edits.editedCells).toBe(0);
    const edited = await rejects.corrected(rejects.text.replace("'=1+1", "'=2"));
    expect(edited.files[0]?.cells).toEqual([['k', '=2']]);
    expect(edited.edits.cells).toMatchObject([{ old: '=1+1', new: '=2' }]);
  });
});
