import { defineTransform, textStep } from './define-transform.ts';

/** `lower`: lower case. */
export const lower = defineTransform({
  name: 'lower',
  word: { description: 'Lower case.', compile: () => textStep((text) => text.toLowerCase()) },
  examples: [{ cell: 'Blue MUG', steps: 'lower', gives: 'blue mug' }],
});
