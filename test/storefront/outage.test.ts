import { describe, expect, it } from 'vitest';
import type { StorefrontEvent } from '../../src/storefront/gate/gate.ts';
import type { SharedRate } from '../../src/storefront/gate/rate-limit.ts';
import type { Sent } from '../../src/storefront/sender.ts';
import { figure } from '../support/figure.ts';
import { atMost, none } from '../support/measure.ts';
import { type Virtual, type VirtualAnswer, virtualStore } from './virtual-store.ts';

const MINUTE = 60_000;
const ok: VirtualAnswer = { afterMs: 20, status: 200 };
const unavailable: VirtualAnswer = { afterMs: 20, status: 503 };

interface Scenario {
  readonly answer: Parameters<typeof virtualStore>[0]['answer'];
  readonly operations: number;
  readonly concurrency?: number;
}

/** All operations at once, each with a path of its own. */
async function sendAll({ answer, operations, concurrency = 16 }: Scenario) {
  const events: StorefrontEvent[] = [];
  const virtual = virtualStore({ answer, concurrency, onEvent: (event) => events.push(event) });
  const { signal } = new AbortController();
  const send = (index: number) =>
    virtual.sender.send({ method: 'POST', path: `/${index}`, body: '{}' }, { signal });
  const all = Promise.allSettled(Array.from({ length: operations }, (_, index) => send(index)));
  const results = await virtual.clock.runUntil(all);
  const kinds = (kind: Sent['kind']) =>
    results.filter((result) => result.status === 'fulfilled' && result.value.kind === kind).length;
  return { ...virtual, results, events, kinds };
}

