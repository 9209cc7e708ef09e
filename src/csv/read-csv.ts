import type { Readable } from 'node:stream';
import { DELIMITERS } from '../model/delimiters.ts';
import { CsvError, DelimiterError } from '../model/errors.ts';
import type { Row } from '../model/row.ts';
import type { Dialect, Table } from '../model/table.ts';
import { ByteWindow } from './byte-window.ts';
import { decideCharset } from './charset.ts';
import { type CsvLimits, csvLimitError, DEFAULT_CSV_LIMITS } from './csv-limits.ts';
import { detectDelimiter } from './detect-delimiter.ts';
import { byteOrderMark } from './encodings.ts';
import { type Reading, readRows } from './read-rows.ts';
import { newlineOf } from './scan-rows.ts';
import { headingRows, titleAbove } from './table-shape.ts';
import { transcode } from './transcode.ts';

/**
 * Bytes that are parsed at once. The rows of a block stay in memory until all of them are mapped: with 256 KiB the
 * garbage collector copied three times as much as with 64 KiB, and a run took a third longer.
 */
const BLOCK_BYTES = 64 * 1024;

/** How to read a CSV file; what is left out is detected. */
export interface CsvOptions {
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
  readonly limits?: Partial<CsvLimits> | undefined;
  /** Bytes that are read and parsed at once; affects only speed. */
  readonly blockBytes?: number | undefined;
}

/** A CSV file whose header is read, and whose rows may be read once. Dispose of it when they are not. */
export interface CsvTable extends Table, Disposable {
  readonly dialect: Dialect;
  /** Why the header is likely none; a source is refused with it. */
  readonly doubt: CsvError | null;
  /** What `batches` has met so far: rows, and lines without content, which are no rows. */
  readonly counts: { readonly rows: number; readonly blankLines: number };
}

/**
 * Opens CSV bytes: decides charset and delimiter, reads the header (the first line with content, never guessed away: a
 * title in its place is reported in `doubt`), and streams the rows with the physical lines on which they start; rows that are a
 * header again are marked. What could be read in two ways is refused with its place when it is reached: CsvError,
 * EncodingError. The input is destroyed at the end, early or not.
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
  const { name, blockBytes = BLOCK_BYTES } = options;
  const limits = { ...DEFAULT_CSV_LIMITS, ...options.limits };

  const raw = new ByteWindow(chunksOf(input, blockBytes));
  await raw.grow(Math.max(blockBytes, 4));
  const charset = decideCharset(name, raw.bytes, options.encoding);
  const window = new ByteWindow(transcode(raw.rest(), charset.encoding, name));
  await window.grow(Math.max(blockBytes, 16));
  const mark = byteOrderMark(window.bytes)?.length ?? 0;
  window.drop(mark);

  const declared = declaredDelimiter(window.bytes);
  window.drop(declared?.length ?? 0);
  const reading: Reading = {
    name,
    file: options.file ?? 0,
    delimiter:
      checkedDelimiter(name, options.delimiter) ??
      declared?.delimiter ??
      (await chooseDelimiter(window, name, limits)),
    quotes: options.quotes ?? 'standard',
    limits,
    blockBytes,
    line: declared === undefined ? 1 : 2,
    offset: mark + (declared?.length ?? 0),
    newlines: 0,
    blankLines: 0,
  };

  const batches = readRows(window, reading);
  let first: readonly Row[] = [];
  while (first.length === 0) {
    const { done, value } = await batches.next();
    if (done === true) {
      throw new CsvError('The file is empty: a header was expected in its first line.', {
        place: { file: name, line: 1 },
        hint: 'Check whether the export failed.',
      });
    }
    first = value;
  }
  const [header, ...firstRows] = first;
  if (header !== undefined) {
    refuseLongNames(header, name, limits);
  }
  const isHeading = header === undefined ? () => false : headingRows(header, firstRows);

  const marked = (row: Row): Row => (isHeading(row) ? { ...row, heading: true } : row);
  const counts = { rows: 0 };
  return {
    header: header?.cells ?? [],
    dialect: {
      delimiter: reading.delimiter,
      encoding: charset.encoding,
      newline: newlineOf(reading.newlines),
      bom: charset.bom,
    },
    doubt: header === undefined ? null : titleAbove(header, firstRows, name),
    counts: {
      get rows() {
        return counts.rows;
      },
      get blankLines() {
        return reading.blankLines;
      },
    },
    async *batches() {
      try {
        for (let batch: readonly Row[] = firstRows; ; ) {
          counts.rows += batch.length;
          if (counts.rows > limits.rows) {
            const { line = 1 } = batch[batch.length - (counts.rows - limits.rows)] ?? {};
            throw csvLimitError(limits, 'rows', { file: name, line });
          }
          if (batch.length > 0) yield batch.some(isHeading) ? batch.map(marked) : batch;
          const { done, value } = await batches.next();
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

/** The bytes in pieces no larger than a block, whatever the stream gives at once. */
async function* chunksOf(input: Readable, blockBytes: number): AsyncGenerator<Uint8Array> {
  for await (const chunk of input) {
    if (!(chunk instanceof Uint8Array)) throw new TypeError('a CSV file is read from a stream of bytes');
    for (let from = 0; from < chunk.length; from += blockBytes) {
      yield chunk.subarray(from, from + blockBytes);
    }
  }
}

/** The first line `sep=;`, which names the delimiter for Excel. */
function declaredDelimiter(
  bytes: Uint8Array,
): { readonly delimiter: string; readonly length: number } | undefined {
  const beginning = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  const [line, delimiter] = /^sep=([,;\t|])(?:\r\n|\n|\r)/i.exec(beginning) ?? [];
  return line === undefined || delimiter === undefined ? undefined : { delimiter, length: line.length };
}

function checkedDelimiter(name: string, delimiter: string | undefined): string | undefined {
  if (delimiter === undefined || /^[^\w"\r\n\0\u0080-\uffff]$/.test(delimiter)) return delimiter;
  throw new CsvError(
    `The delimiter ${JSON.stringify(delimiter)} cannot separate cells: expected one character such as comma, semicolon, tab or pipe.`,
    {
      place: { file: name },
      hint: 'Correct `delimiter` in the source of the job.',
    },
  );
}

async function chooseDelimiter(window: ByteWindow, name: string, limits: CsvLimits): Promise<string> {
  let detected = detectDelimiter(window.bytes, window.final);
  // A header longer than a block is seen in whole before it is judged.
  while (detected.kind === 'incomplete' && window.bytes.length <= limits.rowBytes) {
    await window.grow(window.bytes.length * 2);
    detected = detectDelimiter(window.bytes, window.final);
  }
  switch (detected.kind) {
    case 'found':
      return detected.delimiter;
    case 'none':
    case 'incomplete':
      return DELIMITERS.comma;
    case 'unclear':
      throw new DelimiterError(
        `The delimiter is unclear: ${detected.candidates.map((candidate) => JSON.stringify(candidate)).join(' and ')} fit the header and the first rows about equally well.`,
        detected.candidates,
        { place: { file: name, line: 1 }, hint: 'Set `delimiter` in the source of the job.' },
      );
    default:
      return detected satisfies never;
  }
}

function refuseLongNames({ cells, line }: Row, file: string, limits: CsvLimits): void {
  for (const [index, cell] of cells.entries()) {
    const bytes = Buffer.byteLength(cell);
    if (bytes > limits.headerBytes) {
      throw csvLimitError(limits, 'headerBytes', { file, line }, { column: index + 1, bytes });
    }
  }
}
