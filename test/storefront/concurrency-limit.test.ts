import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  cautiousCeiling,
  concurrencyGain,
  concurrencyLimit,
  createCauseTracker,
  type Pressure,
} from '../../src/storefront/gate/concurrency-limit.ts';

/** Round trips with all that is allowed in flight, each answered after `ms(limit)`. */
function rounds(
  limit: ReturnType<typeof concurrencyLimit>,
  count: number,
  ms: (limit: number) => number,
  from = 0,
) {
  let now = from;
  for (let round = 0; round < count; round++) {
    const sentAt = now;
    const open = limit.current;
    limit.sent(open);
    now += ms(open);
    for (let answer = 0; answer < open; answer++) limit.ended({ sentAt, endedAt: now, pressure: 'none' });
  }
  return now;
}

describe('the concurrency limit', () => {
  it('starts at one and grows by one each round trip while answers are quick', () => {
    const limit = concurrencyLimit(64);
    expect(limit.current).toBe(1);
    rounds(limit, 10, () => 50);
    expect(limit.current).toBe(11);
    expect(limit.because).toBe('answers are quick');
  });

  it('begins with several where only pages are read, and doubles them while answers are quick', () => {
    const limit = concurrencyLimit(64);
    limit.startAt(8);
    expect(limit.current).toBe(8);
    const now = rounds(limit, 2, () => 50);
    expect(limit.current).toBe(32);
    rounds(limit, 2, () => 50, now);
    expect(limit.current).toBe(34);
  });

  it('begins with several only while nothing is known, and never above the ceiling', () => {
    const known = concurrencyLimit(64);
    rounds(known, 2, () => 50);
    known.startAt(16);
    expect(known.current).toBe(3);
    const low = concurrencyLimit(4);
    low.startAt(16);
    expect(low.current).toBe(4);
  });

  it('doubles no more once the store pushes back', () => {
    const limit = concurrencyLimit(64);
    limit.startAt(8);
    limit.ended({ sentAt: 0, endedAt: 50, pressure: 'too-many' });
    expect(limit.current).toBe(7);
    rounds(limit, 1, () => 50, 20_000);
    expect(limit.current).toBeLessThanOrEqual(8);
  });

  it('stops at the ceiling', () => {
    const limit = concurrencyLimit(4);
    rounds(limit, 20, () => 50);
    expect(limit).toMatchObject({ current: 4, because: 'the ceiling' });
  });

  it('does not grow while it is not used', () => {
    const limit = concurrencyLimit(64);
    for (let now = 0; now < 1_000; now += 50)
      limit.ended({ sentAt: now, endedAt: now + 50, pressure: 'none' });
    expect(limit.current).toBe(1);
  });

  it('takes a tenth off for a push-back, once for all requests that were already under way', () => {
    const limit = concurrencyLimit(64);
    const now = rounds(limit, 19, () => 50);
    expect(limit.current).toBe(20);
    for (let answer = 0; answer < 20; answer++) {
      limit.ended({ sentAt: now, endedAt: now + 1 + answer, pressure: 'too-many' });
    }
    expect(limit).toMatchObject({ current: 18, because: 'the store said too many requests' });
    limit.ended({ sentAt: now + 30, endedAt: now + 31, pressure: 'too-many' });
    expect(limit.current).toBe(16);
  });

  it('takes a tenth off when answers become slow', () => {
    const limit = concurrencyLimit(64);
    const now = rounds(limit, 19, () => 50);
    rounds(limit, 2, () => 200, now);
    expect(limit).toMatchObject({ current: 18, because: 'answers became slow' });
  });

  it('does not take one failure among many answers for load, and two for load', () => {
    const limit = concurrencyLimit(64);
    const now = rounds(limit, 19, () => 50);
    limit.ended({ sentAt: now, endedAt: now + 1, pressure: 'failure' });
    expect(limit.current).toBe(20);
    limit.ended({ sentAt: now, endedAt: now + 2, pressure: 'failure' });
    expect(limit).toMatchObject({ current: 18, because: 'the store failed' });
  });

  it('does not follow a queue up: twice as many at once must bring more answers', () => {
    const limit = concurrencyLimit(64);
    rounds(limit, 400, (open) => 20 * Math.max(1, open / 5));
    expect(limit.current).toBeGreaterThanOrEqual(5);
    expect(limit.current).toBeLessThanOrEqual(16);
  });

  it('stays between one and the ceiling whatever happens', () => {
    const pressure = fc.constantFrom<Pressure>('none', 'too-many', 'failure');
    const attempt = fc.tuple(pressure, fc.nat({ max: 100_000 }), fc.nat({ max: 10_000 }));
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.array(attempt, { maxLength: 300 }),
        (ceiling, attempts) => {
          const limit = concurrencyLimit(ceiling);
          let now = 0;
          for (const [how, tookMs, pauseMs] of attempts) {
            limit.sent(limit.current);
            now += pauseMs;
            limit.ended({ sentAt: now - tookMs, endedAt: now, pressure: how });
            expect(limit.current).toBeGreaterThanOrEqual(1);
            expect(limit.current).toBeLessThanOrEqual(ceiling);
            expect(Number.isInteger(limit.current)).toBe(true);
          }
        },
      ),
    );
  });

  it('starts again from one after an outage', () => {
    const limit = concurrencyLimit(64);
    rounds(limit, 10, () => 50);
    limit.restart('starting again');
    expect(limit).toMatchObject({ current: 1, because: 'starting again' });
  });
});

