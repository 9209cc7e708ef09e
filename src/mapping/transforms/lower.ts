import { defineTransform, textStep } from './transform.ts';

const step = textStep((text) => text.toLowerCase());

/** `lower`: lower case. */
export const lower = defineTransform({
  name: 'lower',
  word: { description: 'Lower case.', compile: () => step },
  examples: [{ cell: 'Blue MUG', steps: 'lower', gives: 'blue mug' }],
});
