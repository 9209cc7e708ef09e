import { defineTransform, textStep } from './transform.ts';

const step = textStep((text) => text.toUpperCase());

/** `upper`: upper case. */
export const upper = defineTransform({
  name: 'upper',
  word: { description: 'Upper case.', compile: () => step },
  examples: [{ cell: 'a-17', steps: 'upper', gives: 'A-17' }],
});
