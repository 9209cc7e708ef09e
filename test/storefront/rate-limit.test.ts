import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { learnedRate, tokenBucket } from '../../src/storefront/gate/rate-limit.ts';

/** A second of requests, evenly spaced, that the store takes. */
function accept(
  allowed: ReturnType<typeof learnedRate>,
  perSecond: number,
  seconds: number,
  from = 0,
): number {
  for (let request = 0; request < perSecond * seconds; request++)
    allowed.accepted(from + (request * 1_000) / perSecond);
  return from + seconds * 1_000;
}

const explicit = (at: number) => ({ sentAt: at, endedAt: at, explicit: true });
const implicit = (at: number) => ({ sentAt: at, endedAt: at, explicit: false });

describe('the learned rate', () => {
  it('is no limit until the store says that it is too much', () => {
    const allowed = learnedRate();
    accept(allowed, 100, 5);
    expect(allowed.rate).toBe(Number.POSITIVE_INFINITY);
  });

  it('falls to a little less than what the store took in the last second', () => {
    const allowed = learnedRate();
    const now = accept(allowed, 40, 3);
    allowed.refused(explicit(now));
    expect(allowed.rate).toBeGreaterThan(36);
    expect(allowed.rate).toBeLessThan(40);
  });

  it('treats the rate of a burst as a guess, and soon tries more', () => {
    const growth = (isClumped: boolean) => {
      const allowed = learnedRate();
      for (let request = 0; request < 12; request++) {
        allowed.accepted(isClumped ? Math.floor(request / 4) * 1_000 : request * 250);
      }
      allowed.refused(explicit(isClumped ? 2_010 : 3_000));
      const first = allowed.rate;
      accept(allowed, 4, 2, 3_600);
      return allowed.rate / first;
    };
    expect(growth(false)).toBe(1);
    expect(growth(true)).toBeGreaterThan(1.2);
  });

  it('does not take a second in which it was held up for all that the store takes', () => {
    const allowed = learnedRate();
    let now = accept(allowed, 40, 3);
    allowed.refused(explicit(now));
    now = accept(allowed, 38, 3, now);
    now = accept(allowed, 5, 1, now);
    allowed.refused(explicit(now));
    expect(allowed.rate).toBeGreaterThan(32);
  });

  it('follows a store down that takes less and less, however much it took before', () => {
    const allowed = learnedRate();
    let now = accept(allowed, 100, 3);
    for (let second = 0; second < 5; second++) {
      for (let refusal = 0; refusal < 6; refusal++) allowed.refused(explicit(now + 100 * refusal));
      now = accept(allowed, 5, 1, now);
    }
    expect(allowed.rate).toBeLessThan(10);
  });

  it('counts push-backs once that were sent before it fell', () => {
    const allowed = learnedRate();
    const now = accept(allowed, 40, 3);
    allowed.refused(explicit(now));
    const { rate } = allowed;
    for (let late = 0; late < 20; late++)
      allowed.refused({ sentAt: now - 1, endedAt: now + late, explicit: true });
    expect(allowed.rate).toBe(rate);
  });

  it('falls faster when push-backs keep coming', () => {
    const allowed = learnedRate();
    const now = accept(allowed, 1_000, 1);
    for (let refusal = 0; refusal < 40; refusal++) allowed.refused(explicit(now + 2 * refusal));
    expect(allowed.rate).toBeLessThan(30);
  });

  it('rests, then grows faster and faster while it is used', () => {
    const allowed = learnedRate();
    let now = accept(allowed, 40, 3);
    allowed.refused(explicit(now));
    const first = allowed.rate;
    now = accept(allowed, 40, 2, now);
    expect(allowed.rate).toBe(first);
    accept(allowed, 40, 3, now);
    const grown = allowed.rate / first;
    expect(grown).toBeGreaterThan(1.05);
    expect(grown).toBeLessThan(1.25);
  });

  it('does not grow while it is not used', () => {
    const allowed = learnedRate();
    const now = accept(allowed, 40, 3);
    allowed.refused(explicit(now));
    const { rate } = allowed;
    accept(allowed, 5, 30, now);
    expect(allowed.rate).toBe(rate);
  });

  it('takes a 503 now and then for an accident, and many for a limit', () => {
    const allowed = learnedRate();
    let now = accept(allowed, 100, 1);
    allowed.refused(implicit(now));
    now = accept(allowed, 100, 1, now);
    expect(allowed.rate).toBe(Number.POSITIVE_INFINITY);
    const flooded = learnedRate();
    for (let answer = 0; answer < 6; answer++) {
      if (answer % 2 === 0) flooded.accepted(answer * 10);
      else flooded.refused(implicit(answer * 10));
    }
    expect(flooded.rate).toBeLessThan(Number.POSITIVE_INFINITY);
  });

  it('never stands still', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), fc.boolean(), fc.nat({ max: 5_000 }))), (answers) => {
        const allowed = learnedRate();
        let now = 0;
        for (const [isRefused, isExplicit, ms] of answers) {
          now += ms;
          if (isRefused) allowed.refused({ sentAt: now, endedAt: now, explicit: isExplicit });
          else allowed.accepted(now);
          expect(allowed.rate).toBeGreaterThanOrEqual(0.5);
        }
      }),
    );
  });
});

describe('a store that refuses the first request, because others send to it as well', () => {
  it.each([
    ['a limit in stores.yaml', 5, 3.5],
    ['no limit', undefined, 2],
  ])('is sent to at a rate that can be found from: %s', (_, ceiling, rate) => {
    const allowed = learnedRate(ceiling);
    allowed.refused({ sentAt: 0, endedAt: 20, explicit: true });
    expect(allowed.rate).toBe(rate);
    // More refusals still reduce it to the lowest.
    for (let now = 1_000; now < 60_000; now += 1_000)
      allowed.refused({ sentAt: now, endedAt: now + 20, explicit: true });
    expect(allowed.rate).toBe(0.5);
  });
});

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
  it('never exceeds its rate in a second by more than 20 ms hold', () => {
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
