import { z } from 'zod';
import { defineTransform, textOrBlank, textStep } from './define-transform.ts';

/** `trim`: removes white space or other characters from both ends. */
export const trim = defineTransform({
  name: 'trim',
  word: {
    description: 'Removes white space from both ends; cells are trimmed anyway, parts of a split are too.',
    compile: () => textStep((text) => textOrBlank(text.trim())),
  },
  map: {
    shape: { trim: z.string().min(1).describe('Removes these characters from both ends.') },
    compile: ({ trim: characters }) => {
      const removed = new Set(characters);
      return textStep((text) => {
        const all = [...text];
        const from = all.findIndex((character) => !removed.has(character));
        const to = all.findLastIndex((character) => !removed.has(character));
        if (from < 0) return undefined;
        const kept = all.slice(from, to + 1).join('');
        return textOrBlank(kept.trim());
      });
    },
  },
  examples: [
    { cell: 'blue ; red', steps: '{ replace: ";.*$" }, trim', gives: 'blue' },
    { cell: '--Blue mug--', steps: '{ trim: "-" }', gives: 'Blue mug' },
  ],
});
