import { describe, expect, it } from 'vitest';
import type { Sent } from '../../src/storefront/sender.ts';
import { type VirtualAnswer, virtualStore } from './virtual-store.ts';

const ok: VirtualAnswer = { afterMs: 20, status: 200 };
const wrong: VirtualAnswer = { afterMs: 20, status: 401 };
const CONCURRENCY = 16;

/** All operations at once, each with a path of its own. */
async function sendAll(answer: Parameters<typeof virtualStore>[0]['answer'], operations = 300) {
  const virtual = virtualStore({ answer, concurrency: CONCURRENCY });
  const { signal } = new AbortController();
  const sent = Array.from({ length: operations }, (_, index) =>
    virtual.sender.send({ method: 'POST', path: `/${index}`, body: '{}' }, { signal }),
  );
  const results = await virtual.clock.runUntil(Promise.allSettled(sent));
  const kinds = (kind: Sent['kind']) =>
    results.filter((result) => result.status === 'fulfilled' && result.value.kind === kind).length;
  return { ...virtual, results, kinds };
}

describe('a 401', () => {
  it('that the next request does not confirm is that of a gateway: all work continues', async () => {
    const { requests, kinds } = await sendAll(({ number }) => (number === 150 ? wrong : ok));
    expect(kinds('ok')).toBe(300);
    expect(requests).toHaveLength(301);
  });

  it('of many requests at once is confirmed once, while nothing else is sent', async () => {
    const isHiccup = (now: number): boolean => now >= 300 && now < 900;
    const { requests, kinds } = await sendAll(({ now }) => (isHiccup(now) ? wrong : ok));
    expect(kinds('ok')).toBe(300);
    const refused = requests.filter(({ status }) => status === 401);
    expect(refused.length).toBeGreaterThan(1);
    expect(refused.length).toBeLessThanOrEqual(CONCURRENCY);
    const firstAnswered = (refused[0]?.at ?? 0) + wrong.afterMs;
    const later = requests.filter(({ at }) => at > firstAnswered);
    const confirmedAt = later[0]?.at ?? 0;
    expect(confirmedAt).toBeGreaterThanOrEqual(firstAnswered + 1_000);
    expect(later.filter(({ at }) => at < confirmedAt + ok.afterMs)).toHaveLength(1);
  });

  it('that the next request confirms ends all work, and no other request is sent', async () => {
    const { requests, results, kinds } = await sendAll(({ number }) => (number >= 150 ? wrong : ok));
    const refused = requests.filter(({ status }) => status === 401);
    const firstAnswered = (refused[0]?.at ?? 0) + wrong.afterMs;
    expect(requests.filter(({ at }) => at > firstAnswered)).toHaveLength(1);
    expect(kinds('ok')).toBe(149);
    const reasons = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []));
    expect(reasons).toEqual(Array(151).fill('unauthorized'));
  });

  it('is not confirmed by a store that fails meanwhile', async () => {
    const { kinds } = await sendAll(({ number }) => {
      if (number === 150) return wrong;
      return number > 150 && number < 170 ? { afterMs: 20, status: 500 } : ok;
    });
    expect(kinds('ok')).toBe(300);
  });

  it('does not hold work that is stopped', async () => {
    const { clock, sender } = virtualStore({ answer: () => wrong, concurrency: 4 });
    const stopping = new AbortController();
    const { signal } = new AbortController();
    const sent = ['/a', '/b', '/c'].map((path) =>
      sender.send({ method: 'POST', path, body: '{}' }, { signal, stopping: stopping.signal }),
    );
    const ended = Promise.allSettled(sent);
    await clock.advance(100);
    stopping.abort(new Error('enough'));
    const results = await clock.runUntil(ended);
    expect(results.map((result) => result.status === 'rejected' && String(result.reason))).toEqual(
      Array(3).fill('Error: enough'),
    );
    const later = sender.send({ method: 'POST', path: '/later', body: '{}' }, { signal });
    await expect(clock.runUntil(later)).rejects.toMatchObject({ code: 'unauthorized' });
  });
});
