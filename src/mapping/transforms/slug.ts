import { textOrBlank } from './text.ts';
import { type Step, textStep } from './transform.ts';

/** Latin letters that do not come apart into a letter and an accent. */
const LATIN: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ħ: 'h',
  ı: 'i',
};

/**
 * A URL handle: letters and digits of any script, in words joined by hyphens. Accents are taken off Latin letters
 * only: elsewhere marks are part of the letter.
 */
export function slugify(text: string, keep = '', lowerCase = true): string {
  const cased = lowerCase ? text.toLowerCase() : text;
  // The usual name is plain ASCII, which has nothing to normalise.
  const plain = /^[\x20-\x7e]*$/.test(cased) ? cased : withoutAccents(cased);
  let slug = '';
  let gap = false;
  for (const character of plain) {
    if (keep.includes(character) || /[\p{L}\p{N}\p{M}]/u.test(character)) {
      slug += gap && slug !== '' ? `-${character}` : character;
      gap = false;
    } else if (character !== "'" && character !== '’') {
      gap = true;
    }
  }
  return slug;
}

function withoutAccents(text: string): string {
  return text
    .normalize('NFD')
    .replaceAll(/([a-z])[\u0300-\u036f]+/gi, '$1')
    .normalize('NFC')
    .replaceAll(/[ßæœøđðþłħı]/g, (letter) => LATIN[letter] ?? letter);
}

/** The transform: nothing left to make a handle of is a blank. */
export function slug(options: { readonly keep?: string; readonly case?: 'lower' | 'keep' }): Step {
  const { keep = '', case: letterCase = 'lower' } = options;
  return textStep((text) => textOrBlank(slugify(text, keep, letterCase === 'lower')));
}
