import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import {
  DELIMITER_CHARACTERS,
  type Dialect,
  formatRow,
  LEGACY_ENCODINGS,
  type Table,
  withoutInertMark,
} from '../model/row.ts';
import { CsvError, EncodingError, SourceError } from '../model/storeferry-error.ts';
import { readCsv } from '../tables/open-table.ts';
import { quote } from '../text/printable.ts';
import { blameOf, type CellEdit, judgeCell, type RefusedCell, type RejectsEdits } from './judge-cell.ts';
import {
  columnKeys,
  extraColumn,
  LINE_COLUMN,
  REASON_COLUMN,
  type RejectedKey,
  type RejectsIndex,
  uniteColumns,
  withoutBlankSurplus,
} from './rejects-file.ts';

interface CorrectedRejectsOptions {
  /** The name of the corrected file in messages. */
  readonly name: string;
  readonly corrected: () => Promise<Readable>;
  readonly untouched: () => Promise<Readable>;
  readonly index: RejectsIndex;
  /** Whether messages must not quote cells. */
  readonly personal?: boolean;
  /** Whether no spreadsheet has written the file: each change of a cell is intended. */
  readonly asTyped?: boolean;
}

/** The file index, within `CorrectedRejects`, and line of a row of the corrected file. */
interface CorrectedPlace {
  readonly file: number;
  readonly line: number;
}

/** The result of comparing the whole corrected file with its untouched copy. */
interface ComparedRejects {
  readonly edits: RejectsEdits;
  /** The rows with a refused cell, each with its first refused cell. */
  readonly refused: readonly (CorrectedPlace & { readonly cell: RefusedCell })[];
  /** The rows that were rejected without a key. */
  readonly keyless: readonly CorrectedPlace[];
  /** The `storeferry_line` of the first rows. */
  readonly origins: readonly (CorrectedPlace & { readonly sourceLine: string })[];
}

/** A corrected rejects file, ready to be read as a source. */
export interface CorrectedRejects extends ComparedRejects {
  readonly dialect: Dialect;
  /** The rejected keys. */
  readonly keys: readonly RejectedKey[];
  /**
   * The rows under their original headers, without our columns: CSV text for the snapshot of the retry. Each row
   * starts on the line that it has in the corrected file, or below rows whose old cells have more lines. Short and long
   * rows that were not edited keep their length.
   */
  readonly files: readonly { readonly name: string; content(): AsyncIterable<string> }[];
  /** How `files` are to be read. */
  readonly readAs: { readonly encoding: 'utf-8'; readonly delimiter: string };
}

/**
 * Reads a rejects file as a spreadsheet saved it. Delimiter, charset and order of rows and columns may differ, columns
 * other than `storeferry_line` may be missing, and rows may be deleted. CsvError if it is broken, SourceError if it is not a rejects file of this
 * run.
 */
export async function readCorrectedRejects(options: CorrectedRejectsOptions): Promise<CorrectedRejects> {
  const reading = await findReading(options);
  const { dialect, edits, refused, keyless, origins } = reading;
  const { headers, keys, delimiter } = options.index;
  return {
    dialect,
    edits,
    refused,
    keyless,
    origins,
    keys,
    files: headers.map((header, index) => ({
      name: headers.length === 1 ? options.name : `${options.name} (${index + 1})`,
      content: () => writeRows(options, reading, header, index),
    })),
    readAs: { encoding: 'utf-8', delimiter },
  };
}

/** The text of one file: the rows of one header, each on its line, with blank lines before it as needed. */
async function* writeRows(
  options: CorrectedRejectsOptions,
  reading: Reading,
  header: readonly string[],
  headerIndex: number,
): AsyncGenerator<string> {
  let nextLine = 1;
  const put = (cells: readonly string[], line: number) => {
    const row = formatRow(cells, options.index.delimiter);
    const text = `${'\n'.repeat(line - nextLine)}${row}\n`;
    nextLine += lineBreaks(text);
    return text;
  };
  yield `\ufeff${put(header, 1)}`;
  for await (const rows of compareRows(options, reading, await openCopy(options))) {
    let text = '';
    for (const row of rows) {
      if (row.header === headerIndex) text += put(withoutBlankSurplus(row.cells, header.length), row.line);
    }
    if (text !== '') yield text;
  }
}

function lineBreaks(text: string) {
  return text.match(/\r\n|\n|\r/g)?.length ?? 0;
}

