import { TextDecoder } from 'node:util';
import Papa from 'papaparse';
import {
  BLOCK_BYTES,
  type BlockFinder,
  type KnownPiece,
  type RowsPiece,
  type SourcePiece,
  type TextPlace,
} from '../../model/block-index.ts';
import { fileLimitError, type InputLimits } from '../../model/input-limits.ts';
import type { Row } from '../../model/row.ts';
import { CsvError } from '../../model/storeferry-error.ts';
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

/** The state of reading one file. */
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
  /** The kinds of line end so far, as bits. */
  newlines: number;
  /** Blank lines so far, also those with only delimiters and blanks. */
  blankLines: number;
}

/** Bytes that are searched for the next known block at once. */
const SEARCHED_BYTES = BLOCK_BYTES + BLOCK_BYTES / 2;

/**
 * All rows in batches, the header included. `scanRows` finds each block of complete rows, Papa Parse reads it, and the file is
 * refused if they disagree. Where `blocks` gives a finder, rows are read only up to the next block that it finds.
 * CsvError, EncodingError.
 */
export async function* readRows(
  window: ByteWindow,
  reading: Reading,
  blocks: () => BlockFinder | undefined,
): AsyncGenerator<SourcePiece> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const delimiter = reading.delimiter.charCodeAt(0);
  const { quotes, blockBytes } = reading;
  let expected = -1;
  let searched = SEARCHED_BYTES;
  for (;;) {
    const finder = blocks();
    if (finder !== undefined) {
      const most = finder.index.longest + searched;
      if (window.bytes.length < most) await window.grow(most + blockBytes);
      const known = takeKnown(window, reading, finder, expected, decoder);
      if (known !== undefined) {
        expected = known.to + 1;
        searched = SEARCHED_BYTES;
        yield known;
        continue;
      }
    }
    const { line } = reading;
    const bytes = finder === undefined ? window.bytes : window.bytes.subarray(0, searched);
    const final = window.final && bytes.length === window.bytes.length;
    const scan = scanRows(bytes, { delimiter, quotes, line, final });
    refuseTooLong(bytes, scan, reading);
    if (scan.fault !== undefined) throw structureError(reading.name, bytes, scan.fault);
    // A row may be longer than a block.
    searched = scan.end === 0 ? searched * 2 : Math.min(searched * 2, blockBytes);
    if (scan.end === 0) {
      if (final) return;
      if (bytes.length === window.bytes.length) await window.grow(Math.max(blockBytes, bytes.length * 2));
      continue;
    }

    const found = finder && findLater(window, scan, finder);
    if (found !== undefined) expected = found.block;
    const until = found === undefined ? scan : rowsBefore(scan, found.row);
    // The window reuses its memory.
    const block = new Uint8Array(bytes.subarray(0, until.end));
    refuseNul(block, reading);
    const { rows, offsets, blankLines } = toRows(block, until, decoder, reading);
    const { offset } = reading;
    reading.newlines |= until.newlines;
    reading.line = until.nextLine;
    reading.offset += until.end;
    window.drop(until.end);

    // Equal batches of at most BATCH_ROWS.
    const size = Math.ceil(rows.length / Math.ceil(rows.length / BATCH_ROWS));
    for (let from = 0; from < rows.length; from += size) {
      const to = from + size;
      yield rows.length <= size
        ? { kind: 'rows', rows, bytes: block, offset, offsets, blankLines }
        : {
            kind: 'rows',
            rows: rows.slice(from, to),
            bytes: block,
            offset,
            offsets: offsets.slice(from, to),
            blankLines: blankLines.slice(from, to),
          };
    }
    if (finder === undefined) await window.grow(blockBytes);
  }
}

/** The blocks that stand at the beginning of the window, one after another as in the index; they are dropped from it. */
function takeKnown(
  window: ByteWindow,
  reading: Reading,
  { index, table }: BlockFinder,
  expected: number,
  decoder: TextDecoder,
): KnownPiece | undefined {
  const { bytes, final } = window;
  const from = index.find(bytes, 0, table, final, expected);
  if (from < 0) return undefined;
  const { offset, line, blankLines } = reading;
  const begins: TextPlace = { offset, line, blankLines };
  let last = begins;
  let ends = index.after(from, begins);
  let to = from;
  while (index.find(bytes, ends.offset - offset, table, final, to + 1) === to + 1) {
    to += 1;
    last = ends;
    ends = index.after(to, ends);
  }
  const bytesOfLast = new Uint8Array(bytes.subarray(last.offset - offset, ends.offset - offset));
  Object.assign(reading, ends);
  window.drop(ends.offset - offset);
  return {
    kind: 'known-blocks',
    index,
    from,
    to,
    place: begins,
    last,
    rowsOf(block, place) {
      const start = place.offset - offset;
      const own = block === to ? bytesOfLast : bytes.subarray(start, start + index.bytes(block));
      const { quotes, delimiter } = reading;
      const options = { delimiter: delimiter.charCodeAt(0), quotes, line: place.line, final: true };
      const rows = toRows(own, scanRows(own, options), decoder, { ...reading, ...place });
      return { kind: 'rows', bytes: own, offset: place.offset, ...rows };
    },
  };
}

