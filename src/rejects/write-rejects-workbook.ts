import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import yazl from 'yazl';
import { formatRow, inertCell, type Table, withoutInertMark } from '../model/row.ts';
import { SourceError, temporaryFolderError } from '../model/storeferry-error.ts';
import { isZip, stageSource } from '../source/snapshot.ts';
import { type RunFolder, SampleFolder } from '../state/artifacts.ts';
import { readCsv } from '../tables/csv/read-csv.ts';
import { openTable } from '../tables/open-table.ts';
import { REJECTS_WORKBOOK, readRejectsIndex, UNTOUCHED_FILE } from './rejects-file.ts';

/** Excel cuts texts after this many characters, and repairs files with longer ones. */
const MAX_CELL_LENGTH = 32_767;

const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n';
const MAIN = 'http://schemas.openxmlformats.org/spreadsheetml/2006/main';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const PACKAGE = 'http://schemas.openxmlformats.org/package/2006';
const TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml';
/** The earliest time in a zip, so that equal rows give equal bytes. */
const MODIFIED = new Date(1980, 0, 1);

/** The parts of a workbook with one sheet, except the sheet. Style 1 is text, style 2 a header. */
const PARTS: Readonly<Record<string, string>> = {
  '[Content_Types].xml': `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${TYPE}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${TYPE}.styles+xml"/></Types>`,
  '_rels/.rels': `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
  'xl/_rels/workbook.xml.rels': `<Relationships xmlns="${PACKAGE}/relationships"><Relationship Id="rId1" Type="${OFFICE}/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="${OFFICE}/styles" Target="styles.xml"/></Relationships>`,
  'xl/styles.xml': `<styleSheet xmlns="${MAIN}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="3"><xf/><xf numFmtId="49" applyNumberFormat="1"/><xf numFmtId="49" fontId="1" applyNumberFormat="1" applyFont="1"/></cellXfs></styleSheet>`,
};

/** Writes the rejects of a run as a workbook, if their source is a workbook. */
export async function writeRejectsWorkbook(folder: RunFolder): Promise<void> {
  const table = await openUntouched(folder);
  await folder.write(REJECTS_WORKBOOK, writeXlsx('Rejects', unmarked(table)));
}

/** The edited workbook of rejects as CSV; undefined without an edited workbook. */
export async function editedWorkbook(folder: RunFolder): Promise<string | undefined> {
  if (!(await folder.exists(REJECTS_WORKBOOK))) return undefined;
  const { delimiter } = await readRejectsIndex(folder);
  const edited = await workbookAsCsv(await folder.read(REJECTS_WORKBOOK), REJECTS_WORKBOOK, delimiter);
  const written = await csvOf(unmarked(await openUntouched(folder)), delimiter);
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

async function openUntouched(folder: RunFolder): Promise<Table> {
  const { delimiter } = await readRejectsIndex(folder);
  return await readCsv(await folder.read(UNTOUCHED_FILE), { name: UNTOUCHED_FILE, delimiter });
}

/** Header and rows without the marks that keep formulas in CSV from running. */
async function* unmarked({ header, batches }: Table): AsyncGenerator<readonly string[]> {
  yield header.map(withoutInertMark);
  for await (const batch of batches()) for (const { cells } of batch) yield cells.map(withoutInertMark);
}

/** A zip is read from a file, because its list of contents is at the end. */
async function workbookAsCsv(bytes: Readable, name: string, delimiter: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-')).catch((cause: unknown) => {
    throw temporaryFolderError(tmpdir(), cause);
  });
  try {
    // Messages name the file as the user does; an upload may have any name.
    const path = basename(name).replaceAll(/^\.|[^\p{L}\p{N}._ -]/gu, '_');
    await pipeline(bytes, createWriteStream(join(dir, path), { mode: 0o600 }));
    const folder = new SampleFolder(Number.POSITIVE_INFINITY);
    const { files } = await stageSource({ path }, { workspaceDir: dir, folder });
    const [file] = files;
    if (file?.table === undefined) {
      throw new SourceError(`${path} is a zip, but not a workbook.`, {
        place: { file: path },
        hint: 'Save the corrected rejects as CSV or .xlsx.',
      });
    }
    const table = await openTable(await folder.read(file.stored), file.table, { name: path });
    return await csvOf(cellsOf(table), delimiter);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
}

async function* cellsOf({ header, batches }: Table): AsyncGenerator<readonly string[]> {
  yield header;
  for await (const batch of batches()) for (const { cells } of batch) yield cells;
}

/** A text as a workbook stores it: cut, and with one kind of line end. */
async function csvOf(rows: AsyncIterable<readonly string[]>, delimiter: string): Promise<string> {
  async function* lines() {
    for await (const cells of rows) {
      const kept = cells.map((cell) => inertCell(cell.slice(0, MAX_CELL_LENGTH).replaceAll(/\r\n?/g, '\n')));
      yield `${formatRow(kept, delimiter)}\n`;
    }
  }
  return await text(Readable.from(lines()));
}

/**
 * The bytes of an .xlsx with one sheet, whose first row is the header. All cells are texts: a spreadsheet changes
 * none of them, and runs none as a formula.
 */
export function writeXlsx(sheet: string, rows: AsyncIterable<readonly string[]>): Readable {
  const zip = new yazl.ZipFile();
  const options = { mtime: MODIFIED };
  for (const [name, content] of Object.entries(PARTS))
    zip.addBuffer(Buffer.from(XML + content), name, options);
  const workbook = `${XML}<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="${escaped(sheet)}" sheetId="1" r:id="rId1"/></sheets></workbook>`;
  zip.addBuffer(Buffer.from(workbook), 'xl/workbook.xml', options);
  const content = Readable.from(sheetXml(rows), { objectMode: false });
  zip.addReadStream(content, 'xl/worksheets/sheet1.xml', options);
  zip.end();
  const output = new PassThrough();
  content.on('error', (error) => output.destroy(error));
  zip.outputStream.pipe(output);
  return output;
}

async function* sheetXml(rows: AsyncIterable<readonly string[]>): AsyncGenerator<string> {
  yield `${XML}<worksheet xmlns="${MAIN}"><sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews><sheetData>`;
  let style = 2;
  for await (const cells of rows) {
    const written = cells.map((cell) =>
      cell === ''
        ? `<c s="${style}"/>`
        : `<c s="${style}" t="inlineStr"><is><t xml:space="preserve">${escaped(cell.slice(0, MAX_CELL_LENGTH))}</t></is></c>`,
    );
    yield `<row>${written.join('')}</row>`;
    style = 1;
  }
  yield '</sheetData></worksheet>';
}

/** Characters that XML cannot contain are written as `_x000B_`; text that already looks like this is marked. */
function escaped(text: string): string {
  return text
    .replaceAll(/_x(?=[0-9A-Fa-f]{4}_)/g, '_x005F_x')
    .replaceAll(/[^\P{Cc}\t\n]|[\ufffe\uffff]/gu, (character) => {
      return `_x${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}_`;
    })
    .toWellFormed()
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
