import type { Readable } from 'node:stream';
import type { BlockFinder, RowsPiece, SourcePiece } from '../../model/block-index.ts';
import { DEFAULT_LIMITS, fileLimitError } from '../../model/input-limits.ts';
import { releaseBuffer } from '../../model/read-next.ts';
import { DELIMITER_CHARACTERS, type Dialect, type Row, type Table } from '../../model/row.ts';
import { CsvError } from '../../model/storeferry-error.ts';
import { headingRows, titleAbove } from '../heading-rows.ts';
import { ByteWindow } from './byte-window.ts';
import { byteOrderMark, decideCharset } from './charset.ts';
import { checkedDelimiter, declaredDelimiter, detectDelimiter } from './detect-delimiter.ts';
import { type CsvLimits, type Reading, readRows } from './read-rows.ts';
import { CR, LF, newlineOf } from './scan-rows.ts';
import { type QuoteOptions, standardQuotes, transcode } from './transcode.ts';

/**
 * Bytes that are parsed at once. The rows of a block stay in memory until all of them are mapped: with 256 KiB the
 * garbage collector copied three times as much as with 64 KiB, and a run took a third longer.
 */
const BLOCK_BYTES = 64 * 1024;

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
  readonly limits?: Partial<CsvLimits> | undefined;
  /** Bytes that are read and parsed at once; affects only speed. */
  readonly blockBytes?: number | undefined;
}

/** A CSV file after its header; the rows can be read once. Dispose of it if they are not. */
export interface CsvTable extends Table, Disposable {
  readonly dialect: Dialect;
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
 * Opens CSV bytes: decides charset and delimiter, reads the header (always the first line with content; a title in its
 * place is reported in `doubt`), and streams the rows with the physical lines on which they start. Repeated headers are
 * marked. Text that could be read in two ways is refused with its place when it is reached: CsvError, EncodingError. The input
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
  const { name, blockBytes = BLOCK_BYTES } = options;
  const limits = { ...DEFAULT_LIMITS, ...options.limits };

  const raw = new ByteWindow(chunksOf(input, blockBytes));
  await raw.grow(Math.max(blockBytes, 4));
  const charset = decideCharset(name, raw.bytes, options.encoding);
  const text = transcode(raw.rest(), charset.encoding, name);
  const hasHabits = options.escape !== undefined || options.skipBlanks === true;
  const delimiters = options.delimiter === undefined ? DELIMITER_CHARACTERS : [options.delimiter];
  const window = new ByteWindow(hasHabits ? standardQuotes(text, options, delimiters) : text);
  await window.grow(Math.max(blockBytes, 16));
  const mark = byteOrderMark(window.bytes)?.length ?? 0;
  window.drop(mark);

  const declared = declaredDelimiter(window.bytes);
  window.drop(declared?.length ?? 0);
  const firstLine = declared === undefined ? 1 : 2;
  const skipped = await skipLines(window, firstLine, options.headerRow ?? firstLine, name);
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
    line: Math.max(firstLine, options.headerRow ?? firstLine),
    offset: mark + (declared?.length ?? 0) + skipped,
    newlines: 0,
    blankLines: 0,
  };

  let finder: () => BlockFinder | undefined = () => undefined;
  const pieces = readRows(window, reading, () => finder());
  const { header, first } = await readHeader(pieces, name);
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
        piece = value;
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
    doubt: options.headerRow === undefined ? titleAbove(header, firstRows, name) : null,
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

/** Drops the lines before the header, and gives their bytes. CsvError where the file ends before. */
async function skipLines(window: ByteWindow, line: number, header: number, name: string): Promise<number> {
  let skipped = 0;
  for (let at = line; at < header; ) {
    const { bytes, final } = window;
    const end = bytes.findIndex((byte) => byte === LF || byte === CR);
    // The second half of a line end may not have been read yet.
    if (end >= 0 && (end + 1 < bytes.length || final)) {
      const length = bytes[end] === CR && bytes[end + 1] === LF ? end + 2 : end + 1;
      window.drop(length);
      skipped += length;
      at += 1;
    } else if (final) {
      throw new CsvError(`There is no header: the file has no line ${header}.`, {
        place: { file: name, line: at },
        hint: 'Correct `headerRow` in the source of the job.',
      });
    } else {
      await window.grow(bytes.length + BLOCK_BYTES);
    }
  }
  if (skipped > 0) await window.grow(BLOCK_BYTES);
  return skipped;
}

/** The first line with content, and the rows that were read with it. */
async function readHeader(
  pieces: AsyncIterator<SourcePiece>,
  name: string,
): Promise<{ readonly header: Row; readonly first: RowsPiece }> {
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
    const first = { ...value, rows: rows.slice(1) };
    return { header, first: { ...first, offsets: offsets.slice(1), blankLines: blankLines.slice(1) } };
  }
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

function refuseLongNames({ cells, line }: Row, file: string, limits: CsvLimits): void {
  for (const [index, cell] of cells.entries()) {
    const bytes = Buffer.byteLength(cell);
    if (bytes > limits.headerBytes) {
      throw fileLimitError(CsvError, limits, 'headerBytes', { file, line }, { column: index + 1, bytes });
    }
  }
}
