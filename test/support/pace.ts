/** How many times slower this machine is now than a quiet one; vitest.config.ts measures it when a run begins. */
export const SLOWNESS = Number(process.env['STOREFERRY_TEST_SLOWNESS'] ?? '1');

/**
 * How long to wait for something that takes far less than so many milliseconds on a quiet machine. It is reached where a
 * test fails only, so it is no bound on speed.
 */
export function patience(ms: number): number {
  return Math.round(ms * SLOWNESS);
}
