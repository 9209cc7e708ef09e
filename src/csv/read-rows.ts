import { TextDecoder } from 'node:util';
import Papa from 'papaparse';
import { CsvError } from '../model/errors.ts';
import { fileLimitError, type InputLimits } from '../model/input-limits.ts';
import type { Row } from '../model/row.ts';
import type { ByteWindow } from './byte-window.ts';
import { notUtf8 } from './charset.ts';
import {
  CR,
  columnOf,
  LF,
  lineAt,
  newlineOf,
  QUOTE,
  type RowScan,
  scanRows,
  structureError,
} from './scan-rows.ts';

/** The most that one CSV file may hold. */
export type CsvLimits = Pick<InputLimits, 'rowBytes' | 'cellBytes' | 'rows' | 'columns' | 'headerBytes'>;

const BATCH_ROWS = 1000;

/** One file being read: how, and how far. */
export interface Reading {
  readonly name: string;
  readonly file: number;
  readonly delimiter: string;
  readonly quotes: 'standard' | 'none';
  readonly limits: CsvLimits;
  readonly blockBytes: number;
  /** The physical line, and the offset in the UTF-8 text, where the window starts. */
  line: number;
  offset: number;
  /** The kinds of line end met so far. */
  newlines: number;
  /** Lines without content met so far: blank, or nothing but delimiters and blanks. */
  blankLines: number;
}

/**
 * Rows, the header among them, in batches. Every block of whole rows is found by `scanRows`, decoded, and read by
 * Papa Parse; where the two disagree about the rows, the file is refused. CsvError, EncodingError.
 */
export async function* readRows(window: ByteWindow, reading: Reading): AsyncGenerator<Row[]> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const delimiter = reading.delimiter.charCodeAt(0);
  for (;;) {
    const { bytes } = window;
    const { line, quotes } = reading;
    const scan = scanRows(bytes, { delimiter, quotes, line, final: window.final });
    refuseTooLong(bytes, scan, reading);
    if (scan.fault !== undefined) throw structureError(reading.name, bytes, scan.fault);
    if (scan.end === 0) {
      if (window.final) return;
      await window.grow(Math.max(reading.blockBytes, bytes.length * 2));
      continue;
    }

    const block = bytes.subarray(0, scan.end);
    refuseNul(block, reading);
    const rows = toRows(block, scan, decoder, reading);
    reading.newlines |= scan.newlines;
    reading.line = scan.nextLine;
    reading.offset += scan.end;
    window.drop(scan.end);

    // Equal batches, none of more than BATCH_ROWS.
    const size = Math.ceil(rows.length / Math.ceil(rows.length / BATCH_ROWS));
    for (let from = 0; from < rows.length; from += size) {
      yield rows.length <= size ? rows : rows.slice(from, from + size);
    }
    await window.grow(reading.blockBytes);
  }
}

function toRows(block: Uint8Array, scan: RowScan, decoder: TextDecoder, reading: Reading): Row[] {
  const { file, limits } = reading;
  const found = newlineOf(scan.newlines);
  const even = found === 'mixed' ? evenNewlines(block, reading.quotes) : block;
  const newline = found === 'mixed' ? '\n' : found;
  let text: string;
  try {
    text = decoder.decode(even);
  } catch {
    throw notUtf8(reading.name, block, reading.line, reading.offset);
  }
  if (!text.endsWith(newline)) text += newline;

  const parsed = parseBlock(text, scan.rows, {
    delimiter: reading.delimiter,
    newline,
    quotes: reading.quotes,
  });
  if (parsed === undefined) {
    throw new CsvError(
      `The quotes of the file are broken: rows between line ${reading.line} and line ${scan.nextLine} can be read in two ways.`,
      {
        place: { file: reading.name, line: reading.line },
        hint: 'Export the file again, with every cell quoted.',
      },
    );
  }

  const rows: Row[] = [];
  const measure = scan.longestRow > limits.cellBytes;
  for (let index = 0; index < parsed.length; index += 1) {
    const cells = parsed[index] ?? [];
    const line = scan.lines[index] ?? 0;
    if (isBlank(cells)) {
      reading.blankLines += 1;
      continue;
    }
    if (cells.length > limits.columns) {
      const place = { file: reading.name, line };
      throw fileLimitError(CsvError, limits, 'columns', place, { cells: cells.length });
    }
    if (measure) refuseLongCell(cells, line, reading);
    rows.push({ file, line, cells });
  }
  return rows;
}

function isBlank(cells: readonly string[]): boolean {
  const [first = ''] = cells;
  if (first.charCodeAt(0) > 0x20 && first.charCodeAt(0) < 0x7f) return false;
  return cells.every((cell) => cell === '' || cell.trim() === '');
}

function refuseLongCell(cells: readonly string[], line: number, { name, limits }: Reading): void {
  const long = cells.findIndex((cell) => Buffer.byteLength(cell) > limits.cellBytes);
  if (long >= 0)
    throw fileLimitError(CsvError, limits, 'cellBytes', { file: name, line }, { cell: long + 1 });
}

