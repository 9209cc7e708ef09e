import { isUtf8 } from 'node:buffer';
import { LEGACY_ENCODINGS } from './encodings.ts';

/** Bytes around one that is not ASCII: enough to see the word it stands in. */
const CONTEXT = 24;
const MOST_CONTEXTS = 200;

/**
 * The legacy encodings that fit the bytes, likeliest first. Judged simply, by how the characters that are not ASCII
 * sit in their words: it is advice for a person, never a decision.
 */
export function rankEncodings(bytes: Uint8Array): string[] {
  const contexts = contextsOf(bytes);
  const ranked = LEGACY_ENCODINGS.map((encoding, order) => ({
    encoding,
    order,
    score: score(encoding, contexts),
  }));
  return ranked
    .filter(({ score: value }) => value > Number.NEGATIVE_INFINITY)
    .sort((a, b) => b.score - a.score || a.order - b.order)
    .map(({ encoding }) => encoding);
}

/** Pieces of text that hold the bytes that are not ASCII, cut at ASCII characters that begin no other character. */
function contextsOf(bytes: Uint8Array): Uint8Array[] {
  const contexts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length && contexts.length < MOST_CONTEXTS; at += 1) {
    if ((bytes[at] ?? 0) < 0x80) continue;
    let start = at;
    while (start > 0 && at - start < CONTEXT && !separates(bytes[start - 1])) start -= 1;
    let end = at;
    while (
      end < bytes.length &&
      (end - at < CONTEXT * 4 || (bytes[end] ?? 0) >= 0x80) &&
      !separates(bytes[end])
    ) {
      end += 1;
    }
    // What is UTF-8 says nothing of the other encoding in a file that mixes two.
    const context = bytes.subarray(start, end);
    if (!isUtf8(context)) contexts.push(context);
    at = end;
  }
  return contexts;
}

/** Below 0x30 no byte is the second half of a character in any of the encodings. */
function separates(byte: number | undefined): boolean {
  return byte !== undefined && byte < 0x30;
}

function score(encoding: string, contexts: readonly Uint8Array[]): number {
  const decoder = new TextDecoder(encoding, { fatal: true });
  let sum = 0;
  let characters = 0;
  for (const context of contexts) {
    let text: string;
    try {
      text = decoder.decode(context);
    } catch {
      return Number.NEGATIVE_INFINITY;
    }
    const letters = [...text];
    for (const [index, character] of letters.entries()) {
      if (character < '\u0080') continue;
      characters += 1;
      sum += plausibility(character, letters[index - 1] ?? ' ', letters[index + 1] ?? ' ');
    }
  }
  return characters === 0 ? 0 : sum / characters;
}

const LETTER = /\p{L}/u;
const LOWER = /\p{Ll}/u;
const UPPER = /\p{Lu}/u;
const USUAL_SIGN = /[€£©®°–—‘’“”„…«»·¡¿ºª№×]/u;
const KANA_OR_HAN = /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}ー]/u;
const LATIN = /\p{Script=Latin}/u;
const SCRIPTS = [
  { letter: LATIN, kin: LATIN, worth: 1 },
  ...['Cyrillic', 'Greek', 'Hebrew', 'Arabic', 'Thai'].map((script) => {
    const letter = new RegExp(`\\p{Script=${script}}`, 'u');
    return { letter, kin: letter, worth: 1 };
  }),
  // Two bytes that happen to make a syllable or kana do so far more rarely than one byte makes a letter.
  { letter: /[\p{Script=Hiragana}\u30a0-\u30ff]/u, kin: KANA_OR_HAN, worth: 2 },
  { letter: /\p{Script=Hangul}/u, kin: /\p{Script=Hangul}/u, worth: 1.4 },
  { letter: /[\u4e00-\u9fff]/u, kin: KANA_OR_HAN, worth: 1.4 },
];

/** How well a character fits between its neighbours, from -3 (hardly text) to 2. */
function plausibility(character: string, before: string, after: string): number {
  if (USUAL_SIGN.test(character)) return 0.5;
  if (!LETTER.test(character)) return /[\p{Cc}\p{Co}\p{Cn}]/u.test(character) ? -3 : -1;
  const script = SCRIPTS.find(({ letter }) => letter.test(character));
  if (script === undefined) return -1;
  // A capital behind a small letter, or one letter of another script within a word, is a sign of misreading.
  if (UPPER.test(character) && LOWER.test(before)) return -1.5;
  if (LOWER.test(character) && UPPER.test(before) && UPPER.test(after)) return -1;
  const neighbours = [before, after].filter((neighbour) => LETTER.test(neighbour));
  if (neighbours.some((neighbour) => !script.kin.test(neighbour))) return -1;
  // Latin words are mostly ASCII: several other letters in a row are rather another alphabet, misread.
  if (script.letter === LATIN && neighbours.some((neighbour) => neighbour > '\u007f')) return -0.5;
  return neighbours.length === 0 ? script.worth / 4 : script.worth;
}
