import { isUtf8 } from 'node:buffer';
import { sumOf } from '../../model/json-object.ts';
import { LEGACY_ENCODINGS } from '../../model/row.ts';
import type { EncodingCandidate } from '../../model/storeferry-error.ts';
import usualCharacters from './encodings.json' with { type: 'json' };

/**
 * The lower-case letters of a language beyond ASCII, most frequent first. They distinguish encodings: bytes that are
 * Czech in one encoding are a mixture of Danish, French and Italian in another.
 */
interface Language {
  readonly letters: string;
  readonly script: RegExp;
  /** Less than 1 for less common languages that share letters with common ones. */
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

function isWithin(byte: number, [from, to]: Range): boolean {
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
export function rankEncodings(bytes: Uint8Array): EncodingCandidate[] {
  const words = wordsOf(bytes);
  const sample = sampleOf(words);
  return LEGACY_ENCODINGS.map((encoding, order) => ({ encoding, order, score: score(encoding, words) }))
    .filter(({ score: value }) => value > Number.NEGATIVE_INFINITY)
    .sort((a, b) => b.score - a.score || a.order - b.order)
    .map(({ encoding }) => ({ encoding, word: shown(sample, encoding) }));
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
function separates(byte: number): boolean {
  return byte < 0x30 || (byte >= 0x3a && byte < 0x40);
}

function sampleOf(words: readonly Uint8Array[]): Uint8Array | undefined {
  const { from, to } = SAMPLE_BYTES;
  return words.find(({ length }) => length >= from && length <= to) ?? words[0];
}

function shown(sample: Uint8Array | undefined, encoding: string): string {
  const text = new TextDecoder(encoding).decode(sample, { stream: true });
  return [...text.replaceAll(/\p{C}/gu, '\ufffd')].slice(0, SAMPLE_CHARACTERS).join('');
}

function score(encoding: string, words: readonly Uint8Array[]): number {
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

function average(scores: readonly number[]): number {
  return scores.length === 0 ? 0 : sumOf(scores) / scores.length;
}

function scoreCharacters(word: Uint8Array, characters: readonly Characters[]): number[] {
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
    const alone = isLatin(word[at - 1]) && isLatin(word[at + length]);
    worths.push(alone ? -1.5 : worth);
    at += length;
  }
  return worths;
}

function isLatin(byte: number | undefined): boolean {
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
function scoreLetters(text: string, language: Language): number[] {
  const characters = [...text];
  return characters.flatMap((character, index) =>
    character < '\u0080'
      ? []
      : [scoreLetter(character, characters[index - 1] ?? ' ', characters[index + 1] ?? ' ', language)],
  );
}

function scoreLetter(character: string, before: string, after: string, language: Language): number {
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
