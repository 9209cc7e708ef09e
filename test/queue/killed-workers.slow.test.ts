import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { atLeast, atMost, none } from '../support/measure.ts';
import { patience } from '../support/pace.ts';
import { describeWithRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import type { RunningCommand } from '../support/workspace.ts';
import { coordinator, openShop, resent, SHORT_LEASE_MS, type Shop } from './workers-setup.ts';

const CONCURRENCY = 16;
/** Shards a worker sends at the same time. */
const SHARDS_AT_ONCE = 2;
const MOST_RESENT = CONCURRENCY * SHARDS_AT_ONCE;
const PRODUCTS = 1_500;
const STORE = { latencyMs: { min: 10, max: 30 } };

async function kill({ process, ended }: RunningCommand): Promise<void> {
  process.kill('SIGKILL');
  await ended;
}

/** A run that two workers share, with some of its requests sent, and the one of them that coordinates it. */
async function underWayOnTwo(shop: Shop) {
  const workers = await Promise.all([shop.worker(), shop.worker()]);
  const following = shop.workspace.start('enqueue', 'nightly', '--follow', '--json');
  const coordinating = await coordinator(workers);
  await until(() => shop.store.requests.length > 500);
  return { workers, following, coordinating };
}

describeWithRedis('a killed worker', () => {
  it.concurrent('that coordinates is replaced: nothing missing, nothing twice in the store', async (context) => {
    // So slow that the one that coordinates has requests under way when it is killed.
    const slow = { latencyMs: { min: 80, max: 120 } };
    await using shop = await openShop({ products: PRODUCTS, store: slow, shortLeases: true });
    const { store } = shop;
    // Longer than any machine takes to see that a worker is dead: its requests are still waited for then.
    await shop.workspace.write(
      'stores.yaml',
      `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}", limits: { concurrency: ${CONCURRENCY}, timeoutSeconds: ${patience(30)} } }\n`,
    );
    const { workers, following, coordinating } = await underWayOnTwo(shop);
    await kill(coordinating);

    const ended = await following.ended;
    expect(ended.json()).toMatchObject({ status: 'done', applied: PRODUCTS, unsent: 0 });
    // A follower sees why nothing moves, and so does the log of the worker that waits.
    expect(ended.stderr).toMatch(
      /^Waiting [\d.]+ s before \d+ records? (is|are) sent: the results? of (?:an )?earlier requests?/m,
    );
    const survivor = workers.find((worker) => worker !== coordinating);
    expect(survivor?.stderr()).toContain('"run waits: the results of earlier requests');
    expect(store.shop.products.size).toBe(PRODUCTS);
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
    figure(context, {
      invariant: 5,
      seed: store.seed,
      fired: { 'SIGKILL to a worker': 1 },
      measured: [atMost(MOST_RESENT, 're-sent after a worker with two shards under way', resent(store))],
    });
  });

  it.concurrent('that only sends is replaced as well', async () => {
    await using shop = await openShop({ products: PRODUCTS, store: STORE, shortLeases: true });
    const { store } = shop;
    const { workers, following, coordinating } = await underWayOnTwo(shop);
    for (const worker of workers) if (worker !== coordinating) await kill(worker);

    expect((await following.ended).json()).toMatchObject({ status: 'done', applied: PRODUCTS, unsent: 0 });
    expect(store.shop.products.size).toBe(PRODUCTS);
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
    expect(resent(store)).toBeLessThanOrEqual(MOST_RESENT);
  });

  it.concurrent('five times in a row does not fail the run', async (context) => {
    await using shop = await openShop({ products: PRODUCTS, store: STORE, shortLeases: true });
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
    figure(context, {
      invariant: 8,
      seed: store.seed,
      fired: { 'SIGKILL to the only worker': 5 },
      measured: [
        atLeast(PRODUCTS, 'products applied', store.shop.products.size),
        none('duplicates', store.figures().duplicates),
        atMost(1, 'overlap', store.figures().maxOverlap),
        atMost(5 * MOST_RESENT, 're-sent', resent(store)),
      ],
    });
  });
});

describeWithRedis('a worker that was stopped for longer than its lease', () => {
  it.concurrent('leaves its shards to the one that took them over when it wakes', async (context) => {
    await using shop = await openShop({ products: 1_000, store: STORE, shortLeases: true });
    const { store, workspace } = shop;
    const stopped = await shop.worker();
    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    await until(() => store.requests.length > 300);
    stopped.process.kill('SIGSTOP');
    await shop.worker();
    const sentBefore = store.requests.length;
    await until(() => store.requests.length > sentBefore + 100);
    stopped.process.kill('SIGCONT');
    await stopped.printed('was lost');

    expect((await following.ended).json()).toMatchObject({ status: 'done', applied: 1_000, unsent: 0 });
    expect(store.shop.products.size).toBe(1_000);
    figure(context, {
      invariant: 7,
      seed: store.seed,
      fired: { 'SIGSTOP longer than the lease': 1, SIGCONT: 1 },
      measured: [
        none('duplicates', store.figures().duplicates),
        atMost(1, 'overlap', store.figures().maxOverlap),
        atMost(MOST_RESENT, 're-sent', resent(store)),
      ],
    });
    expect(await settled(stopped)).toBe('running');
  });

  it.concurrent('sends no more than was under way when it wakes alone, and then takes its run up again', async (context) => {
    await using shop = await openShop({ products: 1_000, store: STORE, shortLeases: true });
    const { store, workspace } = shop;
    const worker = await shop.worker();
    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    await until(() => store.requests.length > 300);
    worker.process.kill('SIGSTOP');
    await sleep(2 * SHORT_LEASE_MS);
    const sentBefore = store.requests.length;
    worker.process.kill('SIGCONT');
    await worker.printed('was lost');
    figure(context, {
      invariant: 7,
      seed: store.seed,
      fired: { 'SIGSTOP longer than the lease': 1, SIGCONT: 1 },
      measured: [
        atMost(CONCURRENCY, 'writes after waking without the lock', store.requests.length - sentBefore),
      ],
    });

    expect((await following.ended).json()).toMatchObject({ status: 'done', applied: 1_000, unsent: 0 });
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
    expect(resent(store)).toBeLessThanOrEqual(MOST_RESENT);
  });
});

/** Whether the process is still there. */
async function settled({ ended }: RunningCommand): Promise<unknown> {
  return await Promise.race([ended, sleep(50, 'running')]);
}