/** How the corrected file is read. */
interface Form {
  readonly encoding: string | undefined;
  readonly delimiter: string;
  readonly dialect: Dialect;
  readonly layout: Layout;
}

/** One way to read the corrected file, and its result. */
interface Reading extends Form, ComparedRejects {
  /** A digest of the text that the user typed. Two readings of a file may differ only in this text. */
  readonly typed: string;
}

/** The file in Unicode. If it is not, in the encoding in which it differs least from its copy. */
async function findReading(options: CorrectedRejectsOptions): Promise<Reading> {
  return await readIn(options, undefined).catch(async (error: unknown) => {
    if (!(error instanceof EncodingError)) throw error;
    return await findClosestReading(options);
  });
}

/**
 * SourceError if several encodings fit equally well and read the typed text differently. Where the file is none of this run in any of
 * them, the error of the first.
 */
async function findClosestReading(options: CorrectedRejectsOptions) {
  const readings: Reading[] = [];
  const reasons: Error[] = [];
  for (const encoding of LEGACY_ENCODINGS) {
    // In a wrong encoding, quotes and delimiters may become parts of characters.
    const reading = await readIn(options, encoding).catch((reason: unknown) => {
      if (!(reason instanceof CsvError || reason instanceof SourceError)) throw reason;
      reasons.push(reason);
      return undefined;
    });
    if (reading !== undefined) readings.push(reading);
  }
  const changesOf = ({ edits: { editedCells, restoredCells, refusedCells } }: Reading) =>
    editedCells + restoredCells + refusedCells;
  const fewest = Math.min(...readings.map(changesOf));
  const [best, ...others] = readings.filter((reading) => changesOf(reading) === fewest);
  const rival = others.find(({ typed }) => typed !== best?.typed);
  if (best === undefined) throw reasons[0];
  if (rival !== undefined) throw ambiguousCharset(options, best, rival);
  return best;
}

function ambiguousCharset({ name, personal = false }: CorrectedRejectsOptions, one: Reading, other: Reading) {
  const at = one.edits.cells.findIndex((cell, index) => cell.new !== other.edits.cells[index]?.new);
  const shown = [one, other].map(({ encoding, edits }) => {
    const text = personal ? undefined : edits.cells[at]?.new;
    return text === undefined ? `${encoding}` : `${quote(text)} in ${encoding}`;
  });
  const cell = one.edits.cells[at];
  const where = cell === undefined ? '' : ` (line ${cell.line}, column ${cell.column})`;
  return new SourceError(
    `The charset of the corrected file is not known: it may be ${shown.join(' or ')}${where}.`,
    {
      place: { file: name },
      hint: 'Save the file as UTF-8 ("CSV UTF-8" in a spreadsheet), and check the accented characters in it.',
    },
  );
}

async function readIn(options: CorrectedRejectsOptions, encoding: string | undefined): Promise<Reading> {
  const { delimiter, header, dialect } = await openBest(options, encoding);
  const form = { encoding, delimiter, dialect, layout: layOut(header, options) };
  return { ...form, ...(await compareRejects(options, form)) };
}

/** Tries all delimiters and takes the one that finds most of the expected columns. */
async function openBest(options: CorrectedRejectsOptions, encoding: string | undefined) {
  const { index, name } = options;
  const expected = new Set([...index.headers.flatMap((header) => columnKeys(header)), `1:${LINE_COLUMN}`]);
  let best: { delimiter: string; header: readonly string[]; dialect: Dialect; known: number } | undefined;
  let failure: CsvError | undefined;
  for (const delimiter of new Set([index.delimiter, ...DELIMITER_CHARACTERS])) {
    try {
      using table = await readCsv(await options.corrected(), { name, encoding, delimiter });
      const { dialect } = table;
      const { header } = withoutMarks(table);
      const known = new Set(columnKeys(header).filter((key) => expected.has(key))).size;
      if (known > (best?.known ?? 0)) best = { delimiter, header, dialect, known };
    } catch (error) {
      if (!(error instanceof CsvError)) throw error;
      // A wrong delimiter can cause broken quotes; a wrong encoding cannot.
      if (failure === undefined || error instanceof EncodingError) failure = error;
    }
  }
  if (best?.header.includes(LINE_COLUMN) === true) return best;
  const known = best?.known ?? 0;
  if (known * 2 < expected.size - 1)
    throw failure ?? otherFile(options, 'it lacks most of its columns', 'keep its header');
  throw otherFile(
    options,
    `the column ${LINE_COLUMN} is gone`,
    'keep this column, which names the row of each correction',
  );
}

