import { fileLimitError, type InputLimits } from '../../model/input-limits.ts';
import type { Dialect } from '../../model/row.ts';
import { CsvError } from '../../model/storeferry-error.ts';

const TAB = 0x09;
export const LF = 0x0a;
export const CR = 0x0d;
export const SPACE = 0x20;
export const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The kinds of line end outside quotes, as bits. */
const NEWLINE_LF = 1;
const NEWLINE_CRLF = 2;
const NEWLINE_CR = 4;

/** The line end for these bits; `mixed` for several, LF for none. */
export function newlineOf(kinds: number): Dialect['newline'] {
  switch (kinds) {
    case 0:
    case NEWLINE_LF:
      return '\n';
    case NEWLINE_CRLF:
      return '\r\n';
    case NEWLINE_CR:
      return '\r';
    default:
      return 'mixed';
  }
}

/** Faults of quotes: at each of them readers disagree about where cells end. */
type StructureFaultKind =
  | 'text-after-quote'
  | 'blank-before-quote'
  | 'backslash-quote'
  | 'odd-quote'
  | 'unclosed-quote';

/** A fault at the offset of the offending byte. */
interface StructureFault {
  readonly kind: StructureFaultKind;
  readonly offset: number;
  readonly line: number;
  /** The line on which the cell began. */
  readonly cellLine: number;
}

/** The complete rows at the beginning of some bytes. */
export interface RowScan {
  /** The number of complete rows, blank ones included, and the offset after the last of them. */
  readonly rows: number;
  readonly end: number;
  /** The physical line on which each row starts, and its offset. */
  readonly lines: readonly number[];
  readonly starts: readonly number[];
  /** The physical line that starts at `end`. */
  readonly nextLine: number;
  readonly newlines: number;
  /** The offset of a quoted cell that does not close within these bytes, or -1. */
  readonly openCell: number;
  readonly longestRow: number;
  readonly fault: StructureFault | undefined;
}

interface RowScanOptions {
  /** The delimiter's byte. */
  readonly delimiter: number;
  /** `none`: quotes are ordinary characters. */
  readonly quotes: 'standard' | 'none';
  /** The physical line on which the bytes start. */
  readonly line: number;
  /** Whether the file ends with these bytes: the last row then needs no line end. */
  readonly final: boolean;
}

/**
 * Finds the row ends in UTF-8 bytes that start with a row. This is the strict reading that Papa Parse's lenient one is checked
 * against: a quote opens a cell only as its first character, blanks may follow the closing quote, and quotes within an
 * unquoted cell must be paired, so that no reader could end the cell elsewhere.
 */
