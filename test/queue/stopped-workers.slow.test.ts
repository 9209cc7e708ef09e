import { expect, it } from 'vitest';
import { describeWithRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { coordinator, openShop, resent } from './workers-setup.ts';

describeWithRedis('a worker that is asked to stop', () => {
  it.concurrent('hands back what it holds and ends with 0, and the others go on', async () => {
    // So slow that both workers have shards under way before one of them could have sent all that is waited for.
    await using shop = await openShop({ products: 1_500, store: { latencyMs: { min: 80, max: 120 } } });
    const { store, workspace } = shop;
    const workers = await Promise.all([shop.worker(), shop.worker()]);
    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    const stopped = await coordinator(workers);
    await until(() => store.requests.length > 300);
    stopped.process.kill('SIGTERM');
    const { code, stderr } = await stopped.ended;
    expect(code).toBe(0);
    expect(stderr).toContain('"run returned to the queue"');
    expect(stderr).toContain('"shard returned to the queue"');

    expect((await following.ended).json()).toMatchObject({ status: 'done', applied: 1_500, requests: 1_500 });
    expect(store.figures()).toMatchObject({ requests: 1_500, duplicates: 0, maxOverlap: 1 });
  });

  it.concurrent('leaves its run to the next worker when it was alone', async () => {
    await using shop = await openShop({ products: 1_000, store: { latencyMs: { min: 10, max: 20 } } });
    const { store, workspace } = shop;
    const first = await shop.worker();
    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    await until(() => store.requests.length > 200);
    first.process.kill('SIGTERM');
    expect((await first.ended).code).toBe(0);
    const listed = await workspace.storeferry('runs');
    expect(listed.stdout).toContain('interrupted');

    await shop.worker();
    expect((await following.ended).json()).toMatchObject({ status: 'done', applied: 1_000, requests: 1_000 });
    expect(resent(store)).toBe(0);
  });

  it.concurrent('can be asked again and again: no attempt is used up', async () => {
    await using shop = await openShop({ products: 1_000, store: { latencyMs: { min: 10, max: 20 } } });
    const { store, workspace } = shop;
    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGINT'] as const) {
      const worker = await shop.worker();
      const sent = store.requests.length;
      await until(() => store.requests.length > sent + 100);
      worker.process.kill(signal);
      expect((await worker.ended).code).toBe(0);
    }
    await shop.worker();
    expect((await following.ended).json()).toMatchObject({ status: 'done', applied: 1_000, requests: 1_000 });
    expect(store.figures()).toMatchObject({ requests: 1_000, duplicates: 0, maxOverlap: 1 });
  });
});