/** The first known block that begins with a row other than the first one. */
function findLater(
  { bytes, final }: ByteWindow,
  { starts }: RowScan,
  { index, table }: BlockFinder,
): { readonly row: number; readonly block: number } | undefined {
  for (let row = 1; row < starts.length; row += 1) {
    const block = index.find(bytes, starts[row] ?? 0, table, final);
    if (block >= 0) return { row, block };
  }
  return undefined;
}

/** The scan as if it had ended before this row. */
function rowsBefore(scan: RowScan, row: number): RowScan {
  const { lines, starts, end, nextLine } = scan;
  return {
    ...scan,
    rows: row,
    lines: lines.slice(0, row),
    starts: starts.slice(0, row),
    end: starts[row] ?? end,
    nextLine: lines[row] ?? nextLine,
  };
}

function toRows(
  block: Uint8Array,
  scan: RowScan,
  decoder: TextDecoder,
  reading: Reading,
): Pick<RowsPiece, 'rows' | 'offsets' | 'blankLines'> {
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
  const offsets: number[] = [];
  const blankLines: number[] = [];
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
    offsets.push(reading.offset + (scan.starts[index] ?? 0));
    blankLines.push(reading.blankLines);
  }
  return { rows, offsets, blankLines };
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

/** Refuses rows and cells beyond their limits before they are read to their end. */
function refuseTooLong(bytes: Uint8Array, scan: RowScan, reading: Reading): void {
  const { limits, line, name: file } = reading;
  const { openCell, end, nextLine } = scan;
  // Every character of the cell may be a doubled quote.
  if (openCell >= 0 && bytes.length - openCell > limits.cellBytes * 2 + 1) {
    const place = { file, line: lineAt(bytes, 0, line, openCell), column: columnOf(bytes, openCell) };
    const cell = cellsBefore(bytes.subarray(end, openCell), reading) + 1;
    throw fileLimitError(CsvError, limits, 'cellBytes', place, { cell });
  }
  if (scan.longestRow > limits.rowBytes) {
    throw fileLimitError(CsvError, limits, 'rowBytes', { file, line: lineOfLongestRow(bytes, scan, line) });
  }
  if (
    scan.longestRow > MAX_QUOTES_PER_ROW &&
    reading.quotes === 'standard' &&
    quotesIn(bytes.subarray(0, end)) > MAX_QUOTES_PER_ROW
  ) {
    throw new CsvError(`The row that begins here has more than ${MAX_QUOTES_PER_ROW} quotes.`, {
      place: { file, line: lineOfLongestRow(bytes, scan, line) },
      hint: 'No usual export writes such a row: export the file again, or set `quotes: none` in the source of the job if it never quotes cells.',
    });
  }
  // Cells are counted before they are created: 30 MB of commas would be 30 million strings.
  if (bytes.length - end > limits.columns) {
    const cells = cellsIn(bytes.subarray(end), reading);
    if (cells > limits.columns)
      throw fileLimitError(CsvError, limits, 'columns', { file, line: nextLine }, { cells });
  }
  // The rest after the last complete row may end with half a line end.
  if (bytes.length - end > limits.rowBytes + 1) {
    throw fileLimitError(CsvError, limits, 'rowBytes', { file, line: nextLine });
  }
}

/** Papa Parse takes 25 bytes of memory for each doubled quote of a cell. */
const MAX_QUOTES_PER_ROW = 2_000_000;

function quotesIn(bytes: Uint8Array): number {
  let count = 0;
  for (let at = bytes.indexOf(QUOTE); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) count += 1;
  return count;
}

/**
 * The number of cells of a row so far; stops just above the limit. The quotes of the row are paired, as `scanRows` has
 * checked. Quoted text is skipped at once: a cell may have many megabytes.
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

/** The number of cells in the first bytes of a row, before an open cell. */
function cellsBefore(bytes: Uint8Array, { delimiter, quotes }: Reading): number {
  const text = `${new TextDecoder().decode(bytes)}\n`;
  const rows = parseBlock(text, 1, { delimiter, newline: '\n', quotes });
  return (rows?.[0]?.length ?? 1) - 1;
}

/** Row positions are computed only here, for the message. */
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

/** The options that make Papa Parse read rows as `scanRows` does. */
interface ParseBlockOptions {
  readonly delimiter: string;
  /** The only line end outside quotes in the text. */
  readonly newline: '\n' | '\r\n' | '\r';
  readonly quotes: 'standard' | 'none';
}

/**
 * The cells of complete rows by Papa Parse; the text ends with a line end. Undefined when Papa Parse reports an error or
 * another number of rows than expected: then the two readers disagree, and the rows are ambiguous.
 *
 * `Parser` instead of `parse`, which creates a streamer for every text, drops a byte order mark from each, and retains
 * memory (350 MiB instead of 110 for the same file, in twice the time).
 */
function parseBlock(text: string, rows: number, options: ParseBlockOptions): string[][] | undefined {
  const parser = new Papa.Parser({
    delimiter: options.delimiter,
    newline: options.newline,
    // By default it depends on whether the text has a quote, which is safe; set, it ignores quotes.
    ...(options.quotes === 'none' ? { fastMode: true } : {}),
  });
  // `true` ignores the empty row after the last line end.
  const { data, errors }: Papa.ParseResult<string[]> = parser.parse(text, 0, true);
  return errors.length === 0 && data.length === rows ? data : undefined;
}

/**
 * Replaces every line end outside quotes by LF: Papa Parse accepts one kind of line end and would take others for content.
 * The rows must have passed `scanRows`, so that quotes are paired in every cell.
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
