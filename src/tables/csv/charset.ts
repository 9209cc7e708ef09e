import { isUtf8 } from 'node:buffer';
import { sumOf } from '../../model/json-object.ts';
import { LEGACY_ENCODINGS } from '../../model/row.ts';
import { CsvError, type EncodingCandidate, EncodingError } from '../../model/storeferry-error.ts';
import usualCharacters from './encodings.json' with { type: 'json' };
import { CR, columnOf, LF, lineAt } from './scan-rows.ts';

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
function canonicalEncoding(label: string) {
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
function refuseUtf16(file: string, sample: Uint8Array) {
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

function beginning(sample: Uint8Array, encoding: string) {
  const text = new TextDecoder(encoding).decode(sample.subarray(0, 64), { stream: true });
  return /[\p{L}\p{N}]+/u.exec(text)?.[0] ?? '';
}

/** The number of non-ASCII characters if the bytes are UTF-8, perhaps cut within a character; else 0. */
function utf8Characters(sample: Uint8Array) {
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
function invalidUtf8At(bytes: Uint8Array) {
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

/** Decodes to UTF-8, which the rest of the reader works on. The memory of a chunk must not change before the next one is asked for. EncodingError with the place. */
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
  const lines = lineCounter();
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
) {
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
function lineCounter() {
  let line = 1;
  let afterCr = false;
  return {
    /** The line on which the next byte stands. */
    get line() {
      return line;
    },
    add(bytes: Uint8Array) {
      let after = afterCr;
      for (const byte of bytes) {
        if (byte === CR || (byte === LF && !after)) line += 1;
        after = byte === CR;
      }
      afterCr = after;
    },
  };
}

/**
 * The lower-case letters of a language beyond ASCII, most frequent first. They distinguish encodings: bytes that are
 * Czech in one encoding are a mixture of Danish, French and Italian in another.
 */
interface Language {
  readonly letters: string;
  readonly script: RegExp;
  /** How common it is, at most 1: lower where a common language has the same letters. */
  readonly share: number;
}

/**
 * The languages of each single-byte encoding. Of two encodings that fit a word equally well, the western one is likelier: its
 * languages have the larger shares.
 */
const LANGUAGES: ReadonlyMap<string, readonly Language[]> = new Map(
  usualCharacters.singleByte.flatMap(({ encodings, script, languages }) => {
    const isOfScript = new RegExp(`\\p{Script=${script}}`, 'u');
    const found = languages.map((language) => ({ ...language, script: isOfScript }));
    return encodings.map((encoding) => [encoding, found] as const);
  }),
);

/** Characters of a multi-byte encoding: the ranges of their first and second byte, their length, and how common they are. */
interface Characters {
  readonly lead: Range;
  readonly trail: Range;
  readonly length: number;
  readonly worth: number;
}

type Range = readonly [from: number, to: number];

function rangeOf(written: string): Range {
  const [from = 0, to = 0] = written.split('-').map((byte) => Number.parseInt(byte, 16));
  return [from, to];
}

function isWithin(byte: number, [from, to]: Range) {
  return byte >= from && byte <= to;
}

/**
 * Double-byte encodings put their most common characters first: the position of a character in the table shows how likely
 * it is. The first entry that has a character counts.
 */
const CHARACTERS: ReadonlyMap<string, readonly Characters[]> = new Map(
  usualCharacters.multiByte.map(({ encoding, characters }) => [
    encoding,
    characters.map(({ lead, trail, ...one }) => ({ ...one, lead: rangeOf(lead), trail: rangeOf(trail) })),
  ]),
);

const MAX_WORDS = 400;
/** Judged bytes of a word: scripts without blanks have words of any length. */
const WORD_BYTES = 120;
/** The length of a sample word that a reader can recognise. */
const SAMPLE_BYTES = { from: 4, to: 32 } as const;
const SAMPLE_CHARACTERS = 24;

/**
 * The legacy encodings that fit the bytes, likeliest first, each with a word of the file decoded by it. Scored by the
 * letters and pairs that languages use: advice for a person, never a decision. The bytes begin with a character.
 */
function rankEncodings(bytes: Uint8Array): EncodingCandidate[] {
  const words = wordsOf(bytes);
  const sample = sampleOf(words);
  return LEGACY_ENCODINGS.map((encoding, order) => ({ encoding, order, score: score(encoding, words) }))
    .filter(({ score: value }) => value > Number.NEGATIVE_INFINITY)
    .sort((a, b) => b.score - a.score || a.order - b.order)
    .map(({ encoding }) => ({ encoding, word: wordIn(sample, encoding) }));
}

/**
 * The words with non-ASCII bytes. They are split only at bytes that cannot be the second byte of a character in any of the
 * encodings: a split character would make a valid text invalid.
 */
function wordsOf(bytes: Uint8Array): Uint8Array[] {
  const words: Uint8Array[] = [];
  let start = 0;
  let plain = true;
  for (let at = 0; at <= bytes.length && words.length < MAX_WORDS; at += 1) {
    const byte = bytes[at];
    if (byte !== undefined && !separates(byte)) {
      plain &&= byte < 0x80;
      continue;
    }
    // In a file that mixes encodings, UTF-8 words say nothing about the other one.
    if (!plain && !isUtf8(bytes.subarray(start, at))) words.push(bytes.subarray(start, at));
    start = at + 1;
    plain = true;
  }
  return words;
}

/** Digits and all bytes from 0x40 may be the second byte of a character; `:;<=>?` may not. */
function separates(byte: number) {
  return byte < 0x30 || (byte >= 0x3a && byte < 0x40);
}

function sampleOf(words: readonly Uint8Array[]): Uint8Array | undefined {
  const { from, to } = SAMPLE_BYTES;
  return words.find(({ length }) => length >= from && length <= to) ?? words[0];
}

function wordIn(sample: Uint8Array | undefined, encoding: string) {
  const text = new TextDecoder(encoding).decode(sample, { stream: true });
  return [...text.replaceAll(/\p{C}/gu, '\ufffd')].slice(0, SAMPLE_CHARACTERS).join('');
}

function score(encoding: string, words: readonly Uint8Array[]) {
  const texts: string[] = [];
  for (const word of words) {
    try {
      // Only a shortened word may end within a character.
      const stream = word.length > WORD_BYTES;
      const decoder = new TextDecoder(encoding, { fatal: true });
      texts.push(decoder.decode(word.subarray(0, WORD_BYTES), { stream }));
    } catch {
      return Number.NEGATIVE_INFINITY;
    }
  }
  const characters = CHARACTERS.get(encoding);
  if (characters !== undefined) return average(words.flatMap((word) => scoreCharacters(word, characters)));
  const languages = LANGUAGES.get(encoding) ?? [];
  return Math.max(
    ...languages.map((language) => average(texts.flatMap((text) => scoreLetters(text, language)))),
  );
}

function average(scores: readonly number[]) {
  return scores.length === 0 ? 0 : sumOf(scores) / scores.length;
}

function scoreCharacters(word: Uint8Array, characters: readonly Characters[]) {
  const worths: number[] = [];
  const end = Math.min(word.length, WORD_BYTES);
  for (let at = 0; at < end; ) {
    const lead = word[at] ?? 0;
    if (lead < 0x80) {
      at += 1;
      continue;
    }
    const next = word[at + 1] ?? 0;
    const { length = 2, worth = 0 } =
      characters.find((one) => isWithin(lead, one.lead) && isWithin(next, one.trail)) ?? {};
    // A single character between Latin letters is a misread Latin letter.
    const isMisread = isLatin(word[at - 1]) && isLatin(word[at + length]);
    worths.push(isMisread ? -1.5 : worth);
    at += length;
  }
  return worths;
}

function isLatin(byte: number | undefined) {
  return byte !== undefined && /[A-Za-z]/.test(String.fromCharCode(byte));
}

/** Longer lists are alphabets of their own: no language adds more letters to ASCII. */
const MAX_ADDED = 20;

const LETTER = /\p{L}/u;
const LOWER = /\p{Ll}/u;
const UPPER = /\p{Lu}/u;
const NO_TEXT = /[\p{Cc}\p{Co}\p{Cn}]/u;
const USUAL_SIGN = /[€£©®°–—‘’“”„…«»·¡¿ºª№×]/u;

/** How well each character beyond ASCII fits the language and its neighbours, from -3 (hardly text) to 1.3. */
function scoreLetters(text: string, language: Language) {
  const characters = [...text];
  return characters.flatMap((character, index) =>
    character < '\u0080'
      ? []
      : [scoreLetter(character, characters[index - 1] ?? ' ', characters[index + 1] ?? ' ', language)],
  );
}

function scoreLetter(character: string, before: string, after: string, language: Language) {
  if (USUAL_SIGN.test(character)) return 0.5;
  if (!LETTER.test(character)) return NO_TEXT.test(character) ? -3 : -1;
  // A capital after a small letter, or a neighbour of another script, indicates a misreading.
  if (UPPER.test(character) && LOWER.test(before)) return -1.5;
  if (LOWER.test(character) && UPPER.test(before) && UPPER.test(after)) return -1;
  const { letters, script, share } = language;
  if ([before, after].some((one) => LETTER.test(one) && !script.test(one))) return -1;
  const rank = letters.indexOf(character.toLowerCase());
  if (rank < 0) return -1;
  const part = rank / letters.length;
  // A non-Latin alphabet has rare letters; the letters that a language adds to ASCII are all common.
  if (letters.length > MAX_ADDED) return (part < 0.35 ? 1.3 : part < 0.7 ? 0.8 : 0) * share;
  return (part < 0.5 ? 1.05 : 0.95) * share;
}
