import { z } from 'zod';
import { compilePattern } from './compile-pattern.ts';
import { defineTransform, textOrBlank, textStep } from './define-transform.ts';

/** `extract`: keeps the match of a pattern. */
export const extract = defineTransform({
  name: 'extract',
  map: {
    shape: {
      extract: z
        .string()
        .min(1)
        .describe('A pattern (RE2 syntax); gives its first group, or the whole match. No match: blank.'),
    },
    compile: ({ extract: written }, { complain, patternLength }) => {
      const pattern = compilePattern(written, patternLength, (message) => complain(['extract'], message));
      return textStep((text) => {
        const matcher = pattern?.matcher(text);
        if (matcher?.find() !== true) return undefined;
        return textOrBlank((matcher.group(matcher.groupCount() > 0 ? 1 : 0) ?? '').trim());
      });
    },
  },
  examples: [
    { cell: '250 ML bottle', steps: '{ extract: "([0-9]+) ML" }', gives: '250' },
    { cell: 'bottle', steps: '{ extract: "([0-9]+) ML" }', gives: undefined },
  ],
});
