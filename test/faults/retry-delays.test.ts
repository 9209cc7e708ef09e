import { expect, it } from 'vitest';
import { RETRY_POLICY } from '../../src/storefront/sender.ts';
import { type VirtualAnswer, virtualStore } from '../storefront/virtual-store.ts';
import { figure } from '../support/figure.ts';
import { atLeast, atMost, none } from '../support/measure.ts';
import { seedOf } from '../support/seed.ts';

const OPERATIONS = 300;
const ANSWER_MS = 20;
const ok: VirtualAnswer = { afterMs: ANSWER_MS, status: 200 };

function ceilingOf(retry: number): number {
  return Math.min(RETRY_POLICY.capMs, RETRY_POLICY.baseMs * 2 ** (retry - 1));
}

it('waits before each retry half its ceiling in the mean and never more than it', async (context) => {
  const seed = seedOf(context);
  const ratios: number[][] = Array.from({ length: RETRY_POLICY.retries }, () => []);
  let failures = 0;
  for (let operation = 0; operation < OPERATIONS; operation++) {
    // A store for each: budget, breaker and limiter know nothing yet, and the delay alone decides when a retry goes.
    const { clock, sender, requests } = virtualStore({
      seed: seed + operation,
      answer: ({ number }) => (number > RETRY_POLICY.retries ? ok : { afterMs: ANSWER_MS, status: 503 }),
    });
    const { signal } = new AbortController();
    await clock.runUntil(sender.send({ method: 'POST', path: '/', body: '{}' }, { signal }));
    for (const [index, { at }] of requests.entries()) {
      const before = requests[index - 1];
      if (before === undefined) continue;
      failures++;
      ratios[index - 1]?.push((at - before.at - ANSWER_MS) / ceilingOf(index));
    }
  }
  const all = ratios.flat();
  const means = ratios.map((of) => of.reduce((sum, ratio) => sum + ratio, 0) / of.length);
  figure(context, {
    invariant: 14,
    seed,
    fired: { 503: failures },
    measured: [
      atMost(0.62, 'mean delay of any retry, of its ceiling', Math.max(...means)),
      atLeast(0.38, 'mean delay of any retry, of its ceiling', Math.min(...means)),
      atMost(1, 'longest delay, of its ceiling', Math.max(...all)),
    ],
  });
  expect(all).toHaveLength(OPERATIONS * RETRY_POLICY.retries);
});

it('sends nothing before the time that the store asks for, be it seconds, a date, nonsense or a year', async (context) => {
  const seed = seedOf(context);
  const asks: readonly (readonly [name: string, header: string, ms: number])[] = [
    ['seconds', '40', 40_000],
    ['a date', new Date(Date.UTC(2024, 0, 1, 0, 1)).toUTCString(), 58_000],
    ['a year', String(365 * 86_400), 15 * 60_000],
    ['nonsense', 'soon', 0],
    ['a date gone by', 'Sun, 06 Nov 1994 08:49:37 GMT', 0],
  ];
  const fired: Record<string, number> = {};
  let early = 0;
  let longestMs = 0;
  for (const [name, retryAfter, ms] of asks) {
    for (const status of [429, 503]) {
      const virtual = virtualStore({
        seed,
        concurrency: 16,
        answer: ({ number }) => (number === 30 ? { afterMs: 1, status, retryAfter } : ok),
      });
      const { signal } = new AbortController();
      const operations = Array.from({ length: 100 }, (_, index) =>
        virtual.sender.send({ method: 'POST', path: `/${index}`, body: '{}' }, { signal }),
      );
      await virtual.clock.runUntil(Promise.all(operations));
      const from = (virtual.requests.find((request) => request.status === status)?.at ?? 0) + 1;
      early += virtual.requests.filter(({ at }) => at > from && at < from + ms).length;
      const next = virtual.requests.find(({ at }) => at > from)?.at ?? Number.POSITIVE_INFINITY;
      longestMs = Math.max(longestMs, next - from);
      fired[`${status}, Retry-After: ${name}`] = 1;
    }
  }
  figure(context, {
    invariant: 14,
    seed,
    fired,
    measured: [
      none('early sends', early),
      atMost(15 * 60 + RETRY_POLICY.capMs / 1_000, 'longest wait for a year, in seconds', longestMs / 1_000),
    ],
  });
});
