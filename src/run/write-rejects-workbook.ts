import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { LIMIT_NAMES } from '../model/input-limits.ts';
import { recordOf } from '../model/json-object.ts';
import { formatRow, inertCell, MAX_SHEET_COLUMNS, type Table, withoutInertMark } from '../model/row.ts';
import { SourceError } from '../model/storeferry-error.ts';
import { REJECTS_WORKBOOK, readRejectsIndex, UNTOUCHED_FILE } from '../rejects/rejects-file.ts';
import { isZip, stageSource } from '../source/snapshot.ts';
import { type RunFolder, SampleFolder } from '../state/artifacts.ts';
import { makeTemporaryFolder } from '../state/file-access.ts';
import { openTable, readCsv } from '../tables/open-table.ts';
import { MAX_CELL_LENGTH, writeTable } from '../tables/write-table.ts';

/** Writes the rejects of a run as a workbook, unless it has too many columns with ours. */
export async function writeRejectsWorkbook(folder: RunFolder): Promise<void> {
  const { header, batches } = (await openUntouched(folder)).table;
  // The marks that keep formulas in CSV from running are not needed in a workbook.
  async function* rows() {
    for await (const batch of batches()) yield batch.map(({ cells }) => cells.map(withoutInertMark));
  }
  if (header.length > MAX_SHEET_COLUMNS) return;
  const columns = header.map(withoutInertMark);
  await folder.write(
    REJECTS_WORKBOOK,
    writeTable({ name: 'Rejects', columns, cutsTexts: true, rows }, 'xlsx'),
  );
}

/** The edited workbook of rejects as CSV; undefined without an edited workbook. */
export async function editedWorkbook(folder: RunFolder): Promise<string | undefined> {
  if (!(await folder.exists(REJECTS_WORKBOOK))) return undefined;
  const { table, delimiter } = await openUntouched(folder);
  const edited = await workbookAsCsv(await folder.read(REJECTS_WORKBOOK), REJECTS_WORKBOOK, delimiter);
  const written = await csvOf(table, delimiter, withoutInertMark);
  return edited === written ? undefined : edited;
}

/** A file that can replace a run's rejects file. */
export interface CorrectedFile {
  /** The name of the file in messages. */
  readonly name: string;
  readonly open: () => Promise<Readable>;
  /** Whether no spreadsheet has written it: each change of a cell is intended. */
  readonly asTyped?: boolean;
}

/** A corrected rejects file as CSV, also if a spreadsheet has saved it as a workbook. */
export async function correctedAsCsv(
  { name, open }: CorrectedFile,
  delimiter: string,
): Promise<() => Promise<Readable>> {
  if (!(await isZip(await open()))) return open;
  const csv = await workbookAsCsv(await open(), name, delimiter);
  return async () => Readable.from([Buffer.from(csv)]);
}

/** What a file of our own has was within the limits of its source; with the reason and the place a row may be longer. */
const NO_LIMITS = recordOf(LIMIT_NAMES, () => Number.POSITIVE_INFINITY);

/** The rejected rows of a run, as they were written. */
export async function openUntouched(folder: RunFolder) {
  const { delimiter, continues } = await readRejectsIndex(folder);
  const input = await folder.read(UNTOUCHED_FILE);
  const table = await readCsv(input, { name: UNTOUCHED_FILE, delimiter, limits: NO_LIMITS });
  return { table, delimiter, continues: new Set(continues) };
}

/** A zip is read from a file, because its list of contents is at the end. */
async function workbookAsCsv(bytes: Readable, name: string, delimiter: string) {
  const dir = await makeTemporaryFolder();
  try {
    // Messages name the file as the user does; an upload may have any name.
    const path = basename(name).replaceAll(/^\.|[^\p{L}\p{N}._ -]/gu, '_');
    await pipeline(bytes, createWriteStream(join(dir, path), { mode: 0o600 }));
    const folder = new SampleFolder(Number.POSITIVE_INFINITY);
    const { files } = await stageSource({ path }, { workspaceDir: dir, folder });
    const [file] = files;
    if (file?.table === undefined)
      throw new SourceError(`${path} is a zip, but not a workbook.`, {
        place: { file: path },
        hint: 'Save the corrected rejects as CSV or .xlsx.',
      });
    const table = await openTable(await folder.read(file.stored), file.table, { name: path });
    return await csvOf(table, delimiter);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

/** A table as a workbook stores it: texts are cut, and have one kind of line end. `plain`: what a cell of the table stands for. */
async function csvOf({ header, batches }: Table, delimiter: string, plain = (cell: string) => cell) {
  const stored = (cell: string) =>
    inertCell(plain(cell).slice(0, MAX_CELL_LENGTH).replaceAll(/\r\n?/g, '\n'));
  const line = (cells: readonly string[]) => `${formatRow(cells.map(stored), delimiter)}\n`;
  async function* lines() {
    yield line(header);
    for await (const batch of batches()) yield batch.map(({ cells }) => line(cells)).join('');
  }
  return await text(Readable.from(lines()));
}
