import { EncodingError } from '../../model/storeferry-error.ts';
import { rankEncodings } from './rank-encodings.ts';
import { CR, LF, QUOTE, SPACE } from './scan-rows.ts';

/** Decodes to UTF-8, which the rest of the reader works on. A chunk must be valid until the next one. EncodingError with the place. */
export async function* transcode(
  chunks: AsyncIterable<Uint8Array>,
  encoding: string,
  name: string,
): AsyncGenerator<Uint8Array> {
  if (encoding === 'utf-8') {
    yield* chunks;
    return;
  }
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  const lines = new LineCounter();
  let previous: Uint8Array = new Uint8Array(0);
  let offset = 0;

  for await (const chunk of chunks) {
    let decoded: Buffer;
    try {
      decoded = Buffer.from(decoder.decode(chunk, { stream: true }));
    } catch (cause) {
      const bytes = Buffer.concat([previous, chunk]);
      const failure = replay(bytes, previous.length, offset, encoding);
      lines.add(Buffer.from(failure.text));
      const position = offset - previous.length + failure.at;
      throw undecodable(`byte ${position + 1} of the file is not part of a character`, encoding, bytes, {
        cause,
        place: { file: name, line: lines.line },
      });
    }
    lines.add(decoded);
    offset += chunk.length;
    previous = new Uint8Array(chunk);
    yield decoded;
  }

  let rest: string;
  try {
    rest = decoder.decode();
  } catch (cause) {
    throw undecodable('the file ends in the middle of a character', encoding, previous, {
      cause,
      place: { file: name, line: lines.line },
    });
  }
  if (rest.length > 0) yield Buffer.from(rest);
}

function undecodable(
  what: string,
  encoding: string,
  bytes: Uint8Array,
  details: ConstructorParameters<typeof EncodingError>[2],
): EncodingError {
  // The kept bytes may begin within a character; a line does not.
  const lines = bytes.subarray(bytes.indexOf(LF) + 1);
  const candidates = rankEncodings(lines.length > 0 ? lines : bytes).filter(
    (candidate) => candidate.encoding !== encoding,
  );
  return new EncodingError(`The file is not in ${encoding}: ${what}.`, candidates, {
    ...details,
    hint: 'Correct `encoding` in the source of the job, or leave it out for UTF-8.',
  });
}

/**
 * Decodes again byte by byte to find the failing byte, and the text since `chunkStart`. The state of a decoder cannot be
 * copied, so it begins after a line end of the previous chunk: no character contains that byte, except in UTF-16, whose
 * units are counted from the beginning of the file.
 */
function replay(
  bytes: Uint8Array,
  chunkStart: number,
  chunkOffset: number,
  encoding: string,
): { readonly at: number; readonly text: string } {
  const start = encoding.startsWith('utf-16')
    ? (chunkOffset - chunkStart) % 2
    : chunkStart === 0
      ? 0
      : bytes.lastIndexOf(LF, chunkStart - 1) + 1;
  const decoder = new TextDecoder(encoding, { fatal: true, ignoreBOM: true });
  let text = '';
  let at = start;
  try {
    for (; at < bytes.length; at += 1) {
      const decoded = decoder.decode(bytes.subarray(at, at + 1), { stream: true });
      if (at >= chunkStart) text += decoded;
    }
  } catch {
    return { at, text };
  }
  return { at, text };
}

/** Counts physical lines over chunks of UTF-8: LF, CRLF and CR each end one. */
class LineCounter {
  #line = 1;
  #afterCr = false;

  /** The line on which the next byte stands. */
  get line(): number {
    return this.#line;
  }

  add(bytes: Uint8Array): void {
    let afterCr = this.#afterCr;
    for (const byte of bytes) {
      if (byte === CR || (byte === LF && !afterCr)) this.#line += 1;
      afterCr = byte === CR;
    }
    this.#afterCr = afterCr;
  }
}

const BACKSLASH = 0x5c;
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
