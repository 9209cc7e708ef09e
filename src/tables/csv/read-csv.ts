import type { Readable } from 'node:stream';
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
import { DEFAULT_LIMITS, fileLimitError } from '../../model/input-limits.ts';
import { DELIMITER_CHARACTERS, type Dialect, type Row, type Table } from '../../model/row.ts';
import { CsvError } from '../../model/storeferry-error.ts';
import { releaseBuffer } from '../../remote/remote-client.ts';
import { detectTitle, headingRows } from '../heading-rows.ts';
import { type ByteWindow, byteWindow } from './byte-window.ts';
import { byteOrderMark, decideCharset, notUtf8, transcode } from './charset.ts';
import { checkedDelimiter, declaredDelimiter, detectDelimiter } from './detect-delimiter.ts';
import {
  CR,
  type CsvLimits,
  columnOf,
  LF,
  lineAt,
  newlineOf,
  QUOTE,
  type QuoteOptions,
  type Reading,
  type RowScan,
  refuseLongCell,
  refuseTooLong,
  scanRows,
  standardQuotes,
  structureError,
} from './scan-rows.ts';

/**
 * Bytes that are parsed at once. The rows of a block stay in memory until all of them are mapped: with 256 KiB the
 * garbage collector copied three times as much as with 64 KiB, and a run took a third longer.
 */
const PARSED_BYTES = 64 * 1024;

/** How to read a CSV file; what is left out is detected. */
export interface CsvOptions extends QuoteOptions {
  /** The name of the file in messages. */
  readonly name: string;
  /** The file's index within the snapshot, for its rows; 0 when left out. */
  readonly file?: number | undefined;
  /** A WHATWG label. Left out: a byte order mark decides, else the file must be valid UTF-8. */
  readonly encoding?: string | undefined;
  /** One character. Left out: detected from the header and the first rows. */
  readonly delimiter?: string | undefined;
  /** `none`: the file never quotes cells, and a quote is an ordinary character. */
  readonly quotes?: 'standard' | 'none' | undefined;
  /** The physical line of the header; the first with content when left out. */
  readonly headerRow?: number | undefined;
  /** The physical line of the first row with data; rows between it and the header are not read. */
  readonly dataRow?: number | undefined;
  readonly limits?: Partial<CsvLimits> | undefined;
  /** Bytes that are read and parsed at once; affects only speed. */
  readonly blockBytes?: number | undefined;
}

/** A CSV file after its header; the rows can be read once. Dispose of it if they are not. */
export interface CsvTable extends Table, Disposable {
  readonly dialect: Dialect;
  /** The line or row of the header; 0 where the header is none of the rows. */
  readonly headerLine: number;
  /** Why the first line is likely not the header; a source is refused with it. */
  readonly doubt: CsvError | null;
  /** Counted by `batches` so far; blank lines are not rows. */
  readonly counts: { readonly rows: number; readonly blankLines: number };
  /**
   * Instead of `batches`: the rows with their text, and in their place the blocks that a finder finds. It is asked for
   * before each piece; the first piece is always rows.
   */
  pieces(finder: () => BlockFinder | undefined): AsyncIterable<SourcePiece>;
}

/**
 * Opens CSV bytes: decides charset and delimiter, reads the header (`headerRow`, else the first line with content; a
 * title in its place is reported in `doubt`), and streams the rows with the physical lines on which they start. Rows that repeat the header are
 * marked (`heading`). Text that could be read in two ways is refused with its place when it is reached: CsvError, EncodingError. The input
 * is always destroyed at the end.
 */
export async function readCsv(input: Readable, options: CsvOptions): Promise<CsvTable> {
  try {
    return await open(input, options);
  } catch (error) {
    input.destroy();
    throw error;
  }
}

