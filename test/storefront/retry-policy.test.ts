import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { INITIAL_RETRIES, retryBudget, retryGrants } from '../../src/storefront/gate/breaker.ts';
import { processingTime, RETRY_POLICY, retryDelayMs } from '../../src/storefront/sender.ts';
import { abortListeners } from '../../src/storefront/wait-queue.ts';
import { fakeClock } from '../support/fake-clock.ts';
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

describe('how long a store may be at work on a request whose answer was lost', () => {
  it('is the longest where no answer is known, and a second where its answers are quick', () => {
    const work = processingTime();
    expect(work.longestMs).toBe(RETRY_POLICY.capMs);
    for (let answers = 0; answers < 100; answers++) work.addAnswer(20);
    expect(work.longestMs).toBe(1_000);
  });

  it('follows slow answers, and forgets a single one', () => {
    const work = processingTime();
    for (let answers = 0; answers < 50; answers++) work.addAnswer(800);
    expect(work.longestMs).toBe(3_200);
    work.addAnswer(60_000);
    for (let answers = 0; answers < 100; answers++) work.addAnswer(800);
    expect(work.longestMs).toBeLessThan(3_300);
  });

  it('never exceeds what any retry waits', () => {
    const work = processingTime();
    work.addAnswer(100_000);
    expect(work.longestMs).toBe(RETRY_POLICY.capMs);
  });
});

function setup() {
  const clock = fakeClock();
  const grants = retryGrants(clock, abortListeners());
  const { signal } = new AbortController();
  let granted = 0;
  const ask = (count: number) => {
    for (let asked = 0; asked < count; asked++) void grants.grant(signal).then(() => granted++);
  };
  return { clock, grants, ask, granted: () => granted };
}

describe('the retry budget', () => {
  it('never gives more than 100, a tenth of the first attempts, and one a second', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(fc.constant('earn' as const), fc.constant('spend' as const), fc.nat({ max: 3_000 })),
        ),
        (steps) => {
          const budget = retryBudget();
          let now = 0;
          let earned = 0;
          let spent = 0;
          for (const step of steps) {
            if (typeof step === 'number') now += step;
            else if (step === 'earn') {
              budget.earn();
              earned++;
            } else if (budget.waitMs(now) === 0) {
              budget.spend(now);
              spent++;
            }
          }
          return spent <= INITIAL_RETRIES + earned / 10 + now / 1_000 + 1;
        },
      ),
    );
  });

  it('lets a hundred go at once, then one a second', async () => {
    const { clock, grants, ask, granted } = setup();
    ask(150);
    await clock.advance(0);
    expect(granted()).toBe(101);
    await clock.advance(10_000);
    expect(granted()).toBe(111);
    expect(grants.waiting).toBe(39);
  });

  it('gives what first attempts have earned to retries that wait', async () => {
    const { clock, grants, ask, granted } = setup();
    ask(110);
    await clock.advance(0);
    for (let attempt = 0; attempt < 51; attempt++) grants.earn();
    await clock.advance(0);
    expect(granted()).toBe(101 + 5);
  });

  it('rejects a retry whose signal aborts', async () => {
    const { clock, grants, ask } = setup();
    ask(101);
    const controller = new AbortController();
    const waiting = grants.grant(controller.signal);
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(grants.grant(controller.signal)).rejects.toThrow('enough');
    expect(grants.waiting).toBe(0);
    await clock.advance(0);
  });
});
