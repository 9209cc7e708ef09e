import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RETRY_POLICY, retryDelayMs } from '../../src/storefront/retry-policy.ts';
import { seededRandom } from '../support/store/random.ts';

describe('the delay before a retry', () => {
  it('lies between nothing and a ceiling that doubles from half a second to thirty', () => {
    const ceilings = Array.from({ length: RETRY_POLICY.retries }, (_, index) =>
      Math.round(retryDelayMs({ retry: index + 1, random: 1 - Number.EPSILON })),
    );
    expect(ceilings).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(retryDelayMs({ retry: 5, random: 0 })).toBe(0);
  });

  it('is half its ceiling in the mean', () => {
    const random = seededRandom(3);
    const delays = Array.from({ length: 10_000 }, () => retryDelayMs({ retry: 4, random: random() }));
    const mean = delays.reduce((sum, delay) => sum + delay, 0) / delays.length;
    expect(mean).toBeGreaterThan(1_940);
    expect(mean).toBeLessThan(2_060);
  });

  it('is never shorter than what the store asked for or may still be at work, nor longer by more than the cap', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.integer({ min: 0, max: 900_000 }),
        fc.integer({ min: 0, max: 30_000 }),
        (retry, random, retryAfterMs, atWorkMs) => {
          const delay = retryDelayMs({ retry, random, retryAfterMs, atWorkMs });
          const earliest = Math.max(retryAfterMs, atWorkMs);
          return delay >= earliest && delay <= earliest + RETRY_POLICY.capMs;
        },
      ),
    );
  });
});
