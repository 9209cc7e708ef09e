import { TextDecoder } from 'node:util';
import { CsvError } from '../model/errors.ts';
import type { Row } from '../model/row.ts';
import type { ByteWindow } from './byte-window.ts';
import { notUtf8 } from './charset.ts';
import type { CsvLimits } from './csv-limits.ts';
import { evenNewlines } from './even-newlines.ts';
import { parseBlock } from './parse-block.ts';
import { lineAt, newlineOf, type RowScan, scanRows } from './scan-rows.ts';
import { columnOf, structureError } from './structure-error.ts';

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
      throw limitError(reading, line, 'columns', limits.columns, `has ${cells.length} cells`);
    }
    if (measure && cells.some((cell) => Buffer.byteLength(cell) > limits.cellBytes)) {
      throw limitError(reading, line, 'cellBytes', limits.cellBytes, 'has a longer cell');
    }
    rows.push({ file, line, cells });
  }
  return rows;
}

function isBlank(cells: readonly string[]): boolean {
  const [first = ''] = cells;
  if (first.charCodeAt(0) > 0x20 && first.charCodeAt(0) < 0x7f) return false;
  return cells.every((cell) => cell === '' || cell.trim() === '');
}

function refuseTooLong(bytes: Uint8Array, scan: RowScan, reading: Reading): void {
  const { limits, line, name } = reading;
  if (scan.openCell >= 0 && bytes.length - scan.openCell > limits.cellBytes) {
    throw limitError(
      { name },
      lineAt(bytes, 0, line, scan.openCell),
      'cellBytes',
      limits.cellBytes,
      'begins a quoted cell that is longer; perhaps its quote is never closed',
    );
  }
  if (Math.max(bytes.length - scan.end, scan.longestRow) > limits.rowBytes) {
    const at = scan.longestRow > limits.rowBytes ? line : scan.nextLine;
    throw limitError(
      { name },
      at,
      'rowBytes',
      limits.rowBytes,
      'or one after it, begins a row that is longer; perhaps this is no CSV file',
    );
  }
}

function limitError(
  reading: { readonly name: string },
  line: number,
  limit: keyof CsvLimits,
  most: number,
  what: string,
): CsvError {
  return new CsvError(`The file exceeds the limit ${limit} (${most}): line ${line} ${what}.`, {
    place: { file: reading.name, line },
    hint: `If the file is right, set a higher \`limits: { ${limit}: … }\` in the source of the job.`,
  });
}

function refuseNul(block: Uint8Array, reading: Reading): void {
  const at = block.indexOf(0);
  if (at < 0) return;
  throw new CsvError(
    'The file contains a NUL character, which no text has: it is damaged, or not in the encoding it is read in.',
    {
      place: { file: reading.name, line: lineAt(block, 0, reading.line, at), column: columnOf(block, at) },
      hint: 'Export the file again; if it is UTF-16 or UTF-32, save it as CSV UTF-8.',
    },
  );
}