export function scanRows(bytes: Uint8Array, options: RowScanOptions): RowScan {
  const { delimiter, final } = options;
  if (options.quotes === 'none' || bytes.indexOf(QUOTE) < 0) return scanUnquotedRows(bytes, options);
  const length = bytes.length;
  const lines: number[] = [];
  const starts: number[] = [];
  let { line } = options;
  let rowStart = 0;
  let rowLine = line;
  let newlines = 0;
  let openCell = -1;
  let longestRow = 0;
  let fault: StructureFault | undefined;

  let at = 0;
  scan: while (at < length) {
    const byte = bytes[at] ?? 0;
    if (byte > QUOTE) {
      at += 1;
      continue;
    }
    if (byte === LF || byte === CR) {
      let kind = NEWLINE_LF;
      let next = at + 1;
      if (byte === CR) {
        if (next === length && !final) break;
        kind = bytes[next] === LF ? NEWLINE_CRLF : NEWLINE_CR;
        if (kind === NEWLINE_CRLF) next += 1;
      }
      newlines |= kind;
      lines.push(rowLine);
      starts.push(rowStart);
      if (at - rowStart > longestRow) longestRow = at - rowStart;
      line += 1;
      rowLine = line;
      rowStart = next;
      at = next;
    } else if (byte === QUOTE) {
      const before = at === 0 ? LF : bytes[at - 1];
      if (before !== delimiter && before !== LF && before !== CR) {
        const stray = scanUnquoted(bytes, at, delimiter, final);
        if (typeof stray === 'string') {
          fault = { kind: stray, offset: at, line, cellLine: line };
          break;
        }
        if (stray < 0) break;
        at = stray;
        continue;
      }

      const cellLine = line;
      openCell = at;
      for (at += 1; ; at += 1) {
        if (at >= length) break scan;
        const inner = bytes[at] ?? 0;
        if (inner > QUOTE) continue;
        if (inner === QUOTE) {
          if (at + 1 === length && !final) break scan;
          if (bytes[at + 1] !== QUOTE) break;
          at += 1;
        } else if (inner === CR || (inner === LF && bytes[at - 1] !== CR)) {
          line += 1;
        }
      }
      openCell = -1;
      at += 1;
      while (at < length && (bytes[at] === SPACE || (bytes[at] === TAB && delimiter !== TAB))) at += 1;
      if (at === length) break;
      const after = bytes[at];
      if (after !== delimiter && after !== LF && after !== CR) {
        fault = { kind: 'text-after-quote', offset: at, line, cellLine };
        break;
      }
    } else {
      at += 1;
    }
  }

  if (final && fault === undefined && rowStart < length) {
    if (openCell >= 0) {
      const cellLine = lineAt(bytes, rowStart, rowLine, openCell);
      fault = { kind: 'unclosed-quote', offset: openCell, line: cellLine, cellLine };
    } else {
      lines.push(rowLine);
      starts.push(rowStart);
      longestRow = Math.max(longestRow, length - rowStart);
      rowStart = length;
    }
  }
  const { length: rows } = lines;
  return { rows, end: rowStart, lines, starts, nextLine: rowLine, newlines, openCell, longestRow, fault };
}

/** For bytes without quotes: native search for line ends is several times as fast. */
function scanUnquotedRows(bytes: Uint8Array, options: RowScanOptions): RowScan {
  const { final } = options;
  const lines: number[] = [];
  const starts: number[] = [];
  let { line } = options;
  let rowStart = 0;
  let newlines = 0;
  let longestRow = 0;
  let lf = bytes.indexOf(LF);
  let cr = bytes.indexOf(CR);
  while (lf >= 0 || cr >= 0) {
    const isCr = cr >= 0 && (lf < 0 || cr < lf);
    const end = isCr ? cr : lf;
    if (isCr && end + 1 === bytes.length && !final) break;
    const isCrLf = isCr && lf === end + 1;
    newlines |= isCrLf ? NEWLINE_CRLF : isCr ? NEWLINE_CR : NEWLINE_LF;
    lines.push(line);
    starts.push(rowStart);
    line += 1;
    if (end - rowStart > longestRow) longestRow = end - rowStart;
    rowStart = isCrLf ? end + 2 : end + 1;
    if (lf >= 0 && lf < rowStart) lf = bytes.indexOf(LF, rowStart);
    if (cr >= 0 && cr < rowStart) cr = bytes.indexOf(CR, rowStart);
  }
  if (final && rowStart < bytes.length) {
    lines.push(line);
    starts.push(rowStart);
    longestRow = Math.max(longestRow, bytes.length - rowStart);
    rowStart = bytes.length;
  }
  const whole = { openCell: -1, fault: undefined };
  return { rows: lines.length, end: rowStart, lines, starts, nextLine: line, newlines, longestRow, ...whole };
}

/**
 * Judges an unquoted cell with a quote at `from`: the offset after the cell, -1 when the bytes end before the cell, or the
 * fault when readers would disagree about it.
 */
function scanUnquoted(
  bytes: Uint8Array,
  from: number,
  delimiter: number,
  final: boolean,
): number | StructureFaultKind {
  if (bytes[from - 1] === BACKSLASH) return 'backslash-quote';
  let start = from - 1;
  while (start >= 0 && (bytes[start] === SPACE || bytes[start] === TAB) && bytes[start] !== delimiter)
    start -= 1;
  if (start < 0 || bytes[start] === delimiter || bytes[start] === LF || bytes[start] === CR)
    return 'blank-before-quote';

  let count = 0;
  for (let at = from; ; at += 1) {
    const byte = bytes[at];
    if (byte === undefined && !final) return -1;
    if (byte === undefined || byte === delimiter || byte === LF || byte === CR) {
      return count % 2 === 0 ? at : 'odd-quote';
    }
    if (byte !== QUOTE) continue;
    if (bytes[at - 1] === BACKSLASH) return 'backslash-quote';
    count += 1;
  }
}