/** Where a corrected file has the columns of its copy. */
type Layout = ReturnType<typeof layOut>;

/** SourceError if columns were added: nothing is known of them. */
function layOut(corrected: readonly string[], options: CorrectedRejectsOptions) {
  const { headers, extras } = options.index;
  const union = uniteColumns(headers);
  const columns = union.header.length;
  const extraColumns = Array.from({ length: extras }, (_, number) => extraColumn(number + 1));
  const ourNames = new Set([REASON_COLUMN, LINE_COLUMN, ...extraColumns]);
  const ours = new Map<string, number>();
  const trimmed = corrected.map((name) => name.replace(/^\ufeff/, ''));
  // Ours are the last columns with these names: the source itself may have been a rejects file.
  for (const [place, name] of trimmed.entries()) if (ourNames.has(name)) ours.set(name, place);

  const theirs = trimmed.map((name, place) => {
    if (ours.get(name) === place) return '\0';
    return union.header.includes(name)
      ? name
      : (union.header.find((old) => judgeCell(old, name, 'other-column') === 'restored') ?? name);
  });
  const placeOf = new Map(columnKeys(theirs).map((key, place) => [key, place]));
  const keys = columnKeys(union.header);
  const known = new Set(keys);
  const added = columnKeys(theirs).flatMap((key, place) =>
    known.has(key) || /^(?:\0|\s*)$/.test(theirs[place] ?? '') ? [] : [quote(trimmed[place] ?? '')],
  );
  if (added.length > 0)
    throw otherFile(options, `${added.join(', ')} is no column of it`, 'add new columns to the source');
  const from = [...keys.map((key) => placeOf.get(key)), ...extraColumns.map((name) => ours.get(name))];

  return {
    columns: union.header,
    removedColumns: union.header.filter((_, place) => from[place] === undefined),
    columnName: (place: number) => union.header[place] ?? extraColumn(place - columns + 1),
    /** The cells in the order of the copy, and those beyond the header. A removed column has none. */
    arrange: (cells: readonly string[]): (string | undefined)[] => [
      ...from.map((place) => (place === undefined ? undefined : (cells[place] ?? ''))),
      ...withoutBlankSurplus(cells, corrected.length).slice(corrected.length),
    ],
    lineOf: (cells: readonly string[]) => (cells[ours.get(LINE_COLUMN) ?? -1] ?? '').trim(),
    /** An arranged row under one of the headers, with its original length if one is given. */
    cut: (arranged: readonly string[], header: number, length: number | undefined): readonly string[] => {
      const positions = union.positions[header] ?? [];
      const whole = [...positions.map((place) => arranged[place] ?? ''), ...arranged.slice(columns)];
      return length === undefined ? withoutBlankSurplus(whole, positions.length) : whole.slice(0, length);
    },
  };
}

/** The table as in its source: without the marks that keep formulas from running. */
function withoutMarks(table: Table): Table {
  return {
    header: table.header.map(withoutInertMark),
    async *batches() {
      for await (const batch of table.batches())
        yield batch.map((row) => ({ ...row, cells: row.cells.map(withoutInertMark) }));
    },
  };
}

/** A row of the untouched copy: its `storeferry_line`, its cells, and the reason of its rejection. */
interface UntouchedRow {
  readonly line: string;
  readonly cells: readonly string[];
  readonly reason: string;
  /** Without a key, nothing else of the row was judged: its reason says nothing of its other cells. */
  readonly hasKey: boolean;
}

type UntouchedCopy = Awaited<ReturnType<typeof openCopy>>;

/**
 * Opens the untouched copy for one pass over the corrected file. Both are read in parallel, so that only deleted or moved
 * rows are kept in memory; to find an unknown or repeated line, the copy is read to its end.
 */
