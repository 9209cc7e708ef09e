import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tokenBucket } from '../../src/storefront/gate/rate-limit.ts';

/** Sends as often as allowed; `late` are the milliseconds by which each wake-up is late. */
function times(rate: number, count: number, late: () => number): number[] {
  const bucket = tokenBucket(rate);
  const sent: number[] = [];
  for (let now = 0; sent.length < count; ) {
    const waitMs = bucket.waitMs(now);
    if (waitMs > 0) now += waitMs + late();
    else {
      bucket.take(now);
      sent.push(now);
    }
  }
  return sent;
}

describe('the token bucket', () => {
  it('never lets more than its rate through in a second, but for what 20 ms hold', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.array(fc.integer({ min: 0, max: 60 }), { minLength: 1 }),
        (rate, lateness) => {
          let index = 0;
          const sent = times(rate, rate * 3, () => lateness[index++ % lateness.length] ?? 0);
          for (const [first, at] of sent.entries()) {
            const inSecond = sent.slice(first).filter((other) => other < at + 1_000).length;
            expect(inSecond).toBeLessThanOrEqual(rate + Math.ceil(rate * 0.02) + 1);
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it('keeps its rate although timers are late', () => {
    const sent = times(50, 500, () => 3);
    expect(500 / ((sent.at(-1) ?? 0) / 1_000)).toBeGreaterThan(49);
  });

  it('holds nothing back without a rate, and follows a new one', () => {
    const bucket = tokenBucket();
    bucket.take(0);
    expect(bucket.waitMs(0)).toBe(0);
    bucket.rate = 10;
    bucket.take(1_000);
    expect(bucket.waitMs(1_000)).toBeCloseTo(80);
  });
});