/** The physical line of `offset`, given that `start` lies on `line`. */
export function lineAt(bytes: Uint8Array, start: number, line: number, offset: number): number {
  let result = line;
  for (let at = start; at < offset; at += 1) {
    if (bytes[at] === CR || (bytes[at] === LF && (at === start || bytes[at - 1] !== CR))) result += 1;
  }
  return result;
}

const UNQUOTED_HINT =
  'Quote the whole cell and double the quotes in it ("12"" vinyl"); if the file never quotes cells, set `quotes: none` in the source of the job (`--quotes none` for init).';

const EXPLANATIONS: Readonly<
  Record<StructureFaultKind, { readonly message: string; readonly hint: string }>
> = {
  'text-after-quote': {
    message: 'text follows the closing quote of a cell; a delimiter or the end of the line was expected',
    hint: 'A quote within a quoted cell is written twice ("12"" vinyl"). Otherwise an earlier quote is not closed.',
  },
  'blank-before-quote': {
    message: 'there is a blank before the opening quote of a cell, which makes the quote part of the text',
    hint: 'Set `skipBlanks: true` in the source of the job; if the file never quotes cells, `quotes: none`.',
  },
  'backslash-quote': {
    message:
      'a quote follows a backslash: this file seems to escape quotes with backslashes, which is not CSV',
    hint: 'If it does, set `escape: backslash` in the source of the job; if it never quotes cells, `quotes: none`.',
  },
  'odd-quote': {
    message: 'an unquoted cell contains one quote, so the end of the cell is ambiguous',
    hint: UNQUOTED_HINT,
  },
  'unclosed-quote': {
    message: 'the cell that is opened by this quote is never closed',
    hint: 'Close the quote, or get a complete export: the file may have been cut off.',
  },
};

/** The error for a fault, with line and column; its offset counts in `bytes`. */
export function structureError(file: string, bytes: Uint8Array, fault: StructureFault): CsvError {
  const { message, hint } = EXPLANATIONS[fault.kind];
  const began = fault.cellLine === fault.line ? '' : ` (the cell begins on line ${fault.cellLine})`;
  return new CsvError(`The quotes of the file are broken: ${message}${began}.`, {
    place: { file, line: fault.line, column: columnOf(bytes, fault.offset) },
    hint,
  });
}

/** The column of a byte in its physical line, in characters from 1. */
export function columnOf(bytes: Uint8Array, offset: number): number {
  let start = offset;
  while (start > 0 && bytes[start - 1] !== LF && bytes[start - 1] !== CR) start -= 1;
  let characters = 0;
  for (let at = start; at < offset; at += 1) if (((bytes[at] ?? 0) & 0xc0) !== 0x80) characters += 1;
  return characters + 1;
}

/** The most that one CSV file may hold. */
export type CsvLimits = Pick<InputLimits, 'rowBytes' | 'cellBytes' | 'rows' | 'columns' | 'headerBytes'>;

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

/** Refuses a row with a cell beyond its limit. */
export function refuseLongCell(cells: readonly string[], line: number, { name, limits }: Reading): void {
  const long = cells.findIndex((cell) => Buffer.byteLength(cell) > limits.cellBytes);
  if (long >= 0)
    throw fileLimitError(CsvError, limits, 'cellBytes', { file: name, line }, { cell: long + 1 });
}