describe('a store that fails', () => {
  it('is probed once a second for ten minutes, and no row fails', async (context) => {
    const { requests, kinds, events } = await sendAll({
      answer: ({ now }) => (now < 10 * MINUTE ? unavailable : ok),
      operations: 300,
    });
    expect(kinds('ok')).toBe(300);
    const during = requests.filter(({ at }) => at < 10 * MINUTE);
    const firstAttempts = new Set(during.map(({ path }) => path)).size;
    const probes = 600;
    figure(context, {
      invariant: 15,
      seed: null,
      fired: { '503 for ten minutes': requests.filter(({ status }) => status === 503).length },
      measured: [
        none('rows failed', 300 - kinds('ok')),
        atMost(
          0.1,
          'retries beyond 100 and probes, of first attempts',
          Math.max(0, requests.length - 300 - 100 - probes) / 300,
        ),
        atMost(10 + probes + 1, 'requests in ten minutes', during.length),
        atMost(10 + 1, 'first attempts beyond probes in ten minutes', Math.max(0, firstAttempts - probes)),
      ],
    });
    expect(events.filter(({ kind }) => kind === 'breaker-opened')).toHaveLength(1);
    expect(events.find(({ kind }) => kind === 'breaker-closed')).toMatchObject({
      openForMs: expect.any(Number),
    });
  });

  it('has no more than one probe under way', async () => {
    let open = 0;
    const { kinds } = await sendAll({
      answer: ({ now, open: atOnce }) => {
        if (now > 5_000 && now < 2 * MINUTE) open = Math.max(open, atOnce);
        return now < 2 * MINUTE ? { afterMs: 3_000, status: 503 } : ok;
      },
      operations: 100,
    });
    expect(open).toBe(1);
    expect(kinds('ok')).toBe(100);
  });

  it('counts as unavailable after fifteen minutes', async () => {
    const { results, clock } = await sendAll({ answer: () => unavailable, operations: 50 });
    const errors = results.map((result) => (result.status === 'rejected' ? result.reason : result.value));
    expect(errors.every((error) => error.code === 'store-unavailable')).toBe(true);
    expect(clock.monotonic()).toBe(15 * MINUTE);
  });

  it.for<readonly [string, Scenario['answer'], string]>([
    ['fails', () => unavailable, '503, no'],
    [
      'asks for a year with each answer',
      () => ({ afterMs: 20, status: 503, retryAfter: String(365 * 86_400) }),
      '503, no (Retry-After: 900 seconds or more)',
    ],
    [
      'asks for ten minutes with each answer',
      () => ({ afterMs: 20, status: 429, retryAfter: '600' }),
      '429, no (Retry-After: 600 seconds or more)',
    ],
    ['never answers', () => ({ afterMs: 40_000, status: null }), 'the connection was lost'],
    ['loses each connection late', () => ({ afterMs: 39_000, status: null }), 'the connection was lost'],
    ['fails after it was well', ({ number }) => (number <= 30 ? ok : unavailable), '503, no'],
    ['takes half a minute to fail', () => ({ afterMs: 30_000, status: 504 }), '504, no'],
    ['proves nothing', () => ({ afterMs: 20, status: 200, body: '{"success":"false"}' }), '200'],
  ])('ends the work within fifteen minutes when it %s', async ([name, answer, lastSeen], context) => {
    let excess = 0;
    let failures = 0;
    for (const operations of [1, 3, 60, 400]) {
      const { results, clock, requests } = await sendAll({ answer, operations });
      const errors = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
      const wentWell = lastSeen === '200' ? [] : requests.filter(({ status }) => status === 200);
      const from = Math.max(0, ...wentWell.map(({ at }) => at + ok.afterMs));
      // After a pause that lasts as long as the limit there is one last attempt.
      const lastTryMs = lastSeen.includes('900 seconds') ? 10_000 : 0;
      expect(clock.monotonic()).toBeLessThanOrEqual(from + 15 * MINUTE + lastTryMs);
      expect(clock.pending()).toBe(0);
      if (operations < 10) continue;
      expect(errors.length).toBeGreaterThan(0);
      expect(new Set(errors.map(({ code }) => code))).toEqual(new Set(['store-unavailable']));
      expect(errors[0]?.message).toContain('for 15 minutes; last: ');
      expect(errors[0]?.message).toContain(lastSeen);
      failures += requests.length - wentWell.length;
      const retries = requests.length - new Set(requests.map(({ path }) => path)).size;
      const probes = clock.monotonic() / 1_000;
      excess = Math.max(excess, (retries - 100 - probes) / operations);
    }
    figure(context, {
      invariant: 15,
      seed: null,
      fired: { [`the store ${name}`]: failures },
      measured: [atMost(0.1, 'retries beyond 100 and probes, of first attempts', excess)],
    });
  });

  it('ends the work of a process that is asked to wait again and again', async () => {
    let announce: (forMs: number) => void = () => {};
    const sharedPause = {
      announce: () => {},
      listen: (onPause: (forMs: number) => void) => {
        announce = onPause;
        return () => {};
      },
    };
    const { clock, sender, requests } = virtualStore({ answer: () => ok, sharedPause });
    const { signal } = new AbortController();
    announce(MINUTE);
    const sent = sender.send({ method: 'POST', path: '/', body: '{}' }, { signal });
    const ended = expect(sent).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringContaining('15 minutes; last: another worker was asked to wait'),
    });
    for (let minute = 0; minute < 16; minute++) {
      announce(2 * MINUTE);
      await clock.advance(MINUTE);
    }
    await ended;
    expect(requests).toEqual([]);
  });

  it('does not count failures of work that was long ago', async () => {
    const { sender, clock } = virtualStore({
      answer: ({ path, number }) => (path === '/poison' || number < 12 ? unavailable : ok),
    });
    const { signal } = new AbortController();
    const send = (path: string) =>
      clock.runUntil(sender.send({ method: 'POST', path, body: '{}' }, { signal }));
    expect((await send('/poison')).kind).toBe('unsent');
    await clock.advance(60 * MINUTE);
    expect((await send('/later')).kind).toBe('ok');
  });

  it('gives new work the whole time again', async () => {
    const { sender, clock } = await sendAll({
      answer: ({ now }) => (now < 20 * MINUTE ? unavailable : ok),
      operations: 50,
    });
    const { signal } = new AbortController();
    const later = await clock.runUntil(
      sender.send({ method: 'POST', path: '/later', body: '{}' }, { signal }),
    );
    expect(later.kind).toBe('ok');
  });

  it('leaves one record unsent that alone fails, after eight retries, and applies all others', async () => {
    const { requests, kinds } = await sendAll({
      answer: ({ path }) => (path === '/7' ? unavailable : ok),
      operations: 500,
    });
    expect(kinds('ok')).toBe(499);
    expect(kinds('unsent')).toBe(1);
    expect(requests.filter(({ path }) => path === '/7')).toHaveLength(9);
  });

  it('distinguishes twenty records that always fail from a failing store', async () => {
    const { kinds, clock } = await sendAll({
      answer: ({ path }) => (Number(path.slice(1)) % 50 === 0 ? unavailable : ok),
      operations: 1_000,
    });
    expect(kinds('ok')).toBe(980);
    expect(kinds('unsent')).toBe(20);
    expect(clock.monotonic()).toBeLessThan(10 * MINUTE);
  });

  it('is not asked again about what it refused', async () => {
    const { requests, kinds } = await sendAll({
      answer: ({ path }) => ({ afterMs: 5, status: path === '/3' ? 422 : 200 }),
      operations: 20,
    });
    expect(kinds('refused')).toBe(1);
    expect(requests).toHaveLength(20);
  });

  it('ends it all when the key is wrong', async () => {
    const { results } = await sendAll({ answer: () => ({ afterMs: 5, status: 401 }), operations: 3 });
    expect(results.map((result) => result.status === 'rejected' && result.reason.code)).toEqual(
      Array(3).fill('unauthorized'),
    );
  });

  it.each([
    ['seconds', '40', 40_000],
    ['a date', new Date(Date.UTC(2024, 0, 1, 0, 1)).toUTCString(), 59_000],
    ['a year', String(365 * 86_400), 15 * MINUTE],
  ])('gets no request for as long as it asks: %s', async (_, retryAfter, ms) => {
    const { requests, events, kinds } = await sendAll({
      answer: ({ number }) => (number === 30 ? { afterMs: 1, status: 429, retryAfter } : ok),
      operations: 200,
    });
    const asked = requests.find(({ status }) => status === 429);
    const from = (asked?.at ?? 0) + 1;
    expect(requests.filter(({ at }) => at > from && at < from + ms)).toEqual([]);
    expect(kinds('ok')).toBe(200);
    expect(events).toContainEqual(expect.objectContaining({ kind: 'paused' }));
  });

  it('is asked again as usual when Retry-After is nonsense', async () => {
    const { clock, kinds } = await sendAll({
      answer: ({ number }) => (number === 30 ? { afterMs: 1, status: 503, retryAfter: 'soon' } : ok),
      operations: 200,
    });
    expect(kinds('ok')).toBe(200);
    expect(clock.monotonic()).toBeLessThan(5_000);
  });
});

