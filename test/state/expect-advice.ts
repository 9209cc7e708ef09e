import { inspect } from 'node:util';
import { expect } from 'vitest';
import { StateError } from '../../src/model/storeferry-error.ts';

/** A StateError with the advice, in which no password stands, not even in its causes. */
export async function expectAdvice(
  refused: Promise<unknown>,
  message: RegExp,
  advice: string,
): Promise<void> {
  const error: unknown = await refused.then(() => undefined).catch((error: unknown) => error);
  if (!(error instanceof StateError)) throw new Error(`expected a StateError, found ${error}`);
  expect(error.message).toMatch(message);
  expect(error.hint).toContain(advice);
  expect(inspect(error, { depth: 10, showHidden: true })).not.toContain('geheim');
}
