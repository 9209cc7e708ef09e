import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { startMutingProxy } from '../support/muting-proxy.ts';
import { describeWithRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { openShop, resent, SHORT_LEASE_MS } from './workers-setup.ts';

/** Twice as long Redis is away: calls wait for it for ten seconds, however slow the machine. */
const LEASE_MS = Math.min(SHORT_LEASE_MS, 3_000);

describe('without a Redis', () => {
  const files = catalogWorkspace('http://127.0.0.1:9', shopifyCatalog(manyProducts(1)));

  it.concurrent('enqueue --json without --follow is refused: it would print nothing', async () => {
    await using workspace = await makeWorkspace(files, { STORE_API_KEY: 'key' });
    const { code, stderr } = await workspace.storeferry('enqueue', 'nightly', '--json');
    expect(code).toBe(2);
    expect(stderr).toContain('Add --follow');
  });

  it.concurrent('that answers, they say so instead of waiting', async () => {
    await using workspace = await makeWorkspace(files, {
      STORE_API_KEY: 'key',
      REDIS_URL: 'redis://127.0.0.1:1',
    });
    const ended = await Promise.all([
      workspace.storeferry('worker'),
      workspace.storeferry('enqueue', 'nightly', '--follow', '--json'),
    ]);
    for (const { code, stderr } of ended) {
      expect(code).toBe(1);
      expect(stderr).toContain('Redis at 127.0.0.1:1 cannot be reached');
    }
  });
});

describeWithRedis('with a Redis', () => {
  it.concurrent('that is restarted in the middle of a run, workers and followers go on', async () => {
    await using shop = await openShop({ products: 1_000, store: { latencyMs: { min: 10, max: 20 } } });
    const { redis, store, workspace } = shop;
    const workers = await Promise.all([shop.worker(), shop.worker()]);
    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    await until(() => store.requests.length > 200);
    await redis.restart();
    expect((await following.ended).json()).toMatchObject({ status: 'done', applied: 1_000, unsent: 0 });
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
    for (const worker of workers) worker.process.kill('SIGTERM');
    for (const worker of workers) expect((await worker.ended).code).toBe(0);
  });

  it.concurrent('that comes back after longer than any lease, workers take the run up again', async () => {
    await using shop = await openShop({
      products: 1_000,
      store: { latencyMs: { min: 10, max: 20 } },
      env: { STOREFERRY_LEASE_MS: String(LEASE_MS) },
    });
    const { redis, store, workspace } = shop;
    await Promise.all([shop.worker(), shop.worker()]);
    // A follower would give up after ten seconds.
    const { stderr } = await workspace.storeferry('enqueue', 'nightly');
    const [, run = ''] = /as run (\w+)/.exec(stderr) ?? [];
    await until(() => store.requests.length > 200);
    await redis.kill();
    await new Promise((resolve) => setTimeout(resolve, 2 * LEASE_MS));
    const sentBefore = store.requests.length;
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(store.requests.length).toBe(sentBefore);
    await redis.restart();
    const ended = await until(
      async () => {
        const shown = (await workspace.storeferry('runs', run, '--json')).json();
        return shown['status'] === 'done' ? shown : null;
      },
      { everyMs: 250 },
    );
    expect(ended).toMatchObject({ applied: 1_000, unsent: 0 });
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
    expect(resent(store)).toBeLessThanOrEqual(2 * 2 * 16);
  });

  it.concurrent('that does not come back, a worker still ends on request', async () => {
    await using shop = await openShop({ products: 1_000, store: { latencyMs: 20 } });
    const { redis, store, workspace } = shop;
    const worker = await shop.worker();
    await workspace.storeferry('enqueue', 'nightly');
    await until(() => store.requests.length > 50);
    await redis.kill();
    worker.process.kill('SIGTERM');
    const { code, stderr } = await worker.ended;
    expect(code).toBe(0);
    expect(stderr).toContain('without returning its work');
  });

  it.concurrent('that falls silent on the connections there are, as after a failover, new ones are opened', async () => {
    await using shop = await openShop({ products: 5 });
    await using proxy = await startMutingProxy(shop.redis.port);
    await using elsewhere = await makeWorkspace(
      {},
      {
        STORE_API_KEY: shop.store.apiKey,
        REDIS_URL: proxy.url,
        ARTIFACTS_URL: join(shop.workspace.dir, '.storeferry', 'artifacts'),
      },
    );
    await cp(shop.workspace.dir, elsewhere.dir, { recursive: true });
    const worker = elsewhere.start('worker');
    await worker.printed('"ready"');
    proxy.mute();
    await shop.workspace.storeferry('enqueue', 'nightly');
    await until(() => shop.store.requests.length === 5);
  });
});
