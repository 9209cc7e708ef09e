import type { TestContext } from 'vitest';

/**
 * The seed of a test: `STOREFERRY_SEED` to see a failure again, else another one each time. It is printed when the
 * test fails, wherever that happens.
 */
export function seedOf(context: Pick<TestContext, 'onTestFailed'>): number {
  const { STOREFERRY_SEED: given } = process.env;
  const seed = given === undefined || given === '' ? Math.floor(Math.random() * 1_000_000) : Number(given);
  if (!Number.isSafeInteger(seed)) throw new Error(`STOREFERRY_SEED is no whole number: ${given}`);
  context.onTestFailed(() => console.log(`seed ${seed}: repeat with STOREFERRY_SEED=${seed}`));
  return seed;
}
