import { defineTransform, textStep } from './define-transform.ts';

/** `upper`: upper case. */
export const upper = defineTransform({
  name: 'upper',
  word: { description: 'Upper case.', compile: () => textStep((text) => text.toUpperCase()) },
  examples: [{ cell: 'a-17', steps: 'upper', gives: 'A-17' }],
});
