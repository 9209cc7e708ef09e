import type { Readable } from 'node:stream';
import { headingRows, titleAbove } from '../csv/read-csv.ts';
import type { Dialect, Row, StagedTable, Table, TablePlaces } from '../model/row.ts';
import { CsvError } from '../model/storeferry-error.ts';
import { columnLetters } from './number-text.ts';
import { type TableFile, type TableReader, tableLimitError } from './table-file.ts';

/** A table that is written to a snapshot. */
export interface TableStaging {
  /** Each row as a line of JSON: its number, then its cells. */
  readonly content: AsyncIterable<string>;
  /** The facts that the snapshot stores, after the content has been read. */
  readonly describe: () => StagedTable;
}

/** Reads the selected table of a file in a format other than CSV. SourceError if it cannot be read reliably. */
export async function stageTable(file: TableFile): Promise<TableStaging> {
  const reader = await openReader(file);
  let width = 0;
  let rows = 0;
  async function* content(): AsyncGenerator<string> {
    for await (const batch of reader.batches) {
      let text = '';
      for (const { line, cells } of batch) {
        rows += 1;
        if (rows > file.limits.rows)
          throw tableLimitError({ ...file, title: reader.title() }, 'rows', { line });
        width = Math.max(width, cells.length);
        text += `${JSON.stringify([line, ...cells])}\n`;
      }
      if (text !== '') yield text;
    }
  }
  return {
    content: content(),
    describe: () => ({ format: file.format, title: reader.title(), header: reader.header(), width }),
  };
}

/** Each format is loaded when its first file is read. */
async function openReader(file: TableFile): Promise<TableReader> {
  switch (file.format) {
    case 'xlsx':
      return await (await import('./read-xlsx.ts')).readXlsx(file);
    case 'ods':
      return await (await import('./read-ods.ts')).readOds(file);
    case 'xml':
      return await (await import('./read-xml-records.ts')).readXmlRecords(file);
    case 'json':
    case 'jsonl':
      return await (await import('./read-json.ts')).readJson(file);
    default:
      return file.format satisfies never;
  }
}

const BATCH_ROWS = 100;

/** Table formats are converted to CSV of this dialect. */
const DIALECT: Dialect = { delimiter: ',', encoding: 'utf-8', newline: '\n', bom: false };

interface OpenOptions {
  readonly name: string;
  /** The file's index within the snapshot. */
  readonly file: number;
  /** The row of a sheet that is the header; default: the first row with content. */
  readonly headerRow?: number | undefined;
}

/** A staged table with a known header, whose rows may be read once. Dispose of it if they are not. */
export interface OpenedTable extends Table, Disposable {
  readonly dialect: Dialect;
  readonly places: TablePlaces;
  /** Why the header is probably wrong; a source is refused with this reason. */
  readonly doubt: CsvError | null;
  /** The findings of `batches` so far. */
  readonly counts: { readonly rows: number; readonly blankLines: number };
}

/** Opens the rows that `stageTable` has written. CsvError if a sheet has no header. */
export async function openTable(
  input: Readable,
  staged: StagedTable,
  { name, file, headerRow }: OpenOptions,
): Promise<OpenedTable> {
  const rows = rowsOf(input, file, Math.max(staged.width, staged.header?.length ?? 0))[
    Symbol.asyncIterator
  ]();
  let first: readonly Row[] = [];
  let header = staged.header;
  let headerLine = 0;
  if (header === null) {
    do {
      const { done, value } = await rows.next();
      if (done === true) break;
      first = value.filter(({ line }) => line >= (headerRow ?? 0));
    } while (first.length === 0);
    const [top, ...others] = first;
    if (top === undefined || (headerRow !== undefined && top.line !== headerRow)) {
      input.destroy();
      const where = `row ${headerRow ?? 1} of the sheet ${staged.title}`;
      throw new CsvError(`There is no header: ${where} is empty.`, {
        place: { file: name, line: headerRow ?? 1 },
        hint:
          headerRow === undefined
            ? 'Check whether the export failed.'
            : 'Correct `headerRow` in the source of the job.',
      });
    }
    header = top.cells;
    headerLine = top.line;
    first = others;
  } else {
    const { value } = await rows.next();
    first = value ?? [];
  }
  const top: Row = { file, line: headerLine, cells: header };
  const isSheet = staged.header === null;
  const isHeading = isSheet ? headingRows(top, first) : () => false;
  const marked = (row: Row): Row => (isHeading(row) ? { ...row, heading: true } : row);
  const counts = { rows: 0, blankLines: 0 };
  return {
    header,
    dialect: DIALECT,
    places: {
      format: staged.format,
      title: staged.title,
      letters: isSheet
        ? Object.fromEntries(
            header.map((text, index) => [text.trim(), columnLetters(index)] as const).reverse(),
          )
        : {},
    },
    doubt: isSheet && headerRow === undefined ? titleAbove(withoutBlanks(top), first, name, 'row') : null,
    counts,
    async *batches() {
      try {
        for (let batch: readonly Row[] = first; ; ) {
          counts.rows += batch.length;
          if (batch.length > 0) yield batch.map(marked);
          const { done, value } = await rows.next();
          if (done === true) return;
          batch = value;
        }
      } finally {
        input.destroy();
      }
    },
    [Symbol.dispose]() {
      input.destroy();
    },
  };
}

/** Fills each row up to the widest one: cells cannot shift in these formats, so no row must count as shifted. */
async function* rowsOf(input: Readable, file: number, width: number): AsyncGenerator<Row[]> {
  let batch: Row[] = [];
  for await (const lines of linesOf(input)) {
    for (const text of lines) {
      const [line, ...cells]: [number, ...string[]] = JSON.parse(text);
      while (cells.length < width) cells.push('');
      batch.push({ file, line, cells });
      if (batch.length < BATCH_ROWS) continue;
      yield batch;
      batch = [];
    }
  }
  if (batch.length > 0) yield batch;
}

/** For each piece of input the lines that end in it. */
async function* linesOf(input: Readable): AsyncGenerator<string[]> {
  let rest = '';
  input.setEncoding('utf8');
  for await (const chunk of input) {
    const lines = (rest + String(chunk)).split('\n');
    rest = lines.pop() ?? '';
    yield lines;
  }
}

function withoutBlanks(row: Row): Row {
  const last = row.cells.findLastIndex((cell) => cell.trim() !== '');
  return { ...row, cells: row.cells.slice(0, last + 1) };
}
