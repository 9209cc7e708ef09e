import { defineTransform, textOrBlank, textStep } from './define-transform.ts';

/** `squeeze`: replaces each run of white space with one space. */
export const squeeze = defineTransform({
  name: 'squeeze',
  word: {
    description: 'Turns every run of white space, line breaks included, into one space.',
    compile: () => textStep((text) => textOrBlank(text.replaceAll(/\s+/g, ' ').trim())),
  },
  examples: [{ cell: 'Blue   mug', steps: 'squeeze', gives: 'Blue mug' }],
});
