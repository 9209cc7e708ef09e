import fc from 'fast-check';
import { it } from 'vitest';
import { csvLine, csvStyle, markOf } from '../../src/tables/write-table.ts';
import { measureProperty } from '../support/measure-property.ts';
import { readReference } from '../tables/csv/reference-reader.ts';

/** How formulas begin, by themselves and behind what a spreadsheet takes no notice of. */
const STARTS = ['=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r', '\n'];
const UNSEEN = [
  '',
  ' ',
  '\t',
  '\r',
  '\n',
  '\u00a0',
  '\ufeff',
  '\u200b',
  '\u2060',
  '\u202e',
  '\u0001',
  '"',
  "'",
];
const FORMULAS = [
  '1+1',
  "cmd|' /C calc'!A0",
  'HYPERLINK("http://a.example","x")',
  'SUM(A1:A9)',
  '-1',
  '5',
  '',
];
const HARMLESS = ['-5', '-0.25', '-1e9', '+44 20', 'a=b', '', 'plain', '12"', "it's", '日本', '1,5;2'];

const naughty = fc
  .tuple(
    fc.constantFrom(...UNSEEN),
    fc.constantFrom(...UNSEEN),
    fc.constantFrom(...STARTS),
    fc.constantFrom(...FORMULAS),
  )
  .map((parts) => parts.join(''));
const cell = fc
  .oneof(naughty, fc.constantFrom(...HARMLESS), fc.string({ unit: 'binary', maxLength: 8 }))
  .map((text) => text.replaceAll('\0', ''));
const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 5 }), { minLength: 1, maxLength: 6 });

/** Whether a spreadsheet would run it: by what is seen first, and a number is none. Written here, not taken from src/. */
function wouldRun(shown: string): boolean {
  return showsSignFirst(shown) || /^[\t\r\n]/.test(shown);
}

function showsSignFirst(shown: string): boolean {
  if (/^-\d+(\.\d+)?([eE][+-]?\d+)?$/.test(shown)) return false;
  const firstSeen = [...shown].find((character) => !/[\p{White_Space}\p{Cc}\p{Cf}]/u.test(character)) ?? '';
  return firstSeen !== '' && '=+-@＝＋－＠'.includes(firstSeen);
}

it('starts no formula in the flavour for spreadsheets, whatever the cells', async (context) => {
  const style = csvStyle({ format: 'excel-csv' });
  await measureProperty(
    context,
    { invariant: 20, tried: 'tables of cells that start formulas', wrong: 'live cells' },
    fc.asyncProperty(table, async (rows) => {
      const written = markOf(style) + rows.map((cells) => csvLine(cells, style)).join('');
      const shown = readReference(written, ',') ?? [];
      return shown.every(({ cells }) => !cells.some(wouldRun));
    }),
    { numRuns: 2_000 },
  );
});

it('starts none where a spreadsheet splits by another character than the file does', async (context) => {
  const style = csvStyle({ format: 'excel-csv' });
  const splitting = fc.array(fc.oneof(cell, fc.constantFrom(';', '|', '\t', ',', '\n', '"')), {
    maxLength: 5,
  });
  const cells = fc.array(
    splitting.map((parts) => parts.join('')),
    { minLength: 2, maxLength: 4 },
  );
  await measureProperty(
    context,
    { invariant: 20, tried: 'cells opened with another delimiter', wrong: 'live pieces' },
    fc.asyncProperty(fc.array(cells, { minLength: 1, maxLength: 4 }), async (rows) => {
      // The first cell of a line is text, as a name or a number is.
      const written = rows.map((row) => csvLine(['id', ...row], style)).join('');
      return [';', '|', '\t'].every((delimiter) => !piecesOf(written, delimiter).some(showsSignFirst));
    }),
    { numRuns: 2_000 },
  );
});

/** The cells that a lenient spreadsheet finds: quotes count at the start of a cell only, what is wrong is kept. */
function piecesOf(text: string, delimiter: string): string[] {
  const pieces: string[] = [];
  let piece = '';
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at);
    if (quoted && character === '"') {
      if (text.charAt(at + 1) === '"') {
        piece += '"';
        at += 1;
      } else {
        quoted = false;
      }
    } else if (!quoted && piece === '' && character === '"') {
      quoted = true;
    } else if (!quoted && (character === delimiter || character === '\n' || character === '\r')) {
      pieces.push(piece);
      piece = '';
    } else {
      piece += character;
    }
  }
  return [...pieces, piece];
}

it('is read back equal in the flavour for programs, formulas included', async (context) => {
  const style = csvStyle({ format: 'csv' });
  await measureProperty(
    context,
    {
      invariant: 20,
      tried: 'tables of cells that start formulas, for programs',
      wrong: 'read back otherwise',
    },
    fc.asyncProperty(table, async (rows) => {
      const withContent = rows.map((cells, index) => [`row ${index}`, ...cells]);
      const written = markOf(style) + withContent.map((cells) => csvLine(cells, style)).join('');
      const read = readReference(written, ',')?.map(({ cells }) => cells);
      return JSON.stringify(read) === JSON.stringify(withContent);
    }),
    { numRuns: 1_000 },
  );
});