async function open(input: Readable, options: CsvOptions): Promise<CsvTable> {
  const { name, blockBytes = PARSED_BYTES } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };

  const raw = byteWindow(chunksOf(input, blockBytes));
  await raw.grow(Math.max(blockBytes, 4));
  const charset = decideCharset(name, raw.bytes, options.encoding);
  const text = transcode(raw.rest(), charset.encoding, name);
  const departsFromCsv = options.escape !== undefined || options.skipBlanks === true;
  const delimiters = options.delimiter === undefined ? DELIMITER_CHARACTERS : [options.delimiter];
  const window = byteWindow(departsFromCsv ? standardQuotes(text, options, delimiters) : text);
  await window.grow(Math.max(blockBytes, 16));
  const mark = byteOrderMark(window.bytes)?.length ?? 0;
  window.drop(mark);

  const declared = declaredDelimiter(window.bytes);
  window.drop(declared?.length ?? 0);
  const firstLine = declared === undefined ? 1 : 2;
  const line = Math.max(firstLine, options.headerRow ?? firstLine);
  const skipped = await skipLines(window, firstLine, line, name, limits);
  const reading: Reading = {
    name,
    file: options.file ?? 0,
    delimiter:
      checkedDelimiter(name, options.delimiter) ??
      declared?.delimiter ??
      (await detectDelimiter(window, name, limits.rowBytes)),
    quotes: options.quotes ?? 'standard',
    limits,
    blockBytes,
    line,
    offset: mark + (declared?.length ?? 0) + skipped,
    newlines: 0,
    blankLines: 0,
  };

  let finder: () => BlockFinder | undefined = () => undefined;
  const pieces = readRows(window, reading, () => finder());
  const { dataRow = 0 } = options;
  const { header, below } = await readHeader(pieces, name);
  // A first line is what everybody expects, and many write.
  if (options.headerRow !== undefined && line > 1 && header.line !== line)
    throw noHeader(name, `line ${line} is empty`, line);
  const first = rowsFrom(below, dataRow);
  const firstRows = first.rows;
  refuseLongNames(header, name, limits);
  const isHeading = headingRows(header, firstRows);
  const marked = (row: Row): Row => (isHeading(row) ? { ...row, heading: true } : row);
  const counts = { rows: 0 };
  const counted = (piece: RowsPiece): RowsPiece => {
    const { rows } = piece;
    counts.rows += rows.length;
    if (counts.rows > limits.rows) {
      const { line = 1 } = rows[rows.length - (counts.rows - limits.rows)] ?? {};
      throw fileLimitError(CsvError, limits, 'rows', { file: name, line });
    }
    return rows.some(isHeading) ? { ...piece, rows: rows.map(marked) } : piece;
  };
  const read = async function* (blocks: () => BlockFinder | undefined): AsyncGenerator<SourcePiece> {
    finder = blocks;
    try {
      for (let piece: SourcePiece = first; ; ) {
        if (piece.kind === 'known-blocks') {
          const { index, from, to, rowsOf } = piece;
          const { rows } = index.total(piece);
          let { place } = piece;
          // To name the line of the first row beyond the limit.
          for (let block = from; counts.rows + rows > limits.rows && block <= to; block++) {
            counted(rowsOf(block, place));
            place = index.after(block, place);
          }
          counts.rows += rows;
          yield piece;
        } else if (piece.rows.length > 0) {
          yield counted(piece);
        }
        const { done, value } = await pieces.next();
        if (done === true) return;
        piece = value.kind === 'rows' ? rowsFrom(value, dataRow) : value;
      }
    } finally {
      input.destroy();
    }
  };
  return {
    header: header.cells,
    dialect: {
      delimiter: reading.delimiter,
      encoding: charset.encoding,
      newline: newlineOf(reading.newlines),
      bom: charset.bom,
    },
    headerLine: header.line,
    doubt: options.headerRow === undefined ? detectTitle(header, below.rows, name) : null,
    counts: {
      get rows() {
        return counts.rows;
      },
      get blankLines() {
        return reading.blankLines;
      },
    },
    pieces: read,
    async *batches() {
      for await (const piece of read(() => undefined)) if (piece.kind === 'rows') yield piece.rows;
    },
    [Symbol.dispose]() {
      input.destroy();
    },
  };
}

/** Drops the lines before the header, and gives their bytes. CsvError where one is too long, or the file ends before. */
async function skipLines(window: ByteWindow, line: number, header: number, name: string, limits: CsvLimits) {
  let skipped = 0;
  let searched = 0;
  for (let at = line; at < header; ) {
    const { bytes, final } = window;
    const found = bytes.subarray(searched).findIndex((byte) => byte === LF || byte === CR);
    const end = found < 0 ? -1 : searched + found;
    searched = end < 0 ? bytes.length : end;
    if (searched > limits.rowBytes)
      throw fileLimitError(CsvError, limits, 'rowBytes', { file: name, line: at });
    // The second half of a line end may not have been read yet.
    if (end >= 0 && (end + 1 < bytes.length || final)) {
      const length = bytes[end] === CR && bytes[end + 1] === LF ? end + 2 : end + 1;
      window.drop(length);
      skipped += length;
      searched = 0;
      at += 1;
    } else if (final) {
      throw noHeader(name, `the file has no line ${header}`, at);
    } else {
      await window.grow(bytes.length + PARSED_BYTES);
    }
  }
  if (skipped > 0) await window.grow(PARSED_BYTES);
  return skipped;
}

