import { z } from 'zod';
import { optional } from '../../model/json-object.ts';
import { compilePattern, rememberingLast } from './compile-pattern.ts';
import { defineTransform, textOrBlank, textStep } from './define-transform.ts';

/** `replace`: replaces each match of a pattern. */
export const replace = defineTransform({
  name: 'replace',
  map: {
    shape: {
      replace: z.string().min(1).describe('A pattern (RE2 syntax); every match becomes the text of `with`.'),
      with: optional(z.string(), 'With `replace`: the new text; `$1` is the first group. Default: nothing.'),
    },
    compile: ({ replace: written, with: by = '' }, { complain, argument, patternLength }) => {
      const pattern = compilePattern(written, patternLength, (message) => complain(['replace'], message));
      const text = argument(['with'], by);
      const replaced = (cell: string) => textOrBlank(pattern?.matcher(cell).replaceAll(text).trim() ?? cell);
      return textStep(rememberingLast(replaced));
    },
  },
  examples: [
    { cell: 'photo.jpg?v=17', steps: '{ replace: "[?].*$" }', gives: 'photo.jpg' },
    { cell: 'Mug, blue', steps: '{ replace: "^(.*), (.*)$", with: "$2 $1" }', gives: 'blue Mug' },
  ],
});
