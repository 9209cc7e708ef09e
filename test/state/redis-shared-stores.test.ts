import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openRedisState } from '../../src/state/redis/open-redis-state.ts';
import { createStorefront } from '../../src/storefront/storefront.ts';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis.ts';
import { startStore } from '../support/store.ts';
import { until } from '../support/until.ts';

const SHOP = 'https://shop.example';

describeWithRedis('what processes agree on about a store', () => {
  let server: RedisServer;
  let opened = 0;
  beforeAll(async () => {
    server = await startRedis({ aof: false });
  });
  afterAll(() => server.stop());

  /** Waits until so many connections listen to the channels of one state. */
  async function listening(prefix: string, count: number): Promise<void> {
    const client = new Redis(server.url);
    await until(async () => {
      const channels = await client.pubsub('CHANNELS', `*${prefix}:*`);
      const numbers = await client.pubsub('NUMSUB', ...channels.map(String));
      return numbers.reduce((sum: number, each) => sum + (typeof each === 'number' ? each : 0), 0) >= count;
    });
    client.disconnect();
  }

  /** Two processes, as Redis sees it. */
  async function setup() {
    const options = { url: server.url, prefix: `shared-${++opened}` };
    const states = new AsyncDisposableStack();
    const one = states.use(await openRedisState(options));
    const other = states.use(await openRedisState(options));
    const heard: number[] = [];
    other.sharedStore(SHOP)?.listen((forMs) => heard.push(forMs));
    await listening(options.prefix, 1);
    return { one, other, heard, [Symbol.asyncDispose]: () => states.disposeAsync() };
  }

  it('announces a pause to the other processes of the store, not to its own, and not to those of another store', async () => {
    await using all = await setup();
    const own: number[] = [];
    const elsewhere: number[] = [];
    all.one.sharedStore(SHOP)?.listen((forMs) => own.push(forMs));
    all.other.sharedStore('https://other.example')?.listen((forMs) => elsewhere.push(forMs));
    await listening(`shared-${opened}`, 3);
    all.one.sharedStore(SHOP)?.announce(600_000);
    await expect.poll(() => all.heard).toEqual([600_000]);
    expect(own).toEqual([]);
    expect(elsewhere).toEqual([]);
  });

  it('gives a process that starts later the rest of a pause, of the longest one', async () => {
    await using all = await setup();
    all.one.sharedStore(SHOP)?.announce(600_000);
    all.one.sharedStore(SHOP)?.announce(10);
    await expect.poll(() => all.heard.length).toBe(2);
    const late: number[] = [];
    all.one.sharedStore(SHOP)?.listen((forMs) => late.push(forMs));
    await expect.poll(() => late.length).toBe(1);
    expect(late[0]).toBeGreaterThan(300_000);
    expect(late[0]).toBeLessThanOrEqual(600_000);
  });

  it('gives each place in the line once, however many ask at the same time', async () => {
    await using all = await setup();
    const asking = Array.from({ length: 20 }, (_, index) =>
      (index % 2 === 0 ? all.one : all.other).sharedStore(SHOP)?.reserve(0.1, 2),
    );
    const given = (await Promise.all(asking)).map((afterMs = 0) => afterMs).sort((a, b) => a - b);
    // Two reservations are twenty seconds; the line began to move when the first asked.
    for (const [turn, afterMs] of given.entries()) expect(afterMs).toBeGreaterThan((turn - 1) * 20_000);
    expect(given.at(-1)).toBeLessThanOrEqual(19 * 20_000 + 1);
  });

  it('waits no longer than a pause or the line was long when the clock of Redis was put back', async () => {
    await using all = await setup();
    const shared = all.one.sharedStore(SHOP);
    shared?.announce(600_000);
    await expect.poll(() => all.heard).toEqual([600_000]);
    await shared?.reserve(0.1, 20);
    // What both keys would look like had the clock been a day ahead when they were written.
    const client = new Redis(server.url);
    const dayMs = 86_400_000;
    for (const key of await client.keys(`shared-${opened}:*`)) {
      const value = (await client.get(key)) ?? '';
      const ahead = value.includes(' ') ? value.split(' ').map((at) => Number(at) + dayMs * 1_000) : [value];
      await client.set(key, ahead.join(' '), 'PX', (await client.pttl(key)) + dayMs);
    }
    client.disconnect();
    const late: number[] = [];
    all.one.sharedStore(SHOP)?.listen((forMs) => late.push(forMs));
    await expect.poll(() => late.length).toBe(1);
    expect(late[0]).toBeLessThanOrEqual(600_000);
    const afterMs = await shared?.reserve(0.1, 1);
    expect(afterMs).toBeGreaterThan(0);
    expect(afterMs).toBeLessThanOrEqual(200_000);
  });

  it('holds requestsPerSecond over two processes', async () => {
    await using all = await setup();
    await using store = await startStore();
    const clients = [all.one, all.other].map((state) =>
      createStorefront({
        baseUrl: store.baseUrl,
        apiKey: store.apiKey,
        userAgent: 'test/1',
        limits: { concurrency: 8, requestsPerSecond: 40 },
        attemptMs: 40_000,
        sharedRate: state.sharedStore(store.baseUrl),
      }),
    );
    const { signal } = new AbortController();
    const startedAt = performance.now();
    await Promise.all(
      Array.from({ length: 80 }, (_, index) =>
        clients[index % 2]?.orders({ limit: 1, skip: index }, { signal }),
      ),
    );
    const seconds = (performance.now() - startedAt) / 1_000;
    await Promise.all(clients.map((client) => client.close()));
    // Each of them alone would have been through in one second.
    expect(seconds).toBeGreaterThan(1.8);
  });
});