/** Refuses without reading on: a cell that stays open, a row without end, and rows that are too long. */
function refuseTooLong(bytes: Uint8Array, scan: RowScan, reading: Reading): void {
  const { limits, line, name: file } = reading;
  const { openCell, end, nextLine } = scan;
  // Every character of the cell may be a quote, which is written as two.
  if (openCell >= 0 && bytes.length - openCell > limits.cellBytes * 2 + 1) {
    const place = { file, line: lineAt(bytes, 0, line, openCell), column: columnOf(bytes, openCell) };
    const cell = cellsBefore(bytes.subarray(end, openCell), reading) + 1;
    throw fileLimitError(CsvError, limits, 'cellBytes', place, { cell });
  }
  if (scan.longestRow > limits.rowBytes) {
    throw fileLimitError(CsvError, limits, 'rowBytes', { file, line: lineOfLongestRow(bytes, scan, line) });
  }
  // A cell is a byte at least. Cells are counted before they are made: 30 MB of commas are 30 million cells.
  if (bytes.length - end > limits.columns) {
    const cells = cellsIn(bytes.subarray(end), reading);
    if (cells > limits.columns)
      throw fileLimitError(CsvError, limits, 'columns', { file, line: nextLine }, { cells });
  }
  // What follows the last whole row may end in the first half of a line end.
  if (bytes.length - end > limits.rowBytes + 1) {
    throw fileLimitError(CsvError, limits, 'rowBytes', { file, line: nextLine });
  }
}

/**
 * How many cells a row has so far, or just more than are allowed; of a row whose quotes come in pairs, as `scanRows` has
 * found. What stands in quotes is passed over at once: a cell may be many megabytes.
 */
function cellsIn(row: Uint8Array, { delimiter, quotes, limits }: Reading): number {
  const separator = delimiter.charCodeAt(0);
  let cells = 1;
  for (let at = 0; at < row.length && cells <= limits.columns; at += 1) {
    if (row[at] === separator) cells += 1;
    if (row[at] !== QUOTE || quotes !== 'standard') continue;
    const end = row.indexOf(QUOTE, at + 1);
    if (end < 0) break;
    at = end;
  }
  return cells;
}

/** How many cells stand before one; the bytes are those of its row, up to where it begins. */
function cellsBefore(bytes: Uint8Array, { delimiter, quotes }: Reading): number {
  const text = `${new TextDecoder().decode(bytes)}\n`;
  const rows = parseBlock(text, 1, { delimiter, newline: '\n', quotes });
  return (rows?.[0]?.length ?? 1) - 1;
}

/** The positions of rows are computed here, since only messages need them. */
function lineOfLongestRow(bytes: Uint8Array, { lines, end }: RowScan, line: number): number {
  let longest = { line, bytes: 0 };
  let at = 0;
  let reached = line;
  for (const [index, begins] of lines.entries()) {
    const from = at;
    const next = lines[index + 1];
    if (next === undefined) at = end;
    else for (; reached < next; reached += 1) at = behindLineEnd(bytes, at);
    if (at - from > longest.bytes) longest = { line: begins, bytes: at - from };
  }
  return longest.line;
}

function behindLineEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < bytes.length && bytes[at] !== LF && bytes[at] !== CR) at += 1;
  return at + (bytes[at] === CR && bytes[at + 1] === LF ? 2 : 1);
}

function refuseNul(block: Uint8Array, reading: Reading): void {
  const at = block.indexOf(0);
  if (at < 0) return;
  throw new CsvError(
    'The file contains a NUL character: it is damaged, or its encoding is not the one it is read in.',
    {
      place: { file: reading.name, line: lineAt(block, 0, reading.line, at), column: columnOf(block, at) },
      hint: 'Export the file again; if it is UTF-16 or UTF-32, save it as CSV UTF-8.',
    },
  );
}

/** What Papa Parse needs to know to read whole rows as `scanRows` found them. */
interface ParseBlockOptions {
  readonly delimiter: string;
  /** The one kind of line end that stands outside quotes in the text. */
  readonly newline: '\n' | '\r\n' | '\r';
  readonly quotes: 'standard' | 'none';
}

/**
 * Cells of whole rows, by Papa Parse in array mode. The text ends with a line end. Gives undefined when Papa Parse
 * reports an error or another number of rows than expected: then the two readers disagree, and the rows are ambiguous.
 *
 * Its `Parser` is used, not `parse`: that one makes a streamer for every text, drops a byte order mark from each, and
 * keeps memory alive (350 MiB instead of 110 over the same file, and twice the time, most of it spent collecting).
 */
function parseBlock(text: string, rows: number, options: ParseBlockOptions): string[][] | undefined {
  const parser = new Papa.Parser({
    delimiter: options.delimiter,
    newline: options.newline,
    // Left alone it is decided by whether the text has a quote, which is safe; forced, it ignores quotes altogether.
    ...(options.quotes === 'none' ? { fastMode: true } : {}),
  });
  // The last row that Papa Parse sees is the empty one behind the last line end: that one is ignored (`true`).
  const { data, errors }: Papa.ParseResult<string[]> = parser.parse(text, 0, true);
  return errors.length === 0 && data.length === rows ? data : undefined;
}

/**
 * Whole rows with every line end outside quotes made LF. Papa Parse knows one kind of line end only, and would take
 * the others for content. The rows must have passed `scanRows`, so that quotes come in pairs in every cell.
 */
function evenNewlines(bytes: Uint8Array, quotes: 'standard' | 'none'): Uint8Array {
  const result = new Uint8Array(bytes.length);
  let length = 0;
  let quoted = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE && quotes === 'standard') quoted = !quoted;
    if (byte === CR && !quoted) {
      if (bytes[at + 1] === LF) continue;
      result[length] = LF;
    } else {
      result[length] = byte;
    }
    length += 1;
  }
  return result.subarray(0, length);
}