async function openCopy({ index, untouched }: CorrectedRejectsOptions) {
  const copy = await readCsv(await untouched(), { name: 'the untouched copy', delimiter: index.delimiter });
  const table = withoutMarks(copy);
  const columns = table.header.length;
  const batches = table.batches()[Symbol.asyncIterator]();
  const waiting = new Map<string, UntouchedRow>();
  const keyless = new Set(index.keyless);
  let ended = false;
  const readOn = async () => {
    const { done, value } = await batches.next();
    ended = done === true;
    for (const { cells } of done === true ? [] : value) {
      const [reason = '', line = ''] = cells.slice(columns - 2);
      waiting.set(line, { line, reason, cells, hasKey: !keyless.has(line) });
    }
  };
  return {
    /** Each row is given once: a second row of its line is a copy of it. */
    take: async (lines: readonly string[]): Promise<(UntouchedRow | undefined)[]> => {
      for (const line of lines) while (line !== '' && !waiting.has(line) && !ended) await readOn();
      return lines.map((line) => {
        const row = waiting.get(line);
        waiting.delete(line);
        return row;
      });
    },
    /** How many rows were not taken. */
    countLeft: async (): Promise<number> => {
      while (!ended) await readOn();
      return waiting.size;
    },
  };
}

/** A row of the corrected file with its cells for the mapping, and the verdicts on its cells. */
interface ComparedRow {
  /** Where it starts in the file of its header: on its line of the corrected file, or below rows whose old cells have more lines. */
  readonly line: number;
  readonly header: number;
  /** Undefined if no rejected row has its line, or an earlier row has taken it. */
  readonly original: UntouchedRow | undefined;
  /** The cells to map: the old text for each cell that was not edited. */
  readonly cells: readonly string[];
  readonly edits: readonly CellEdit[];
  readonly restored: readonly CellEdit[];
  readonly refused: readonly RefusedCell[];
}

/** Reads the corrected file and its untouched copy together, in batches. */
async function* compareRows(
  options: CorrectedRejectsOptions,
  { encoding, delimiter, layout }: Form,
  copy: UntouchedCopy,
): AsyncGenerator<ComparedRow[]> {
  const { index, name } = options;
  const table = withoutMarks(await readCsv(await options.corrected(), { name, encoding, delimiter }));
  const linesOf = (cells: readonly string[]) => 1 + lineBreaks(formatRow(cells, index.delimiter));
  const nextLines = index.headers.map((header) => 1 + linesOf(header));
  const placed = (row: ComparedRow): ComparedRow => {
    const line = Math.max(row.line, nextLines[row.header] ?? 1);
    const width = index.headers[row.header]?.length ?? 0;
    nextLines[row.header] = line + linesOf(withoutBlankSurplus(row.cells, width));
    return { ...row, line };
  };
  for await (const batch of table.batches()) {
    const originals = await copy.take(batch.map(({ cells }) => layout.lineOf(cells)));
    yield batch.map(({ line, cells }, at) => {
      const original = originals[at];
      const arranged = layout.arrange(cells);
      if (original === undefined) {
        const whole = arranged.map((cell) => cell ?? '');
        const refused = [rowOfNoLine(`${line} of the corrected file`)];
        return placed({
          line,
          header: 0,
          original,
          cells: layout.cut(whole, 0, undefined),
          edits: [],
          restored: [],
          refused,
        });
      }
      const { header = 0, cells: length } = index.rows[original.line] ?? {};
      const isShifted = length !== undefined;
      const compared = compareRow(original, arranged, layout, {
        asTyped: options.asTyped === true,
        isShifted,
      });
      const kept = compared.edits.length === 0 ? (length ?? index.headers[header]?.length) : undefined;
      return placed({ line, header, original, ...compared, cells: layout.cut(compared.cells, header, kept) });
    });
  }
}

