import { isUtf8 } from 'node:buffer';
import { LEGACY_ENCODINGS } from '../../model/row.ts';
import { CsvError, type EncodingCandidate, EncodingError } from '../../model/storeferry-error.ts';
import { rankEncodings } from './rank-encodings.ts';
import { CR, columnOf, LF, lineAt, QUOTE, SPACE } from './scan-rows.ts';

/** With this many valid multi-byte characters the file cannot be UTF-8 by chance. */
const CERTAINLY_UTF8 = 8;

const CANDIDATES_SHOWN = 3;

/** The encoding of a file, and whether it comes from a byte order mark. */
export interface Charset {
  readonly encoding: string;
  readonly bom: boolean;
}

/**
 * The encoding: the byte order mark, else the one the job names, else UTF-8, which is then checked
 * byte by byte. CsvError or EncodingError when the first bytes contradict it.
 */
export function decideCharset(file: string, sample: Uint8Array, named: string | undefined): Charset {
  const canonical = named === undefined ? undefined : canonicalEncoding(named);
  const mark = byteOrderMark(sample);
  if (mark !== undefined) return { encoding: mark.encoding, bom: true };
  if (canonical === undefined || canonical === 'utf-8') {
    refuseUtf16(file, sample);
    return { encoding: 'utf-8', bom: false };
  }
  if (!canonical.startsWith('utf-16') && utf8Characters(sample) >= CERTAINLY_UTF8) {
    throw new CsvError(`The file is in UTF-8, but the job says it is in ${canonical}.`, {
      place: { file },
      hint: 'Remove `encoding` from the source of the job.',
    });
  }
  return { encoding: canonical, bom: false };
}

/** The canonical name of an encoding; CsvError when Node.js cannot decode it. */
function canonicalEncoding(label: string): string {
  try {
    return new TextDecoder(label).encoding;
  } catch (cause) {
    throw new CsvError(
      `The encoding \`${label}\` is not supported. Supported are utf-8, utf-16le, utf-16be, ${LEGACY_ENCODINGS.join(', ')} and the other names of the WHATWG Encoding Standard.`,
      {
        cause,
        hint: `Convert the file first, for example with \`iconv -f ${label} -t utf-8\`, and leave \`encoding\` out.`,
      },
    );
  }
}

/** The encoding of a byte order mark, and its length. */
interface ByteOrderMark {
  readonly encoding: 'utf-8' | 'utf-16le' | 'utf-16be';
  readonly length: number;
}

/** The byte order mark at the beginning. */
export function byteOrderMark(bytes: Uint8Array): ByteOrderMark | undefined {
  const [first, second, third] = bytes;
  if (first === 0xef && second === 0xbb && third === 0xbf) return { encoding: 'utf-8', length: 3 };
  if (first === 0xff && second === 0xfe) return { encoding: 'utf-16le', length: 2 };
  if (first === 0xfe && second === 0xff) return { encoding: 'utf-16be', length: 2 };
  return undefined;
}

/** UTF-16 of Latin text without a mark would pass as UTF-8 full of NUL characters. */
function refuseUtf16(file: string, sample: Uint8Array): void {
  let even = 0;
  let odd = 0;
  for (let at = sample.indexOf(0); at >= 0; at = sample.indexOf(0, at + 1)) {
    if (at % 2 === 0) even += 1;
    else odd += 1;
  }
  if (even + odd === 0 || (even + odd) * 4 < sample.length || (even > 0 && odd > 0)) return;
  const encoding = odd > 0 ? 'utf-16le' : 'utf-16be';
  throw new EncodingError(
    `The file looks like ${encoding} without a byte order mark.`,
    [{ encoding, word: beginning(sample, encoding) }],
    {
      place: { file, line: 1 },
      hint: `Set \`encoding: ${encoding}\` in the source of the job, or save the file as CSV UTF-8.`,
    },
  );
}

function beginning(sample: Uint8Array, encoding: string): string {
  const text = new TextDecoder(encoding).decode(sample.subarray(0, 64), { stream: true });
  return /[\p{L}\p{N}]+/u.exec(text)?.[0] ?? '';
}

/** The number of non-ASCII characters if the bytes are UTF-8, perhaps cut within a character; else 0. */
function utf8Characters(sample: Uint8Array): number {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(sample, { stream: true });
    return text.match(/[\u0080-\u{10ffff}]/gu)?.length ?? 0;
  } catch {
    return 0;
  }
}

/** The error for bytes that are not UTF-8, with the place and the likely encodings. They start on `line`. */
export function notUtf8(file: string, bytes: Uint8Array, line: number, offset: number): EncodingError {
  const at = invalidUtf8At(bytes);
  const candidates = rankEncodings(bytes);
  const first = candidates[0]?.encoding;
  const likely = (named: (candidate: EncodingCandidate) => string) =>
    first === undefined
      ? 'No usual encoding fits.'
      : `It is likely one of: ${candidates.slice(0, CANDIDATES_SHOWN).map(named).join(', ')}.`;
  const byte = `0x${(bytes[at] ?? 0).toString(16).toUpperCase().padStart(2, '0')}`;
  const problem = `The file is not in UTF-8: byte ${byte} (byte ${offset + at + 1} of the file) is not part of a character.`;
  return new EncodingError(
    `${problem} ${likely(({ encoding, word }) => `${encoding} (there it reads ${word})`)}`,
    candidates,
    {
      unquoted: `${problem} ${likely(({ encoding }) => encoding)}`,
      place: { file, line: lineAt(bytes, 0, line, at), column: columnOf(bytes, at) },
      hint:
        first === undefined
          ? 'Save the file as CSV UTF-8.'
          : `Set \`encoding: ${first}\` in the source of the job, if that is what it is, or save the file as CSV UTF-8.`,
    },
  );
}

const REPLACEMENT = '\ufffd';
const REPLACEMENT_BYTES = Buffer.from(REPLACEMENT);

/** The offset of the first byte that is not part of a valid UTF-8 character, or -1. */
function invalidUtf8At(bytes: Uint8Array): number {
  if (isUtf8(bytes)) return -1;
  const text = new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
  let offset = 0;
  for (let from = 0; ; ) {
    const at = text.indexOf(REPLACEMENT, from);
    offset += Buffer.byteLength(text.slice(from, at));
    // The character may also stand in the file itself.
    const end = offset + REPLACEMENT_BYTES.length;
    if (!REPLACEMENT_BYTES.equals(bytes.subarray(offset, end))) return offset;
    offset = end;
    from = at + 1;
  }
}

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
