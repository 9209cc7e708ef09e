import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { atLeast, none } from '../support/measure.ts';
import { describeWithRedis } from '../support/redis.ts';
import { seedOf } from '../support/seed.ts';
import { delay } from '../support/store/faults.ts';
import { seededRandom } from '../support/store/random.ts';
import { until } from '../support/until.ts';
import { audit, makeBooks, refusal } from './books.ts';
import { SCALE } from './scale.ts';
import { openScene, type Scene } from './scene.ts';

async function flushAll(scene: Scene): Promise<void> {
  const client = new Redis(scene.redis.url);
  await client.flushall();
  client.disconnect();
  scene.count('FLUSHALL');
}

describeWithRedis('a Redis that is emptied', () => {
  it.concurrent('in the middle of a run costs sending again, and nothing else', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    const seed = seedOf(context);
    const random = seededRandom(seed);
    const books = makeBooks(500, random);
    await using scene = await openScene({
      seed,
      catalog: books.csv,
      redis: 'short-leases',
      job: { mode: 'mirror', safety: '{ maxRejects: off }' },
      store: { latencyMs: { min: 5, max: 20 } },
    });
    const { store, workspace } = scene;
    store.misbehave(refusal(store.apiKey));
    await Promise.all([scene.worker(), scene.worker()]);
    const interrupted = scene.start('enqueue', 'nightly', '--follow', '--json');
    const enough = 100 + random() * 200;
    await until(() => store.requests.length > enough);
    // So slow that the run surely is in its middle when it strikes.
    store.misbehave({ does: delay(500) });
    await flushAll(scene);
    const { code, stderr } = await interrupted.ended;
    expect(code, stderr).toBe(1);
    store.behave();
    store.misbehave(refusal(store.apiKey));

    const again = await scene.storeferry('enqueue', 'nightly', '--follow', '--json');
    const found = await audit(books, store, workspace, again.json());
    figure(context, {
      invariant: 9,
      seed,
      fired: scene.fired(),
      measured: [
        none('rows missing', found.missing),
        none('duplicates', store.figures().duplicates),
        none('products deleted', store.requests.filter(({ method }) => method === 'DELETE').length),
      ],
    });
  });

  it.concurrent('or killed under a process that runs a job by itself loses nothing', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    const seed = seedOf(context);
    const random = seededRandom(seed);
    const books = makeBooks(300, random);
    await using scene = await openScene({
      seed,
      catalog: books.csv,
      redis: true,
      job: { mode: 'mirror', safety: '{ maxRejects: off }' },
      store: { latencyMs: { min: 5, max: 20 } },
    });
    const { store, workspace } = scene;
    store.misbehave(refusal(store.apiKey));
    const strikes = [
      () => flushAll(scene),
      async () => {
        await scene.redis.restart();
        scene.count('Redis killed and started again');
      },
    ];
    for (const strike of strikes) {
      const enough = store.requests.length + 20 + random() * 60;
      const running = scene.start('run', 'nightly', '--json');
      await until(() => store.requests.length > enough);
      await strike();
      const { code, stderr } = await running.ended;
      expect([1, 3], stderr).toContain(code);
    }
    const last = await scene.storeferry('run', 'nightly', '--json');
    const found = await audit(books, store, workspace, last.json());
    figure(context, {
      invariant: 9,
      seed,
      fired: scene.fired(),
      measured: [
        none('rows missing', found.missing),
        none('duplicates', store.figures().duplicates),
        none('products deleted', store.requests.filter(({ method }) => method === 'DELETE').length),
      ],
    });
  });

  it.concurrent('between two runs makes a mirror forget, and delete nothing', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    await using scene = await openScene({
      seed: 1,
      catalog: shopifyCatalog(manyProducts(100)),
      redis: true,
      job: { mode: 'mirror' },
    });
    const { store, workspace } = scene;
    const setup = async () => (await scene.storeferry('run', 'nightly', '--json')).json();
    expect(await setup()).toMatchObject({ applied: 100 });
    await flushAll(scene);
    await workspace.write('catalog.csv', shopifyCatalog(manyProducts(97)));
    const second = await setup();
    figure(context, {
      invariant: 9,
      seed: null,
      fired: scene.fired(),
      measured: [
        none('products deleted', store.requests.filter(({ method }) => method === 'DELETE').length),
        none('duplicates', store.figures().duplicates),
        atLeast(97, 'products sent again after the ledger was lost', Number(second['applied'])),
      ],
    });
  });
});