/** Compares a row with its original, which is shifted if it has more or fewer cells than its header. Removed columns have their old cells. */
function compareRow(
  original: UntouchedRow,
  cells: readonly (string | undefined)[],
  { columns, columnName }: Layout,
  { asTyped, isShifted }: { readonly asTyped: boolean; readonly isShifted: boolean },
): Pick<ComparedRow, 'cells' | 'edits' | 'restored' | 'refused'> {
  const result = original.cells.slice(0, -2);
  const edits: CellEdit[] = [];
  const restored: CellEdit[] = [];
  const refused: RefusedCell[] = [];
  let replaced = 0;
  for (const [place, now] of cells.entries()) {
    const old = result[place] ?? '';
    if (now === undefined || old === now) continue;
    const column = columnName(place);
    const cell = { line: original.line, column, old, new: now };
    const said = blameOf(original.reason, column, columns);
    const blame = said === 'other-column' && !original.hasKey ? 'open' : said;
    const verdict = asTyped ? 'edited' : judgeCell(old, now, blame);
    const isUnexplained = (verdict === 'edited' && blame === 'open') || verdict === 'unnamed';
    // The correction of a shifted row moves its cells back.
    const isMoved = isShifted && original.cells.includes(now);
    if (!asTyped && isUnexplained && old !== '' && now !== '' && !isMoved) replaced += 1;
    if (verdict === 'edited') {
      edits.push(cell);
      result[place] = now;
    } else if (verdict === 'restored') restored.push(cell);
    else if (verdict !== 'same') refused.push({ ...cell, why: verdict });
  }
  // The row of another file, or of another line: a correction changes fewer cells.
  const filled = original.cells.slice(0, -2).filter((cell) => cell !== '').length;
  if (replaced > 1 && replaced * 2 > filled)
    return { cells: original.cells.slice(0, -2), edits: [], restored, refused: [rowOfNoLine(original.line)] };
  return { cells: result, edits, restored, refused };
}

function rowOfNoLine(line: string): RefusedCell {
  return { line, column: LINE_COLUMN, old: '', new: '', why: 'line' };
}

const CELLS_KEPT = 1000;
/** With more rows of no line than this it is another file, and would fill the memory. */
const MAX_ROWS_OF_NO_LINE = 10_000;
/** Far more than people correct by hand. */
const MAX_ORIGINS = 20_000;

/**
 * Reads the corrected file and sums up the changes. CsvError, EncodingError; SourceError if no row is one of the copy, or
 * far too many are not.
 */
async function compareRejects(
  options: CorrectedRejectsOptions,
  form: Form,
): Promise<ComparedRejects & Pick<Reading, 'typed'>> {
  const copy = await openCopy(options);
  const [cells, restored, refused]: [CellEdit[], CellEdit[], RefusedCell[]] = [[], [], []];
  const sums = { rows: 0, editedRows: 0, editedCells: 0, restoredCells: 0, refusedCells: 0 };
  const refusedRows: ComparedRejects['refused'][number][] = [];
  const keyless: CorrectedPlace[] = [];
  const origins: ComparedRejects['origins'][number][] = [];
  const typed = createHash('sha256');
  let [known, unknown] = [0, 0];
  for await (const rows of compareRows(options, form, copy)) {
    for (const row of rows) {
      const place = { file: row.header, line: row.line };
      const [cell] = row.refused;
      if (cell?.why === 'line') unknown += 1;
      else known += 1;
      if (unknown > MAX_ROWS_OF_NO_LINE)
        throw otherFile(
          options,
          `more than ${MAX_ROWS_OF_NO_LINE} of its rows are not rejected rows`,
          'keep its rows',
        );
      for (const edit of row.edits) typed.update(`${edit.line}:${edit.column}:${edit.new}\n`);
      sums.rows += 1;
      if (row.edits.length > 0) sums.editedRows += 1;
      sums.editedCells += row.edits.length;
      sums.restoredCells += row.restored.length;
      sums.refusedCells += row.refused.length;
      keepFirst(cells, row.edits);
      keepFirst(restored, row.restored);
      keepFirst(refused, row.refused);
      if (cell !== undefined) refusedRows.push({ ...place, cell });
      if (row.original === undefined) continue;
      const sourceLine = row.original.line;
      if (origins.length < MAX_ORIGINS) origins.push({ ...place, sourceLine });
      if (!row.original.hasKey) keyless.push(place);
    }
  }
  if (known === 0 && unknown > 0)
    throw otherFile(options, 'none of its rows is a rejected row', 'keep its rows');
  const deletedRows = await copy.countLeft();
  const { removedColumns } = form.layout;
  return {
    edits: { ...sums, deletedRows, cells, restored, refused, removedColumns },
    refused: refusedRows,
    keyless,
    origins,
    typed: typed.digest('hex'),
  };
}

/** The error for a file that does not come from the rejects of the run. */
function otherFile({ name }: CorrectedRejectsOptions, what: string, keep: string) {
  return new SourceError(`This is not a rejects file of this run: ${what}.`, {
    place: { file: name, line: 1 },
    hint: `Correct the rejects file of the run itself, and ${keep}.`,
  });
}

function keepFirst<T>(kept: T[], more: readonly T[]) {
  kept.push(...more.slice(0, Math.max(0, CELLS_KEPT - kept.length)));
}