describe('a pause that workers share', () => {
  it('is announced when the store asks for one, and kept when another announces it', async () => {
    const announced: number[] = [];
    let announce: (forMs: number) => void = () => {};
    const sharedPause = {
      announce: (forMs: number) => announced.push(forMs),
      listen: (onPause: (forMs: number) => void) => {
        announce = onPause;
        return () => {};
      },
    };
    const { clock, sender, requests } = virtualStore({
      answer: ({ number }) => (number === 1 ? { afterMs: 1, status: 429, retryAfter: '5' } : ok),
      sharedPause,
    });
    const { signal } = new AbortController();
    const send = () => clock.runUntil(sender.send({ method: 'GET', path: '/', body: null }, { signal }));
    await send();
    expect(announced).toEqual([5_000]);
    const before = clock.monotonic();
    announce(30_000);
    await send();
    expect(requests.at(-1)?.at).toBe(before + 30_000);
  });

  it('is announced again and again while the breaker is open, so that the others do not ask as well', async () => {
    const announced: number[] = [];
    const outageMs = 10_000;
    const { clock, sender } = virtualStore({
      answer: ({ now }) => (now < outageMs ? { afterMs: 1, status: 503 } : ok),
      sharedPause: { announce: (forMs) => announced.push(clock.monotonic() + forMs), listen: () => () => {} },
    });
    const { signal } = new AbortController();
    const sent = Array.from({ length: 30 }, () =>
      sender.send({ method: 'POST', path: '/', body: '{}' }, { signal }),
    );
    await clock.runUntil(Promise.all(sent));
    const [first = 0] = announced;
    expect(first).toBeLessThan(outageMs);
    for (const [index, until] of announced.slice(1).entries()) {
      expect(until - (announced[index] ?? 0)).toBeLessThan(2_000);
    }
    expect(announced.at(-1)).toBeGreaterThan(outageMs);
    expect(announced.at(-1)).toBeLessThan(outageMs + 2_000);
  });

  it.each([null, 302, 200])(
    'is not announced where the trouble may be this process alone (status %j)',
    async (status) => {
      const announced: number[] = [];
      const events: string[] = [];
      const outageMs = 60_000;
      const { clock, sender } = virtualStore({
        answer: ({ now }) => (now < outageMs ? { afterMs: 1, status, body: '<html>' } : ok),
        sharedPause: { announce: (forMs) => announced.push(forMs), listen: () => () => {} },
        onEvent: ({ kind }) => events.push(kind),
      });
      const { signal } = new AbortController();
      const sent = Array.from({ length: 30 }, () =>
        sender.send({ method: 'POST', path: '/', body: '{}' }, { signal }),
      );
      await clock.runUntil(Promise.all(sent));
      expect(events).toContain('breaker-opened');
      expect(announced).toEqual([]);
    },
  );
});

describe('a rate that workers share', () => {
  const sharing = (reserve: SharedRate['reserve']) =>
    virtualStore({ answer: () => ok, requestsPerSecond: 50, sharedRate: { reserve } });
  const sendMany = ({ clock, sender }: Virtual, count: number) => {
    const { signal } = new AbortController();
    return clock.runUntil(
      Promise.all(
        Array.from({ length: count }, () =>
          sender.send({ method: 'POST', path: '/', body: '{}' }, { signal }),
        ),
      ),
    );
  };

  it('sends at the reserved times, and reserves no more than a tenth of a second of them', async () => {
    const wanted: number[] = [];
    const virtual = sharing(async (perSecond, most) => {
      expect(perSecond).toBe(50);
      wanted.push(most);
      return 300;
    });
    await sendMany(virtual, 20);
    expect(Math.max(...wanted)).toBeLessThanOrEqual(5);
    expect(virtual.requests[0]?.at).toBe(300);
    expect(virtual.requests).toHaveLength(20);
  });

  it('sends nothing while reservations fail, and continues after', async () => {
    let asked = 0;
    const virtual = sharing(async () => {
      if (++asked <= 3) throw new Error('Redis is away');
      return 0;
    });
    await sendMany(virtual, 2);
    expect(virtual.requests[0]?.at).toBe(1_500);
  });
});
