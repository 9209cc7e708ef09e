import type { Readable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { runIsolated } from '../isolation/run-isolated.ts';
import {
  type CellCurrencies,
  type Dialect,
  LineSplitter,
  type Row,
  type StagedTable,
  type TablePlaces,
} from '../model/row.ts';
import { CsvError } from '../model/storeferry-error.ts';
import type { ConvertedFile, ConvertedRows } from './convert-table.ts';
import { type CsvOptions, type CsvTable, readCsv } from './csv/read-csv.ts';
import { detectTitle, headingRows } from './heading-rows.ts';
import { columnLetters } from './number-text.ts';
import { type TableFile, tableError } from './table-file.ts';

export { type CsvOptions, readCsv } from './csv/read-csv.ts';
export { variantsWithin } from './record-paths.ts';
export { formatOfText, formatOfZip, TABLE_FORMATS } from './table-formats.ts';

const CPU_MS = 10_000;
const HEAP_MIB = 512;

interface StageTableOptions {
  /** Whether the unpacked file is no larger than `SMALL_INPUT_BYTES`. */
  readonly isSmall: boolean;
  readonly signal: AbortSignal | undefined;
}

/**
 * Reads the selected table of a file in a format other than CSV; of a larger file in a thread, which ends when the file takes
 * too much time or memory, or the signal aborts. SourceError if it cannot be read reliably.
 */
export function stageTable(file: TableFile, options: StageTableOptions) {
  let table: StagedTable = { format: file.format, title: '', header: null, width: 0 };
  async function* content(): AsyncGenerator<string> {
    const converting = options.isSmall
      ? (await import('./convert-table.ts')).convertTable(file)
      : convertInThread(file, options);
    try {
      for (;;) {
        const { done, value } = await converting.next();
        table = (done === true ? value : value.table) ?? table;
        if (done === true) return;
        yield value.text;
      }
    } finally {
      // The reader of the content may stop before its end.
      await converting.return(table);
    }
  }
  return {
    /** As in `ConvertedRows`. */
    content: content(),
    /** The facts that the snapshot stores, of the content that has been read. */
    describe: () => table,
  };
}

function convertInThread(
  { name, format, choice, limits, parts, content }: TableFile,
  { signal }: StageTableOptions,
): AsyncGenerator<ConvertedRows, StagedTable> {
  const input: ConvertedFile = { name, format, choice, limits, parts: [...parts.keys()] };
  return runIsolated(['convert-thread', import.meta.url], input, {
    cpuMs: CPU_MS,
    heapMib: HEAP_MIB,
    signal,
    open: (part) => parts.get(part)?.() ?? content(),
    refused: (beyond) =>
      tableError(
        { name },
        `The file takes more than ${beyond} to read, far more than a file of its size should: it is damaged or made to do harm.`,
        'Open it in the program that made it and save it again, or save its table as "CSV UTF-8".',
      ),
  });
}

const BATCH_ROWS = 100;
/** A file of a few kilobytes can have a million rows of one cell, and one name at the far right. */
const MAX_PADDING_CELLS = 25_000_000;
/** A row is read and mapped at once: of one of 32 million characters that takes seconds, for which nothing else runs. */
const MAX_ROW_CHARACTERS = 8_000_000;
/** So many blank cells take milliseconds, for which nothing else runs. */
const PADDING_CELLS_PER_TURN = 200_000;

/** Staged rows have no dialect: rejects files of them are written in this one. */
const DIALECT: Dialect = { delimiter: ',', encoding: 'utf-8', newline: '\n', bom: false };

/** A staged file of any format with a known header, whose rows may be read once. Dispose of it if they are not. */
export interface OpenedTable extends Omit<CsvTable, 'pieces'>, Partial<Pick<CsvTable, 'pieces'>> {
  /** How rows and cells are named, unless by the lines of a text. */
  readonly places?: TablePlaces;
}

/** Opens a staged file: CSV, or with `staged` the rows that `stageTable` has written of another format. CsvError. */
export async function openTable(
  input: Readable,
  staged: StagedTable | undefined,
  options: CsvOptions,
): Promise<OpenedTable> {
  return staged === undefined ? await readCsv(input, options) : await openStagedRows(input, staged, options);
}

/** CsvError if a sheet has no header, or rows of a table without one are selected by it. */
async function openStagedRows(
  input: Readable,
  staged: StagedTable,
  options: CsvOptions,
): Promise<OpenedTable> {
  const { name, file = 0, headerRow, dataRow = 0 } = options;
  const unused = (['headerRow', 'dataRow'] as const).find((key) => options[key] !== undefined);
  if (staged.header !== null && unused !== undefined) {
    input.destroy();
    throw new CsvError(`\`${unused}\` is set, but a file of format ${staged.format} has no header row.`, {
      place: { file: name },
      hint: `Remove \`${unused}\` from the source of the job. \`skip\` in its mapping leaves records out.`,
    });
  }
  const width = Math.max(staged.width, staged.header?.length ?? 0);
  const rows = readStagedRows(input, { file, name, width })[Symbol.asyncIterator]();
  let first: readonly Row[] = [];
  let below: readonly Row[] = [];
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
    below = others;
    first = others.filter(({ line }) => line >= dataRow);
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
    headerLine,
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
    doubt:
      isSheet && headerRow === undefined ? detectTitle(withoutTrailingBlanks(top), below, name, 'row') : null,
    counts,
    async *batches() {
      try {
        for (let batch: readonly Row[] = first; ; ) {
          counts.rows += batch.length;
          if (batch.length > 0) yield batch.map(marked);
          const { done, value } = await rows.next();
          if (done === true) return;
          batch = isSheet ? value.filter(({ line }) => line >= dataRow) : value;
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

type StagedRow = [place: number | [number, CellCurrencies], ...cells: string[]];

/** Fills each row up to the widest one: cells cannot shift in these formats, so no row must count as shifted. */
async function* readStagedRows(
  input: Readable,
  { file, name, width }: { readonly file: number; readonly name: string; readonly width: number },
): AsyncGenerator<Row[]> {
  let batch: Row[] = [];
  let padding = 0;
  let turnEndsAt = PADDING_CELLS_PER_TURN;
  const splitter = new LineSplitter();
  input.setEncoding('utf8');
  for await (const chunk of input) {
    for (const text of splitter.take(String(chunk))) {
      if (text.length > MAX_ROW_CHARACTERS) {
        throw tableError(
          { name },
          `The row ${/\d+/.exec(text)?.[0]} has more than ${MAX_ROW_CHARACTERS} characters.`,
          'Shorten its cells, or remove columns that no mapping needs.',
        );
      }
      const [place, ...cells]: StagedRow = JSON.parse(text);
      const [line, currencies] = typeof place === 'number' ? [place] : place;
      padding += width - cells.length;
      if (padding > MAX_PADDING_CELLS) {
        throw tableError(
          { name },
          `The rows of the table have ${width} columns, and hardly a value in them: more than ${MAX_PADDING_CELLS} cells are blank.`,
          'Remove the columns without values: a single name or value at the far right makes all rows as wide.',
        );
      }
      while (cells.length < width) cells.push('');
      batch.push({ file, line, cells, currencies });
      if (batch.length < BATCH_ROWS && padding < turnEndsAt) continue;
      yield batch;
      batch = [];
      if (padding < turnEndsAt) continue;
      turnEndsAt = padding + PADDING_CELLS_PER_TURN;
      await setImmediate();
    }
  }
  if (batch.length > 0) yield batch;
}

function withoutTrailingBlanks(row: Row): Row {
  const last = row.cells.findLastIndex((cell) => cell.trim() !== '');
  return { ...row, cells: row.cells.slice(0, last + 1) };
}
