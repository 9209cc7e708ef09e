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
