import { z } from 'zod';
import { optional } from '../../model/json-object.ts';
import { withPlainLetters } from '../../model/operation.ts';
import { defineTransform, type Step, textStep } from './define-transform.ts';

/**
 * A URL handle: letters and digits of any script, in words joined by hyphens. Accents are removed from Latin letters
 * only: in other scripts marks are part of the letter.
 */
export function slugify(text: string, keep = '', lowerCase = true): string {
  const cased = lowerCase ? text.toLowerCase() : text;
  // Most names are plain ASCII, which needs no normalisation.
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

function withoutAccents(text: string) {
  const unaccented = text.normalize('NFD').replaceAll(ACCENTED, '$1').normalize('NFC');
  return withPlainLetters(unaccented).replaceAll(ACCENTED, '$1');
}

const ACCENTED = /([a-z])[\u0300-\u036f]+/gi;

/** If no characters remain for a handle, the value is blank. */
function slugStep(keep: string, lowerCase: boolean): Step {
  return textStep((text) => slugify(text, keep, lowerCase));
}

/** `slug`: makes a URL handle. */
export const slug = defineTransform({
  name: 'slug',
  word: {
    description: 'Makes a URL handle, in any script: lower case, hyphens, no accents on Latin letters.',
    compile: () => slugStep('', true),
  },
  map: {
    shape: {
      slug: z
        .strictObject({
          keep: optional(z.string().min(1), 'Characters to keep, such as `_.`.'),
          case: optional(z.enum(['lower', 'keep']), '`keep` leaves upper case as it is.'),
        })
        .describe('As `slug`, with options.'),
    },
    compile: ({ slug: { keep = '', case: letterCase = 'lower' } }) => slugStep(keep, letterCase === 'lower'),
  },
  examples: [
    { cell: 'Café Crème, 2 l', steps: 'slug', gives: 'cafe-creme-2-l' },
    { cell: 'SKU_17.B', steps: '{ slug: { keep: "_.", case: keep } }', gives: 'SKU_17.B' },
  ],
});
