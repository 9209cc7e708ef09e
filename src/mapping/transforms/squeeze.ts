import { defineTransform, textOrBlank, textStep } from './transform.ts';

const step = textStep((text) => textOrBlank(text.replaceAll(/\s+/g, ' ').trim()));

/** `squeeze`: one space for each run of white space. */
export const squeeze = defineTransform({
  name: 'squeeze',
  word: {
    description: 'Turns every run of white space, line breaks included, into one space.',
    compile: () => step,
  },
  examples: [{ cell: 'Blue   mug', steps: 'squeeze', gives: 'Blue mug' }],
});