/** Refuses rows and cells beyond their limits before they are read to their end. */
export function refuseTooLong(bytes: Uint8Array, scan: RowScan, reading: Reading): void {
  const { limits, line, name: file } = reading;
  const { openCell, end, nextLine } = scan;
  // Every character of the cell may be a doubled quote.
  if (openCell >= 0 && bytes.length - openCell > limits.cellBytes * 2 + 1) {
    const place = { file, line: lineAt(bytes, 0, line, openCell), column: columnOf(bytes, openCell) };
    const cell = cellsIn(bytes.subarray(end, openCell), reading);
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

function quotesIn(bytes: Uint8Array) {
  let count = 0;
  for (let at = bytes.indexOf(QUOTE); at >= 0; at = bytes.indexOf(QUOTE, at + 1)) count += 1;
  return count;
}

/**
 * The number of cells of a row so far; stops just above the limit. The quotes of the row are paired, as `scanRows` has
 * checked. Quoted text is skipped at once: a cell may have many megabytes.
 */
function cellsIn(row: Uint8Array, { delimiter, quotes, limits }: Reading) {
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

/** Row positions are computed only here, for the message. */
function lineOfLongestRow(bytes: Uint8Array, { lines, end }: RowScan, line: number) {
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

function behindLineEnd(bytes: Uint8Array, from: number) {
  let at = from;
  while (at < bytes.length && bytes[at] !== LF && bytes[at] !== CR) at += 1;
  return at + (bytes[at] === CR && bytes[at + 1] === LF ? 2 : 1);
}

/** Before the first cell. */
const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];

/** How a file departs from CSV in its quoted cells. */
export interface QuoteOptions {
  /** `backslash`: in quoted cells, a quote and a backslash stand behind a backslash. */
  readonly escape?: 'backslash' | undefined;
  /** Whether there may be blanks between a delimiter and the quote that opens a cell. */
  readonly skipBlanks?: boolean | undefined;
}

/** The same text as CSV has it: quotes doubled in quoted cells, no blanks before them. `delimiters` are single ASCII characters. */
export async function* standardQuotes(
  chunks: AsyncIterable<Uint8Array>,
  { escape: escapedBy, skipBlanks = false }: QuoteOptions,
  delimiters: readonly string[],
): AsyncGenerator<Uint8Array> {
  const ends = new Set([LF, CR, ...delimiters.map((delimiter) => delimiter.charCodeAt(0))]);
  let state: 'start' | 'unquoted' | 'quoted' | 'escaped' | 'closed' = 'start';
  let blanks = 0;
  let marks = 0;
  for await (const chunk of chunks) {
    // A backslash becomes a quote at most, and blanks may come from earlier pieces.
    const out = Buffer.allocUnsafe(chunk.length * 2 + blanks + 1);
    let size = 0;
    const put = (byte: number) => {
      out[size] = byte;
      size += 1;
    };
    for (const byte of chunk) {
      switch (state) {
        case 'escaped':
          // Before anything else a backslash stands for itself.
          if (byte === QUOTE) put(QUOTE);
          else if (byte !== BACKSLASH) put(BACKSLASH);
          put(byte);
          state = 'quoted';
          continue;
        case 'quoted':
          if (byte === BACKSLASH && escapedBy === 'backslash') state = 'escaped';
          else {
            put(byte);
            if (byte === QUOTE) state = 'closed';
          }
          continue;
        case 'closed':
          put(byte);
          state = byte === QUOTE ? 'quoted' : ends.has(byte) ? 'start' : 'unquoted';
          continue;
        case 'start':
          if (byte === SPACE && skipBlanks) {
            blanks += 1;
            continue;
          }
          if (marks < BYTE_ORDER_MARK.length && byte === BYTE_ORDER_MARK[marks]) {
            marks += 1;
            put(byte);
            continue;
          }
          marks = BYTE_ORDER_MARK.length;
          if (byte === QUOTE) {
            blanks = 0;
            put(byte);
            state = 'quoted';
            continue;
          }
          break;
        case 'unquoted':
          break;
        default:
          state satisfies never;
      }
      for (; blanks > 0; blanks -= 1) put(SPACE);
      put(byte);
      state = ends.has(byte) ? 'start' : 'unquoted';
    }
    yield out.subarray(0, size);
  }
  if (state === 'escaped') yield Buffer.from([BACKSLASH]);
  if (blanks > 0) yield Buffer.alloc(blanks, SPACE);
}