describe('the memory of what was too much at once', () => {
  /** Seconds of ten answers each until one more is allowed than `limit`. */
  function quietSeconds(ceiling: ReturnType<typeof cautiousCeiling>, limit: number, from: number): number {
    for (let second = 1; second < 100; second++) {
      for (let answer = 0; answer < 10; answer++) ceiling.answered();
      if (ceiling.allowsMoreThan(limit, from + second * 1_000)) return second;
    }
    throw new Error('never allowed');
  }

  it('holds below it, tries again after a quiet time, and waits twice as long when that fails', () => {
    const ceiling = cautiousCeiling();
    ceiling.exceeded(6, 0);
    expect(ceiling.allowsMoreThan(4, 0)).toBe(true);
    expect(quietSeconds(ceiling, 5, 0)).toBe(2);
    ceiling.exceeded(6, 10_000);
    expect(quietSeconds(ceiling, 5, 10_000)).toBe(4);
    ceiling.exceeded(6, 20_000);
    expect(quietSeconds(ceiling, 5, 20_000)).toBe(8);
  });

  it('does not take a time without answers for a quiet one', () => {
    const ceiling = cautiousCeiling();
    ceiling.exceeded(6, 0);
    expect(ceiling.allowsMoreThan(5, 3_600_000)).toBe(false);
  });

  it('forgets once more than that was quiet for as long', () => {
    const ceiling = cautiousCeiling();
    ceiling.exceeded(6, 0);
    expect(quietSeconds(ceiling, 5, 0)).toBe(2);
    expect(ceiling.allowsMoreThan(6, 2_000)).toBe(false);
    expect(quietSeconds(ceiling, 6, 2_000)).toBe(2);
    expect(ceiling.allowsMoreThan(60, 4_000)).toBe(true);
  });
});

describe('the gain of more requests at once', () => {
  it.each([
    ['is worth it while answers take as long as before', 50, 'worth it'],
    ['is little where they take nearly twice as long', 95, 'little'],
    ['is less than none where they take more than twice as long', 110, 'less'],
  ])('%s', (_, ms, gain) => {
    const memory = concurrencyGain();
    memory.judge(5, 50);
    expect(memory.judge(10, ms)).toBe(gain);
  });

  it('is not known for limits not seen, nor for the smallest', () => {
    const memory = concurrencyGain();
    expect(memory.judge(10, 50)).toBe('unknown');
    memory.judge(2, 50);
    expect(memory.judge(4, 500)).toBe('unknown');
  });
});

const first = {
  sentAt: 0,
  endedAt: 5,
  limit: 6,
  averageMs: 5,
  atLimit: true,
  wasRateLimited: false,
  hasRate: false,
};
const atOnce = { tooManyAtOnce: true, tooManyASecond: false };
const aSecond = { tooManyAtOnce: false, tooManyASecond: true };

describe('the cause of a push-back', () => {
  it('is supposed to be too many at once', () => {
    expect(createCauseTracker()(first)).toEqual(atOnce);
  });

  it('is too many a second when it was the only request', () => {
    expect(createCauseTracker()({ ...first, limit: 1 })).toEqual(aSecond);
  });

  it('is too many a second when fewer at once are pushed back as well', () => {
    const causeOf = createCauseTracker();
    causeOf(first);
    expect(causeOf({ ...first, sentAt: 10, endedAt: 15, limit: 5 })).toEqual(aSecond);
  });

  it('is too many a second when it comes again within a few round trips, however slow those are', () => {
    const again = { ...first, averageMs: 500, sentAt: 2_000, endedAt: 2_500, limit: 5 };
    const soon = createCauseTracker();
    soon(first);
    expect(soon(again)).toEqual(aSecond);
    const late = createCauseTracker();
    late(first);
    expect(late({ ...again, averageMs: 5 })).toEqual(atOnce);
  });

  it('is too many a second when it happens time and again', () => {
    const causeOf = createCauseTracker();
    const causes = [0, 10_000, 20_000].map((at) => causeOf({ ...first, sentAt: at, endedAt: at + 5 }));
    expect(causes).toEqual([atOnce, atOnce, aSecond]);
  });

  it('is known already when the request was sent before the limit was cut', () => {
    const causeOf = createCauseTracker();
    causeOf(first);
    expect(causeOf({ ...first, sentAt: 3, endedAt: 8 })).toEqual({
      tooManyAtOnce: false,
      tooManyASecond: false,
    });
  });

  it.each([
    ['the limit was used up', { atLimit: true, wasRateLimited: false }, atOnce],
    ['the rate was used up', { atLimit: false, wasRateLimited: true }, aSecond],
    ['neither was', { atLimit: false, wasRateLimited: false }, aSecond],
    ['both were', { atLimit: true, wasRateLimited: true }, { tooManyAtOnce: true, tooManyASecond: true }],
  ])('is what was used up once there is a rate: %s', (_, used, cause) => {
    expect(createCauseTracker()({ ...first, ...used, hasRate: true })).toEqual(cause);
  });
});
