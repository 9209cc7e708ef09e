import { expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { atMost, none } from '../support/measure.ts';
import { describeWithRedis } from '../support/redis.ts';
import { errorAnswer, unauthorized } from '../support/store/faults.ts';
import { openShop } from './workers-setup.ts';

const CONCURRENCY = 16;
const WORKERS = 2;

describeWithRedis('a run that must end', () => {
  it.concurrent('ends as failed on all workers when the key is revoked, and rejects nothing', async (context) => {
    await using shop = await openShop({ products: 2_000, store: { latencyMs: { min: 5, max: 15 } } });
    const { store, workspace } = shop;
    store.misbehave({ does: unauthorized, from: 800 });
    await Promise.all([shop.worker(), shop.worker()]);
    const followed = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(followed.code).toBe(1);
    expect(followed.json()).toMatchObject({ status: 'failed', rejected: 0, applied: 799 });
    expect(followed.json()['error']).toContain('API key');
    const firstRefused = store.requests.find(({ status }) => status === 401);
    const later = store.requests.filter(({ startedAt }) => startedAt > (firstRefused?.endedAt ?? 0));
    figure(context, {
      invariant: 12,
      seed: store.seed,
      fired: { 'key revoked while two workers send': 1 },
      measured: [
        atMost(CONCURRENCY * WORKERS, 'requests of two workers once the key is revoked', later.length),
        none('rejections', Number(followed.json()['rejected'])),
      ],
    });

    store.behave();
    const again = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(again.json()).toMatchObject({
      run: followed.json()['run'],
      status: 'done',
      applied: 2_000,
      unsent: 0,
    });
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
  });

  it.concurrent('is stopped on all workers when the store refuses more than the limit', async () => {
    await using shop = await openShop({
      products: 2_000,
      // So slow that within the half second until all have stopped the requests are far fewer than the bound.
      store: { latencyMs: { min: 20, max: 40 } },
      job: { safety: '{ maxRejects: 5% }' },
    });
    const { store, workspace } = shop;
    store.misbehave({ does: errorAnswer(422, 'Not today'), from: 400 });
    await Promise.all([shop.worker(), shop.worker()]);
    const followed = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(followed.code).toBe(4);
    const summary = followed.json();
    expect(summary).toMatchObject({ status: 'stopped', applied: 399 });
    expect(summary['rejected']).toBe(store.figures().byStatus['422']);
    expect(Number(summary['rejected'])).toBeLessThan(100 + 600);
  });
});
