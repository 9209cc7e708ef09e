import { isUtf8 } from 'node:buffer';
import { LEGACY_ENCODINGS } from '../../model/row.ts';
import type { EncodingCandidate } from '../../model/storeferry-error.ts';
import encodingLetters from './encoding-letters.json' with { type: 'json' };

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
  encodingLetters.flatMap(({ encodings, script, languages }) => {
    const isOfScript = new RegExp(`\\p{Script=${script}}`, 'u');
    const found = languages.map((language) => ({ ...language, script: isOfScript }));
    return encodings.map((encoding) => [encoding, found] as const);
  }),
);

/** The length of the character that begins with these bytes, and how common it is, in a multi-byte encoding. */
type UsualPair = (lead: number, trail: number) => { readonly length: number; readonly worth: number };

const KANA = 1.8;
const COMMON = 1.2;
const SIGN = 0.2;
const SELDOM = -0.3;
const RARE = -1;

const pair = (worth: number) => ({ length: 2, worth });
const within = (byte: number, from: number, to: number) => byte >= from && byte <= to;

/**
 * Double-byte encodings put their most common characters first: the position of a character in the table shows how likely
 * it is.
 */
const PAIRS: ReadonlyMap<string, UsualPair> = new Map<string, UsualPair>([
  [
    'shift_jis',
    (lead) => {
      if (within(lead, 0xa1, 0xdf)) return { length: 1, worth: SELDOM };
      if (lead === 0x82 || lead === 0x83) return pair(KANA);
      if (lead === 0x81) return pair(SIGN);
      return pair(within(lead, 0x88, 0x97) ? COMMON : within(lead, 0xf0, 0xfc) ? -3 : SELDOM);
    },
  ],
  [
    'euc-jp',
    (lead) => {
      if (lead === 0x8f) return { length: 3, worth: RARE };
      if (lead === 0x8e) return pair(SELDOM);
      if (lead === 0xa4 || lead === 0xa5) return pair(KANA);
      if (lead === 0xa1 || lead === 0xa3) return pair(SIGN);
      return pair(within(lead, 0xb0, 0xcf) ? COMMON : SELDOM);
    },
  ],
  [
    'euc-kr',
    (lead, trail) => {
      if (trail < 0xa1 || lead < 0xa1) return pair(RARE);
      if (within(lead, 0xb0, 0xc8)) return pair(COMMON + 0.2);
      return pair(within(lead, 0xa1, 0xa3) ? SIGN : RARE);
    },
  ],
  [
    'gb18030',
    (lead, trail) => {
      if (within(trail, 0x30, 0x39)) return { length: 4, worth: RARE };
      if (trail < 0xa1 || lead < 0xa1) return pair(RARE);
      if (within(lead, 0xb0, 0xd7)) return pair(COMMON);
      return pair(within(lead, 0xa1, 0xa3) ? SIGN : within(lead, 0xd8, 0xf7) ? SELDOM : RARE);
    },
  ],
  [
    'big5',
    (lead) => {
      if (within(lead, 0xa4, 0xc6)) return pair(COMMON);
      return pair(within(lead, 0xa1, 0xa3) ? SIGN : within(lead, 0xc9, 0xf9) ? SELDOM : RARE);
    },
  ],
]);

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
  const pairs = PAIRS.get(encoding);
  if (pairs !== undefined) return average(words.flatMap((word) => pairWorths(word, pairs)));
  const languages = LANGUAGES.get(encoding) ?? [];
  return Math.max(
    ...languages.map((language) => average(texts.flatMap((text) => letterWorths(text, language)))),
  );
}

function average(worths: readonly number[]): number {
  return worths.length === 0 ? 0 : worths.reduce((sum, worth) => sum + worth, 0) / worths.length;
}

function pairWorths(word: Uint8Array, usual: UsualPair): number[] {
  const worths: number[] = [];
  const end = Math.min(word.length, WORD_BYTES);
  for (let at = 0; at < end; ) {
    const lead = word[at] ?? 0;
    if (lead < 0x80) {
      at += 1;
      continue;
    }
    const { length, worth } = usual(lead, word[at + 1] ?? 0);
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
function letterWorths(text: string, language: Language): number[] {
  const characters = [...text];
  return characters.flatMap((character, index) =>
    character < '\u0080'
      ? []
      : [worthOf(character, characters[index - 1] ?? ' ', characters[index + 1] ?? ' ', language)],
  );
}

function worthOf(character: string, before: string, after: string, language: Language): number {
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
