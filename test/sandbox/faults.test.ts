import { describe, expect, it } from 'vitest';
import { createFaults } from '../../src/sandbox/build-server.ts';
import { seededRandom } from '../../src/sandbox/seed-database.ts';
import { patience } from '../support/pace.ts';
import { until } from '../support/until.ts';
import { setup } from './setup.ts';

function fates(failRate: number, seed: number, count: number): string[] {
  const random = seededRandom(seed);
  const next = createFaults({ failRate, requestsPerSecond: undefined, random, now: () => 0 });
  return Array.from({ length: count }, () => next().kind);
}

describe('faults on demand', () => {
  it('fail the wanted share, half of it after applying, and the same ones for the same seed', () => {
    const kinds = fates(0.2, 7, 20_000);
    const share = (kind: string) => kinds.filter((found) => found === kind).length / kinds.length;
    expect(share('fail-before')).toBeCloseTo(0.1, 1);
    expect(share('fail-after')).toBeCloseTo(0.1, 1);
    expect(share('none')).toBeCloseTo(0.8, 1);
    expect(fates(0.2, 7, 20_000)).toEqual(kinds);
    expect(fates(0.2, 8, 20_000)).not.toEqual(kinds);
    expect(new Set(fates(0, 7, 1000))).toEqual(new Set(['none']));
    expect(fates(1, 7, 1000)).not.toContain('none');
  });

  it('answer 503 with the error body, and apply some of the requests all the same', async () => {
    await using store = await setup({ failRate: 1 });
    const answers = [];
    for (let number = 0; number < 40; number += 1) {
      answers.push(await store.upsert({ title: `P${number}`, url: `p-${number}` }));
    }
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.success}`))).toEqual(
      new Set(['503 false']),
    );
    const saidApplied = answers.filter(({ body }) =>
      /after the request was carried out/.test(String(body.message)),
    ).length;
    expect(saidApplied).toBeGreaterThan(5);
    expect(saidApplied).toBeLessThan(35);
    expect(await store.list('/_sandbox/products')).toHaveLength(saidApplied);
  });

  it('limit the requests in a second, saying when to come again', async () => {
    let time = 1_000_000;
    await using store = await setup({ requestsPerSecond: 2, clock: () => time });
    const ask = () => store.send('GET', '/api/site/subscriber-lists');
    const statuses = [await ask(), await ask(), await ask()].map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 429]);
    const { headers, body } = await ask();
    expect([headers.get('retry-after'), body.success]).toEqual(['1', false]);
    time += 500;
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429]);
  });

  it('wait as long as it takes for a rate below one', () => {
    let time = 0;
    const next = createFaults({ failRate: 0, requestsPerSecond: 0.25, random: () => 0, now: () => time });
    expect(next()).toEqual({ kind: 'none' });
    expect(next()).toEqual({ kind: 'too-many', retryAfterSeconds: 4 });
    time = 4000;
    expect(next()).toEqual({ kind: 'none' });
    time = 0;
    expect(next().kind).toBe('too-many');
  });

  it('hold answers back, several at a time', async () => {
    let underWay = 0;
    const clock = () => {
      underWay++;
      return Date.now();
    };
    const latencyMs = patience(1_000);
    await using store = await setup({ latencyMs, requestsPerSecond: 1_000_000, clock });
    underWay = 0;
    let answered = 0;
    const sent = Array.from({ length: 20 }, async () => {
      await store.send('GET', '/api/site/subscriber-lists');
      answered++;
    });
    await until(() => underWay === 20);
    expect(answered).toBe(0);
    await Promise.all(sent);
  });

  it('spare refused keys and what the sandbox shows of itself, and are counted', async () => {
    await using store = await setup({ failRate: 1 });
    expect(
      (await store.send('GET', '/api/site/orders', undefined, { authorization: 'Bearer x' })).status,
    ).toBe(401);
    expect((await store.send('GET', '/api/site/orders')).status).toBe(503);
    const { status, body } = await store.send('GET', '/_sandbox/requests');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      total: 2,
      routes: { 'GET /api/site/orders': 2 },
      statuses: { 401: 1, 503: 1 },
    });
  });

  it.each([{ failRate: 1.5 }, { failRate: Number.NaN }, { latencyMs: -1 }, { requestsPerSecond: 0 }])(
    'are refused when they cannot be: %j',
    async (options) => {
      await expect(setup(options)).rejects.toMatchObject({ code: 'usage' });
    },
  );
});
