import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatRow } from '../../src/model/row.ts';
import { readCorrectedRejects } from '../../src/rejects/corrected-rejects.ts';
import { isUntouched } from '../../src/rejects/judge-cell.ts';
import { readRejectsIndex } from '../../src/rejects/rejects-file.ts';
import { type CellEdits, correctedRejects, readRejectedPage } from '../../src/run/read-corrections.ts';
import type { RunFolder } from '../../src/state/artifacts.ts';
import { readCsv } from '../../src/tables/csv/read-csv.ts';
import { rejection, rejectsOf } from '../report/rejects-fixture.ts';

/** A corrected file as a retry reads it: what was edited, and every cell. */
async function readTyped(folder: RunFolder, edits: CellEdits) {
  const { files, ...result } = await readCorrectedRejects({
    name: 'rejects.csv',
    corrected: async () => correctedRejects(folder, edits),
    untouched: () => folder.read('rejects-untouched.csv'),
    index: await readRejectsIndex(folder),
    asTyped: true,
  });
  let text = '';
  for (const { content } of files) for await (const part of content()) text += part;
  return { ...result, text };
}

const SPREADSHEET = ['=1+1', '-2', '00042', '1.23E+12', '03. Apr', 'WAHR', '#NAME?', "'=x", 'a;=b', 'é', '?'];
const cell = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 6 }).filter((text) => !/[\0\r]/.test(text)),
  fc.constantFrom(...SPREADSHEET, '', ' x ', 'a\nb', 'say "hi", you'),
);

describe('corrections that were typed', () => {
  it('are exactly what a retry reads, whatever they hold; without any, nothing was corrected', async () => {
    const scene = fc.record({
      rows: fc.array(fc.tuple(cell, cell), { minLength: 1, maxLength: 5 }),
      typed: fc.array(fc.tuple(fc.nat({ max: 4 }), fc.constantFrom(1, 2), cell), { maxLength: 5 }),
    });
    await fc.assert(
      fc.asyncProperty(scene, async ({ rows, typed }) => {
        const lines = rows.map((cells, index) => formatRow([`key-${index}`, ...cells], ','));
        const source = `Handle,Title,Price\n${lines.join('\n')}\n`;
        const places = await readCsvLines(source);
        await using rejects = await rejectsOf(
          { 'a.csv': source },
          places.map((line) => rejection(line)),
        );
        const { folder } = rejects;
        expect(isUntouched((await readTyped(folder, new Map())).edits)).toBe(true);

        const edits = new Map<string, Map<number, string>>();
        const expected = rows.map((cells, index) => [`key-${index}`, ...cells]);
        for (const [index, place, text] of typed) {
          const row = expected[index];
          if (row === undefined) continue;
          row[place] = text;
          const line = String(places[index]);
          edits.set(line, new Map(edits.get(line)).set(place, text));
        }
        const { text, edits: found } = await readTyped(folder, edits);
        expect(found.restoredCells + found.refusedCells + found.deletedRows).toBe(0);
        expect(await cellsOf(text)).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });
});

it('a correction stays with its row where another row is removed meanwhile', async () => {
  await using rejects = await rejectsOf({ 'a.csv': 'Name,Phone\nann,1\nbob,2\ncyd,3\n' }, [
    rejection(2),
    rejection(3),
    rejection(4),
  ]);
  const kept = rejects.untouched.split('\n').filter((line) => !line.startsWith('ann'));
  await rejects.folder.write('rejects-untouched.csv', [kept.join('\n')]);
  const corrected = await text(correctedRejects(rejects.folder, new Map([['3', new Map([[1, '22']])]])));
  expect(corrected).toContain('bob,22');
  expect(corrected).toContain('cyd,3');
});

async function tableOf(text: string) {
  return await readCsv(Readable.from([Buffer.from(text)]), { name: 'a.csv', delimiter: ',' });
}

async function readCsvLines(text: string): Promise<number[]> {
  const lines: number[] = [];
  for await (const batch of (await tableOf(text)).batches()) lines.push(...batch.map(({ line }) => line));
  return lines;
}

async function cellsOf(text: string): Promise<(readonly string[])[]> {
  const rows: (readonly string[])[] = [];
  for await (const batch of (await tableOf(text)).batches()) rows.push(...batch.map(({ cells }) => cells));
  return rows;
}

describe('pages of rejected rows', () => {
  it('have every row once, in order, and do not divide records', async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(sizes, async (records) => {
        let line = 2;
        const rejections = records.map((size) => {
          line += size;
          return rejection(line - size, line - 1, "'tbc' is not a number (column Variant Price)");
        });
        const rows = Array.from({ length: line - 2 }, (_, index) => `h,${index},tbc`);
        await using rejects = await rejectsOf(
          { 'a.csv': `Handle,Price,Variant Price\n${rows.join('\n')}\n` },
          rejections,
        );
        const first = await readRejectedPage(rejects.folder, 1);
        const pages = [first];
        for (let number = 2; number <= first.pages; number += 1) {
          pages.push(await readRejectedPage(rejects.folder, number));
        }
        const all = pages.flatMap((page) => page.rows);
        expect(all.map(({ line: at }) => Number(at))).toEqual(rows.map((_, index) => index + 2));
        expect(pages.every((page) => page.rows[0]?.begins === true)).toBe(true);
        expect(all.filter(({ begins }) => begins)).toHaveLength(records.length);
        // `Price` is a part of the name that the reason has.
        expect(all.every(({ blamed }) => blamed.join() === '2')).toBe(true);
        expect((await readRejectedPage(rejects.folder, 99)).rows).toEqual(pages.at(-1)?.rows);
      }),
      { numRuns: 30 },
    );
  });

  it('are read though the columns for reason and line make them wider than a source may be', async () => {
    const header = Array.from({ length: 16_384 }, (_, index) => `c${index}`).join(',');
    await using rejects = await rejectsOf({ 'a.csv': `${header}\na\n` }, [rejection(2)]);
    expect(await readRejectedPage(rejects.folder, 1)).toMatchObject({ total: 1, pages: 1 });
  });
});
