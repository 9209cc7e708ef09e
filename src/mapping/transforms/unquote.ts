import { defineTransform, textOrBlank, textStep } from './define-transform.ts';

/** `unquote`: removes an apostrophe and quotes around a text. */
export const unquote = defineTransform({
  name: 'unquote',
  word: {
    description: "Removes a leading apostrophe ('30235) and one pair of quotes around the text.",
    compile: () =>
      textStep((text) => {
        const formula = text.startsWith('="') && text.endsWith('"') ? text.slice(1) : text;
        const bare = formula.startsWith("'") ? formula.slice(1) : formula;
        const quoted = bare.length > 1 && bare.startsWith('"') && bare.endsWith('"');
        return textOrBlank((quoted ? bare.slice(1, -1) : bare).trim());
      }),
  },
  examples: [{ cell: "'0042", steps: 'unquote', gives: '0042' }],
});
