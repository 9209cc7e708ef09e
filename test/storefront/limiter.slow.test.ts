import { describe, expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { atLeast, atMost } from '../support/measure.ts';
import { capacityGate } from '../support/store/capacity.ts';
import { seededRandom } from '../support/store/random.ts';
import { type VirtualAnswer, virtualStore } from './virtual-store.ts';

type Store = (arrived: { open: number; now: number }) => VirtualAnswer;

const SEED = 11;
const CONCURRENCIES = [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64];

/** What so many workers get done in a second of a store, each asking again at once. */
function fixed(store: Store, concurrency: number, seconds: number): number {
  let now = 0;
  let done = 0;
  let open = 0;
  const underWay: { at: number; status: number | null }[] = [];
  const ask = () => {
    const { afterMs, status } = store({ open: ++open, now });
    underWay.push({ at: now + afterMs, status });
  };
  for (let worker = 0; worker < concurrency; worker++) ask();
  for (;;) {
    underWay.sort((a, b) => b.at - a.at);
    const next = underWay.pop();
    if (next === undefined || next.at > seconds * 1_000) return done / seconds;
    now = next.at;
    open--;
    if (next.status === 200) done++;
    ask();
  }
}

/** What the limiter gets done in a second, seen from the second `from` on. */
async function adaptive(store: Store, seconds: number, from = 0) {
  const virtual = virtualStore({ answer: store, seed: SEED });
  const { signal } = new AbortController();
  let done = 0;
  let over = false;
  const worker = async () => {
    while (!over) {
      const sent = await virtual.sender.send({ method: 'POST', path: '/', body: '{}' }, { signal });
      if (sent.kind === 'ok' && virtual.clock.monotonic() >= from * 1_000) done++;
    }
  };
  for (let index = 0; index < 64; index++) void worker();
  await virtual.clock.advance(seconds * 1_000);
  over = true;
  const refused = virtual.requests.filter(({ status }) => status === 429).length;
  return {
    perSecond: done / (seconds - from),
    refusedShare: refused / virtual.requests.length,
    stats: virtual.gate.stats(),
  };
}

function withCapacity(capacity: Parameters<typeof capacityGate>[0], ms: number): () => Store {
  return () => {
    const capacityLimit = capacityGate(capacity);
    const random = seededRandom(SEED);
    return ({ open, now }) =>
      capacityLimit.admits(open, now)
        ? { afterMs: ms * (0.9 + 0.2 * random()), status: 200 }
        : { afterMs: 1, status: 429 };
  };
}

function withLatency(ms: (open: number) => number): () => Store {
  return () => {
    const random = seededRandom(SEED);
    return ({ open }) => ({ afterMs: ms(open) * (0.9 + 0.2 * random()), status: 200 });
  };
}

describe('the limiter, before a store that hides its limits', () => {
  it.for<[string, () => Store]>([
    ['five at once', withCapacity({ atOnce: 5 }, 20)],
    ['twenty requests a second', withCapacity({ perSecond: 20 }, 5)],
    ['latency that grows with load, and more than it', withLatency((open) => 50 + 0.5 * open ** 2)],
    ['latency that grows as a queue does', withLatency((open) => 20 * Math.max(1, open / 5))],
    ['no limit', withLatency(() => 50)],
  ])('does nine tenths of the best fixed concurrency: %s', async ([name, store], context) => {
    const best = Math.max(...CONCURRENCIES.map((concurrency) => fixed(store(), concurrency, 10)));
    const { perSecond, refusedShare, stats } = await adaptive(store(), 30);
    console.log(`${name}: best ${best.toFixed(0)}/s, limit ${stats.limit} (${stats.because})`);
    figure(context, {
      invariant: 16,
      seed: SEED,
      fired: { [`hidden limit: ${name}`]: 1 },
      measured: [
        atLeast(0.9, `of the best fixed setting, ${name}`, perSecond / best),
        atMost(0.05, '429s, of requests', refusedShare),
      ],
    });
  });

  it('finds the rate of a store that takes half a second for an answer, within a quarter of a minute', async () => {
    const { perSecond, refusedShare } = await adaptive(withCapacity({ perSecond: 20 }, 500)(), 75, 15);
    expect(perSecond).toBeGreaterThanOrEqual(0.9 * 20);
    expect(refusedShare).toBeLessThanOrEqual(0.05);
  });

  it('spreads slow requests over their round trip, so that a store that counts by the second sees no bursts', async () => {
    const { clock, sender, requests } = virtualStore({ answer: () => ({ afterMs: 500, status: 200 }) });
    const { signal } = new AbortController();
    const sent = Array.from({ length: 20 }, () =>
      sender.send({ method: 'POST', path: '/', body: '{}' }, { signal }),
    );
    await clock.runUntil(Promise.all(sent));
    const gaps = requests.slice(2).map(({ at }, index) => at - (requests[index + 1]?.at ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThan(10);
  });

  it('keeps its pace where an answer is lost on the way now and then', async () => {
    const random = seededRandom(SEED);
    const capacity = capacityGate({ perSecond: 200 });
    const isLost = () => random() < 0.02;
    const store: Store = ({ open, now }) =>
      capacity.admits(open, now)
        ? { afterMs: isLost() ? 220 : 20, status: 200 }
        : { afterMs: 20, status: 429 };
    const { perSecond, refusedShare } = await adaptive(store, 60);
    // 91 where a single late answer made the answers slow.
    expect(perSecond).toBeGreaterThanOrEqual(0.8 * 200);
    expect(refusedShare).toBeLessThanOrEqual(0.05);
  });

  it('keeps a store that queues from holding sixty-four requests', async () => {
    const { stats } = await adaptive(withLatency((open) => 20 * Math.max(1, open / 5))(), 20);
    expect(stats.limit).toBeLessThanOrEqual(20);
  });

  it('reaches a configured rate at a store far away within seconds', async () => {
    const { clock, sender, requests } = virtualStore({
      answer: () => ({ afterMs: 300, status: 200 }),
      requestsPerSecond: 200,
    });
    const { signal } = new AbortController();
    const sent = Array.from({ length: 2_000 }, () =>
      sender.send({ method: 'POST', path: '/', body: '{}' }, { signal }),
    );
    await clock.runUntil(Promise.all(sent));
    // Growing one by one it is 153.
    expect(requests.findIndex(({ at }) => at > 5_000)).toBeGreaterThan(200);
    expect(clock.monotonic()).toBeLessThan(16_000);
  });

  it('obeys requestsPerSecond from the configuration', async () => {
    const { clock, sender, requests } = virtualStore({
      answer: () => ({ afterMs: 5, status: 200 }),
      requestsPerSecond: 50,
    });
    const { signal } = new AbortController();
    const sent = Array.from({ length: 500 }, () =>
      sender.send({ method: 'POST', path: '/', body: '{}' }, { signal }),
    );
    await clock.runUntil(Promise.all(sent));
    expect(clock.monotonic()).toBeGreaterThan(9_900);
    expect(clock.monotonic()).toBeLessThan(10_300);
    for (const [first, { at }] of requests.entries()) {
      expect(requests.slice(first).filter((other) => other.at < at + 1_000).length).toBeLessThanOrEqual(52);
    }
  });
});
