import { expect, it } from 'vitest';
import { explainError, UsageError } from '../../src/model/storeferry-error.ts';

it.each([
  ['There is none', 'Make one.', 'There is none. Make one.'],
  ['There is none.', 'Make one.', 'There is none. Make one.'],
  ['Is there one?', 'Make one.', 'Is there one? Make one.'],
  ['There is none', undefined, 'There is none'],
])('an error says what is wrong and what to do as two sentences: %s', (message, hint, text) => {
  expect(explainError(new UsageError(message, { hint }))).toBe(text);
});
