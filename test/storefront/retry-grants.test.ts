import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { abortListeners } from '../../src/storefront/abortable.ts';
import { INITIAL_RETRIES, retryBudget, retryGrants } from '../../src/storefront/retry-policy.ts';
import { fakeClock } from '../support/fake-clock.ts';

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
