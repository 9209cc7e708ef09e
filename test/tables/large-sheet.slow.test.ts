import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { expect, it } from 'vitest';
import yazl from 'yazl';
import { runProcess } from '../support/processes.ts';

const ROWS = 200_000;
const COLUMNS = 20;
const TEXTS = 3;
const MOST_MIB = 300;

const NS = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
const OFFICE = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const relations = (...types: readonly (readonly [type: string, target: string])[]) =>
  `<Relationships>${types.map(([type, target], index) => `<Relationship Id="r${index}" Type="${OFFICE}/${type}" Target="${target}"/>`).join('')}</Relationships>`;

function* texts() {
  yield `<sst ${NS}>`;
  for (let number = 0; number < ROWS * TEXTS; number++)
    yield `<si><t>Text number ${number} of the catalog</t></si>`;
  yield '</sst>';
}

function* rows() {
  const letter = (column: number) => String.fromCharCode(65 + column);
  yield `<worksheet ${NS}><sheetData>`;
  for (let row = 1; row <= ROWS + 1; row++) {
    const cells = Array.from({ length: COLUMNS }, (_, column) => {
      if (row === 1) return `<c r="${letter(column)}1" t="inlineStr"><is><t>column ${column}</t></is></c>`;
      if (column >= TEXTS) return `<c r="${letter(column)}${row}"><v>${(row * 7 + column) / 100}</v></c>`;
      return `<c r="${letter(column)}${row}" t="s"><v>${(row - 2) * TEXTS + column}</v></c>`;
    });
    yield `<row r="${row}">${cells.join('')}</row>`;
  }
  yield '</sheetData></worksheet>';
}

/** Joins short texts: a stream costs more for each of them than they do. */
function* inPieces(content: Iterable<string>) {
  let piece = '';
  for (const text of content) {
    piece += text;
    if (piece.length < 65_536) continue;
    yield piece;
    piece = '';
  }
  yield piece;
}

/** Stages the workbook in a process of its own, whose memory is that of a command, and prints its rows and the most memory that it took. */
const STAGE = `
import { boundHeap } from './src/cli/bound-heap.ts';
import { stageSource } from './src/source/snapshot.ts';
import { folderOnDisk } from './test/source/folder-on-disk.ts';
boundHeap();
const dir = process.env.SHEET_DIR;
const { files } = await stageSource({ path: 'large.xlsx' }, { workspaceDir: dir, folder: folderOnDisk(dir + '/run') });
const { createReadStream } = await import('node:fs');
const { openTable } = await import('./src/tables/open-table.ts');
const table = await openTable(createReadStream(dir + '/run/source-0001'), files[0].table, { name: 'large.xlsx', file: 0 });
for await (const _ of table.batches());
console.log(JSON.stringify({ rows: table.counts.rows, mib: process.resourceUsage().maxRSS / 1024 }));
`;

it(`a sheet of ${ROWS} rows is read in at most ${MOST_MIB} MiB`, async () => {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-sheet-'));
  try {
    const zip = new yazl.ZipFile();
    zip.addBuffer(Buffer.from('<Types/>'), '[Content_Types].xml');
    zip.addBuffer(Buffer.from(relations(['officeDocument', 'xl/workbook.xml'])), '_rels/.rels');
    zip.addBuffer(
      Buffer.from(
        `<workbook ${NS} xmlns:r="r"><sheets><sheet name="S" sheetId="1" r:id="r0"/></sheets></workbook>`,
      ),
      'xl/workbook.xml',
    );
    zip.addBuffer(
      Buffer.from(relations(['worksheet', 'worksheets/sheet1.xml'], ['sharedStrings', 'sharedStrings.xml'])),
      'xl/_rels/workbook.xml.rels',
    );
    const add = (content: Iterable<string>, name: string) =>
      zip.addReadStream(Readable.from(inPieces(content), { objectMode: false }), name, {
        compressionLevel: 1,
      });
    add(texts(), 'xl/sharedStrings.xml');
    add(rows(), 'xl/worksheets/sheet1.xml');
    zip.end();
    await pipeline(zip.outputStream, createWriteStream(join(dir, 'large.xlsx')));
    const child = await runProcess(process.execPath, ['--input-type=module', '-e', STAGE], {
      cwd: join(import.meta.dirname, '..', '..'),
      env: { ...process.env, SHEET_DIR: dir },
    });
    const { rows: read, mib } = JSON.parse(String(child.stdout));
    expect(read).toBe(ROWS);
    process.stdout.write(`${ROWS} rows: ${Math.round(mib)} MiB\n`);
    expect(mib).toBeLessThanOrEqual(MOST_MIB);
  } finally {
    await rm(dir, { recursive: true, force: true });
  }
});