function noHeader(file: string, what: string, line: number) {
  return new CsvError(`There is no header: ${what}.`, {
    place: { file, line },
    hint: 'Correct `headerRow` in the source of the job.',
  });
}

/** The first line with content, and the rows that were read with it. */
async function readHeader(
  pieces: AsyncIterator<SourcePiece>,
  name: string,
): Promise<{ readonly header: Row; readonly below: RowsPiece }> {
  for (;;) {
    const { done, value } = await pieces.next();
    if (done === true) {
      throw new CsvError('The file is empty: a header was expected in its first line.', {
        place: { file: name, line: 1 },
        hint: 'Check whether the export failed.',
      });
    }
    if (value.kind !== 'rows') throw new TypeError('blocks were found before the header was read');
    const { rows, offsets, blankLines } = value;
    const [header] = rows;
    if (header === undefined) continue;
    const below = { ...value, rows: rows.slice(1) };
    return { header, below: { ...below, offsets: offsets.slice(1), blankLines: blankLines.slice(1) } };
  }
}

/** The rows from a line on. */
function rowsFrom(piece: RowsPiece, line: number) {
  const { rows, offsets, blankLines } = piece;
  const before = rows.findIndex((row) => row.line >= line);
  if (before === 0 || rows.length === 0) return piece;
  const from = before < 0 ? rows.length : before;
  return {
    ...piece,
    rows: rows.slice(from),
    offsets: offsets.slice(from),
    blankLines: blankLines.slice(from),
  };
}

/** The bytes in pieces no larger than a block, each valid until the next one. */
async function* chunksOf(input: Readable, blockBytes: number): AsyncGenerator<Uint8Array> {
  for await (const chunk of input) {
    if (!(chunk instanceof Uint8Array)) throw new TypeError('a CSV file is read from a stream of bytes');
    for (let from = 0; from < chunk.length; from += blockBytes) {
      yield chunk.subarray(from, from + blockBytes);
    }
    releaseBuffer(chunk);
  }
}

function refuseLongNames({ cells, line }: Row, file: string, limits: CsvLimits) {
  for (const [index, cell] of cells.entries()) {
    const bytes = Buffer.byteLength(cell);
    if (bytes > limits.headerBytes) {
      throw fileLimitError(CsvError, limits, 'headerBytes', { file, line }, { column: index + 1, bytes });
    }
  }
}

const BATCH_ROWS = 1000;

/** Bytes that are searched for the next known block at once. */
const SEARCHED_BYTES = BLOCK_BYTES + BLOCK_BYTES / 2;

/**
 * All rows in batches, the header included. `scanRows` finds each block of complete rows, Papa Parse reads it, and the file is
 * refused if they disagree. Where `blocks` gives a finder, rows are read only up to the next block that it finds.
 * CsvError, EncodingError.
 */
async function* readRows(
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
      const known = takeKnownBlocks(window, reading, finder, expected, decoder);
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

    const found = finder && findNextKnownBlock(window, scan, finder);
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
function takeKnownBlocks(
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
function findNextKnownBlock(
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
  const even = found === 'mixed' ? normaliseNewlines(block, reading.quotes) : block;
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

function isBlank(cells: readonly string[]) {
  return cells.every((cell) => cell.trim() === '');
}

function refuseNul(block: Uint8Array, reading: Reading) {
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
function parseBlock(text: string, rows: number, options: ParseBlockOptions) {
  const parser = new Papa.Parser({
    delimiter: options.delimiter,
    newline: options.newline,
    // By default it depends on whether the text has a quote, which is safe; set, it ignores quotes.
    ...(options.quotes === 'none' && { fastMode: true }),
  });
  // `true` ignores the empty row after the last line end.
  const { data, errors }: Papa.ParseResult<string[]> = parser.parse(text, 0, true);
  return errors.length === 0 && data.length === rows ? data : undefined;
}

/**
 * Replaces every line end outside quotes by LF: Papa Parse accepts one kind of line end and would take others for content.
 * The rows must have passed `scanRows`, so that quotes are paired in every cell.
 */
function normaliseNewlines(bytes: Uint8Array, quotes: 'standard' | 'none'): Uint8Array {
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
