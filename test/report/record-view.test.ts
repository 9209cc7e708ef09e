import stringWidth from 'string-width';
import { describe, expect, it } from 'vitest';
import { type RecordView, recordText, suggestionsText } from '../../src/report/record-view.ts';

const SOURCE = {
  files: [{ name: 'prices.csv', rows: 3, delimiter: ';', encoding: 'utf-8', blankLines: 0 }],
};
const SHEET = {
  files: SOURCE.files.map((file) => ({
    ...file,
    places: { format: 'xlsx', title: 'Prices', letters: { Preis: 'C' } } as const,
  })),
};
const price = { file: 0, line: 4, column: 'Preis', text: '12,90' };

const view: RecordView = {
  key: 'shirt',
  standing: 'changed',
  copies: 1,
  rows: [{ file: 0, line: 4, cells: [price, { ...price, column: 'Name', text: 'A shirt' }] }],
  fields: [
    { path: 'type', value: 'physical', cells: [], steps: [] },
    { path: 'variants[0].price', value: 12.9, old: 10.5, cells: [price], steps: ['number (decimal comma)'] },
  ],
  removed: [{ path: 'variants[0].sku', old: 'S-1' }],
  reason: null,
  inDoubt: false,
  source: SOURCE,
};

const plain = (changes: Partial<RecordView> = {}, width = 100) =>
  recordText({ ...view, ...changes }, { colors: false, width });

describe('a record as a text', () => {
  it('has the acknowledged value, the cell and the transforms beside each value', () => {
    expect(plain()).toBe(`shirt (1 row from line 4)
Changed since the store acknowledged it. The plan sends it.

Request body
  type               "physical"
  variants[0].price  12.9
      was 10.5
      ← Preis "12,90" (line 4)  number (decimal comma)
  variants[0].sku    no longer sent, was "S-1"
`);
  });

  it('names the cell of a sheet by its letters', () => {
    expect(plain({ source: SHEET })).toContain('← Preis "12,90" (Prices!C4)');
  });

  it('puts what does not fit into lines of their own, and keeps to the width of the terminal', () => {
    const text = plain({ fields: view.fields.map((field) => ({ ...field, value: 'x'.repeat(500) })) }, 60);
    expect(text).toContain('\n      was 10.5\n      ← Preis "12,90" (line 4)  number (decimal comma)\n');
    expect(Math.max(...text.split('\n').map((line) => stringWidth(line)))).toBeLessThanOrEqual(60);
  });

  it('marks the cell that a rejection names, and shows its row first', () => {
    const reason = { code: 'x', message: 'not a number', field: 'variants.price', line: 4, column: 'Preis' };
    const rows = [{ file: 0, line: 3, cells: [{ ...price, line: 3 }] }, ...view.rows];
    const text = plain({ standing: 'rejected', reason, fields: [], removed: [], rows });
    expect(text).toContain('variants.price: not a number (line 4)');
    expect(text).toMatch(
      /Cells of line 4\n> Preis: "12,90"\n {2}Name: "A shirt"\n\nCells of line 3\n {2}Preis/,
    );
  });

  it('acts on no terminal, whatever a cell holds, and is coloured only where asked', () => {
    const cell = { ...price, text: '\u001b[31mred' };
    expect(
      plain({ fields: [{ path: 'title', value: '\u001b[31mred', cells: [cell], steps: [] }] }),
    ).not.toContain('\u001b');
    expect(recordText(view, { colors: true, width: 100 })).toContain('\u001b[');
  });

  it('names what is near to a key that no record has', () => {
    const text = suggestionsText(
      'shrit',
      { nearest: ['shirt'], containing: [{ key: null, cell: price }] },
      SOURCE,
    );
    expect(text).toContain('Nearest: shirt');
    expect(text).toContain('key cannot be read  (Preis "12,90", line 4)');
  });
});
