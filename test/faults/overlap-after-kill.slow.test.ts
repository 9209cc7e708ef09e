import { Redis } from 'ioredis';
import { describe, expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { describeWithRedis } from '../support/redis.ts';
import type { LoggedRequest } from '../support/store/request-log.ts';
import { until } from '../support/until.ts';
import { SCALE } from './scale.ts';
import { kill, openScene, type Scene, type SceneOptions } from './scene.ts';
import { ON_REDIS, runWith } from './versions.ts';

/** Less than the deadline of an attempt (4 s): the store looks a product up, works for so long, and then inserts it. */
const WORK_MS = 3_000;
const PRODUCTS = manyProducts(5);

/** Requests that reach the store while it still works on an earlier one for the same key, though its process is gone. */
function overlaps(requests: readonly LoggedRequest[]): number {
  const lastBegun = new Map<string, number>();
  let found = 0;
  for (const { key, startedAt } of requests) {
    if (key === null) continue;
    if (startedAt < (lastBegun.get(key) ?? Number.NEGATIVE_INFINITY) + WORK_MS) found++;
    lastBegun.set(key, startedAt);
  }
  return found;
}

const slowScene = (where: Pick<SceneOptions, 'redis' | 'env'>) =>
  openScene({ seed: 1, catalog: shopifyCatalog(PRODUCTS), store: { latencyMs: WORK_MS }, ...where });

const untilAtWork = ({ store }: Scene) => until(() => store.requests.length > 0);

function judge(context: Parameters<typeof figure>[0], scene: Scene): void {
  const { requests, shop } = scene.store;
  expect(shop.products.size).toBeGreaterThanOrEqual(PRODUCTS.length);
  figure(context, {
    invariant: 28,
    seed: null,
    fired: scene.fired(),
    measured: [none('overlaps at the store', overlaps(requests))],
  });
  const measured = [none('duplicates', scene.store.figures().duplicates)];
  figure(context, { invariant: 2, seed: null, fired: scene.fired(), measured });
}

function killedRun(where: Pick<SceneOptions, 'redis' | 'env'>): void {
  it.concurrent('a run that is killed and begun again at once waits until the store has done with its requests', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    await using scene = await slowScene(where);
    const running = scene.start('run', 'nightly', '--json');
    await untilAtWork(scene);
    await kill(running);
    scene.count('SIGKILL while a slow store works');
    const { code, stderr } = await runWith(scene, PRODUCTS);
    expect(code, stderr).toBe(0);
    judge(context, scene);
  });
}

describe('a slow store, with state on SQLite', () => killedRun({}));

describeWithRedis('a slow store, with state on Redis', () => {
  killedRun(ON_REDIS);

  it.concurrent('a worker that takes a dead one’s run over waits until the store has done with its requests', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    await using scene = await slowScene({ redis: 'short-leases' });
    const worker = await scene.worker();
    const following = scene.start('enqueue', 'nightly', '--follow', '--json');
    await untilAtWork(scene);
    await kill(worker);
    scene.count('SIGKILL to a worker while a slow store works');
    await scene.worker();
    const { code, stderr } = await following.ended;
    expect(code, stderr).toBe(0);
    judge(context, scene);
  });

  it.concurrent('a run after FLUSHALL waits until the store has done with the requests of the one before', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    await using scene = await slowScene(ON_REDIS);
    const running = scene.start('run', 'nightly', '--json');
    await untilAtWork(scene);
    const client = new Redis(scene.redis.url);
    await client.flushall();
    client.disconnect();
    scene.count('FLUSHALL while a slow store works');
    const first = await runWith(scene, PRODUCTS);
    await running.ended;
    // The run that was at work may note its loss only after the other one has begun, which then sends nothing and says so.
    const { code, stderr } = first.stderr.includes('Run the job again')
      ? await runWith(scene, PRODUCTS)
      : first;
    expect(code, stderr).toBe(0);
    judge(context, scene);
  });
});
