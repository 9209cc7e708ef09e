import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { formatRow } from '../csv/format-row.ts';
import { readCsv } from '../csv/read-csv.ts';
import { inertCell, withoutInertMark } from '../model/inert-cell.ts';
import { isBlamed } from '../report/rejects/rejects-edits.ts';
import { REJECTS_FILE, readRejectsIndex, UNTOUCHED_FILE } from '../report/rejects/rejects-file.ts';
import type { RunFolder } from '../state/artifacts.ts';

/** A rejected row as its source had it. */
export interface RejectedRow {
  /** Its place in the rejects file, from 0. */
  readonly index: number;
  /** Its `storeferry_line`. */
  readonly line: string;
  readonly reason: string;
  /** Whether it is the first row of its record. */
  readonly begins: boolean;
  readonly cells: readonly string[];
  /** The places of the cells that the reason names. */
  readonly blamed: readonly number[];
}

/** A page of the rejected rows of a run. */
export interface RejectedPage {
  readonly columns: readonly string[];
  readonly rows: readonly RejectedRow[];
  /** From 1; the last page if the one that was asked for does not exist. */
  readonly number: number;
  readonly pages: number;
  /** The rejected rows on all pages. */
  readonly total: number;
  /** Whether the run has more rejected rows than pages show. */
  readonly isCut: boolean;
}

/** Corrected cells: by the index of their row, then by their place. */
export type CellEdits = ReadonlyMap<number, ReadonlyMap<number, string>>;

const ROWS_A_PAGE = 50;
/** A record with more rows continues on the next page. */
const MOST_ROWS_A_PAGE = 200;
const CHARACTERS_A_PAGE = 500_000;
/** Far more than people correct by hand. */
const MOST_ROWS = 20_000;

/** One page of the rejected rows of a run, with whole records, from the copy that is never edited. */
export async function readRejectedPage(folder: RunFolder, asked: number): Promise<RejectedPage> {
  const { table, continues } = await openRejects(folder);
  const columns = table.header.slice(0, -OWN_COLUMNS).map(withoutInertMark);
  let [rows, pages, total, characters, onPage]: [RejectedRow[], number, number, number, number] = [
    [],
    1,
    0,
    0,
    0,
  ];
  using _closed = table;
  for await (const batch of table.batches()) {
    for (const { cells: marked } of batch) {
      if (total === MOST_ROWS)
        return { columns, rows, number: Math.min(asked, pages), pages, total, isCut: true };
      const cells = marked.map(withoutInertMark);
      const [reason = '', line = ''] = cells.splice(columns.length);
      const begins = !continues.has(line);
      const isFull = onPage >= ROWS_A_PAGE || characters >= CHARACTERS_A_PAGE;
      if ((isFull && begins) || onPage >= MOST_ROWS_A_PAGE || characters >= 2 * CHARACTERS_A_PAGE) {
        pages += 1;
        [characters, onPage] = [0, 0];
        if (pages <= asked) rows = [];
      }
      onPage += 1;
      for (const cell of cells) characters += cell.length;
      if (pages <= asked)
        rows.push({ index: total, line, reason, begins, cells, blamed: blamedIn(reason, columns) });
      total += 1;
    }
  }
  return { columns, rows, number: Math.min(asked, pages), pages, total, isCut: false };
}

/** The reason and the line of a row. */
const OWN_COLUMNS = 2;

/** The places of the columns that a reason names; of `Price` and `Variant Price` the longer one. */
function blamedIn(reason: string, columns: readonly string[]): readonly number[] {
  const named = columns.flatMap((column, place) =>
    column !== '' && isBlamed(reason, column) ? [place] : [],
  );
  const name = (place: number) => columns[place] ?? '';
  return named.filter(
    (place) => !named.some((other) => name(other) !== name(place) && name(other).includes(name(place))),
  );
}

/** The rejects file of a run with these corrections: what `retry` reads. Formulas in it stay inert. */
export function correctedRejects(folder: RunFolder, edits: CellEdits): Readable {
  return Readable.from(correctedLines(folder, edits), { objectMode: false });
}

async function* correctedLines(folder: RunFolder, edits: CellEdits): AsyncGenerator<string> {
  const { table, delimiter, inert } = await openRejects(folder);
  using _closed = table;
  yield `\ufeff${formatRow(table.header, delimiter)}\n`;
  let index = 0;
  for await (const batch of table.batches()) {
    let lines = '';
    for (const { cells } of batch) {
      const typed = edits.get(index);
      const corrected = cells.map((cell, place) => {
        const now = typed?.get(place);
        return now === undefined ? cell : inert ? inertCell(now) : now;
      });
      lines += `${formatRow(corrected, delimiter)}\n`;
      index += 1;
    }
    yield lines;
  }
}

async function openRejects(folder: RunFolder) {
  const { delimiter, inert = false, continues = [] } = await readRejectsIndex(folder);
  const table = await readCsv(await folder.read(UNTOUCHED_FILE), { name: UNTOUCHED_FILE, delimiter });
  return { table, delimiter, inert, continues: new Set(continues) };
}

/** Names the rejects file that was typed in a browser, by its digest: any later change of it is one of a spreadsheet. */
const TYPED_FILE = 'rejects-typed.txt';

/** Notes that the rejects file of a run was typed in a browser, so no cell of it was changed by a spreadsheet. */
export async function markAsTyped(folder: RunFolder): Promise<void> {
  await folder.write(TYPED_FILE, [await digestOfRejects(folder)]);
}

/** Whether the rejects file is still as it was typed in a browser. */
export async function isTyped(folder: RunFolder): Promise<boolean> {
  if (!(await folder.exists(TYPED_FILE))) return false;
  return (await text(await folder.read(TYPED_FILE))) === (await digestOfRejects(folder));
}

async function digestOfRejects(folder: RunFolder): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(await folder.read(REJECTS_FILE), hash);
  return hash.digest('hex');
}
