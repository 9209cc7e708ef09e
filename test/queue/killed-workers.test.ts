import { expect, it } from 'vitest';
import { describeWithRedis } from '../support/redis.ts';
import type { RunningCommand } from '../support/workspace.ts';
import { coordinator, LEASE_MS, openShop, resent, until } from './workers-setup.ts';

const CONCURRENCY = 16;
/** Shards a worker sends at the same time. */
const SHARDS_AT_ONCE = 2;
const MOST_RESENT = CONCURRENCY * SHARDS_AT_ONCE;
const PRODUCTS = 2_000;
const STORE = { latencyMs: { min: 10, max: 30 } };

async function kill({ process, ended }: RunningCommand): Promise<void> {
  process.kill('SIGKILL');
  await ended;
}

describeWithRedis('a killed worker', () => {
  it('that coordinates is replaced: nothing missing, nothing twice in the store', async () => {
    await using shop = await openShop({ products: PRODUCTS, store: STORE });
    const { store, workspace } = shop;
    const workers = await Promise.all([shop.worker(), shop.worker()]);
    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    const coordinating = await coordinator(workers);
    await until(() => store.requests.length > 500);
    await kill(coordinating);

    expect((await following.ended).json()).toMatchObject({ status: 'done', applied: PRODUCTS, unsent: 0 });
    expect(store.shop.products.size).toBe(PRODUCTS);
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
    expect(resent(store)).toBeLessThanOrEqual(MOST_RESENT);
  });

  it('that only sends is replaced as well', async () => {
    await using shop = await openShop({ products: PRODUCTS, store: STORE });
    const { store, workspace } = shop;
    const workers = await Promise.all([shop.worker(), shop.worker()]);
    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    const coordinating = await coordinator(workers);
    await until(() => store.requests.length > 500);
    for (const worker of workers) if (worker !== coordinating) await kill(worker);

    expect((await following.ended).json()).toMatchObject({ status: 'done', applied: PRODUCTS, unsent: 0 });
    expect(store.shop.products.size).toBe(PRODUCTS);
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
    expect(resent(store)).toBeLessThanOrEqual(MOST_RESENT);
  });

  it('five times in a row does not fail the run', async () => {
    await using shop = await openShop({ products: PRODUCTS, store: STORE });
    const { store, workspace } = shop;
    let worker = await shop.worker();
    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    for (let kills = 1; kills <= 5; kills++) {
      const sent = store.requests.length;
      await until(() => store.requests.length > sent + 150);
      const [next] = await Promise.all([shop.worker(), kill(worker)]);
      worker = next;
    }
    const followed = await following.ended;
    expect(followed.json()).toMatchObject({ status: 'done', applied: PRODUCTS, unsent: 0 });
    expect(followed.code).toBe(0);
    expect(store.shop.products.size).toBe(PRODUCTS);
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
    expect(resent(store)).toBeLessThanOrEqual(5 * MOST_RESENT);
  });
});

describeWithRedis('a worker that was stopped for longer than its lease', () => {
  it('sends nothing more than what was under way when it wakes', async () => {
    await using shop = await openShop({ products: PRODUCTS, store: STORE });
    const { store, workspace } = shop;
    const workers = await Promise.all([shop.worker(), shop.worker()]);
    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    const stopped = await coordinator(workers);
    await until(() => store.requests.length > 500);
    stopped.process.kill('SIGSTOP');
    const other = workers.find((worker) => worker !== stopped);
    await until(() => store.requests.length === PRODUCTS + resent(store));
    await new Promise((resolve) => setTimeout(resolve, 2 * LEASE_MS));
    other?.process.kill('SIGSTOP');
    const before = store.requests.length;
    stopped.process.kill('SIGCONT');
    await new Promise((resolve) => setTimeout(resolve, LEASE_MS / 2));
    expect(store.requests.length - before).toBeLessThanOrEqual(MOST_RESENT);
    other?.process.kill('SIGCONT');

    expect((await following.ended).json()).toMatchObject({ status: 'done', applied: PRODUCTS, unsent: 0 });
    expect(store.shop.products.size).toBe(PRODUCTS);
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
  });
});
