import { expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { describeWithRedis } from '../support/redis.ts';
import { redisContent } from '../support/redis-content.ts';
import { delay, errorAnswer } from '../support/store/faults.ts';
import { until } from '../support/until.ts';
import { openShop } from './workers-setup.ts';

/** Enough for eight shards. */
const SHARED = 4_000;
const API_KEY = 'marked-key-d41d8cd98f00b204';

describeWithRedis('workers that share a run', () => {
  it('send products once, both take part, and the API key stays out of Redis and logs', async () => {
    await using shop = await openShop({ products: SHARED, store: { latencyMs: 5, apiKey: API_KEY } });
    const { store, workspace } = shop;
    const workers = await Promise.all([shop.worker(), shop.worker()]);

    const followed = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(followed.json()).toMatchObject({
      status: 'done',
      rows: SHARED,
      new: SHARED,
      applied: SHARED,
      unsent: 0,
      requests: SHARED,
      error: null,
    });
    expect(followed.code).toBe(0);
    expect(followed.stderr).toContain(`Run ${followed.json()['run']} of nightly, store main.`);
    expect(store.figures()).toMatchObject({ requests: SHARED, duplicates: 0, maxOverlap: 1 });
    expect(store.shop.products.size).toBe(SHARED);
    expect(store.violations).toEqual([]);

    const kept = await redisContent(shop.redis.url);
    expect(kept).toContain(`product-${SHARED - 1}`);
    expect(kept).not.toContain(API_KEY);

    for (const worker of workers) worker.process.kill('SIGTERM');
    const ended = await Promise.all(workers.map((worker) => worker.ended));
    for (const { code, stdout, stderr } of ended) {
      expect(code).toBe(0);
      expect(stdout).toBe('');
      expect(stderr).not.toContain(API_KEY);
      const lines = stderr
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line));
      expect(lines).toContainEqual(expect.objectContaining({ msg: 'ready', stores: ['main'] }));
      expect(lines).toContainEqual(
        expect.objectContaining({
          msg: 'shard ended',
          run: followed.json()['run'],
          job: 'nightly',
          shard: expect.any(Number),
        }),
      );
      expect(lines.filter(({ level }) => level > 30)).toEqual([]);
    }

    expect((await workspace.storeferry('run', 'nightly', '--json')).json()).toMatchObject({
      unchanged: SHARED,
      requests: 0,
    });
  });

  it.concurrent('delete last what a mirror no longer has', async () => {
    await using shop = await openShop({
      products: 700,
      job: { mode: 'mirror', safety: '{ maxDeletes: off, minRows: 0, maxPriceMoves: off }' },
    });
    const { store, workspace } = shop;
    await Promise.all([shop.worker(), shop.worker()]);
    await workspace.storeferry('enqueue', 'nightly', '--follow');
    store.forget();

    const changed = manyProducts(600).map((product) => ({ ...product, price: '1.00' }));
    await workspace.write('catalog.csv', shopifyCatalog(changed));
    store.misbehave({ does: delay(3), method: 'POST' });
    const second = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(second.json()).toMatchObject({
      status: 'done',
      changed: 600,
      removed: 100,
      deleted: 100,
      applied: 600,
    });
    const methods = store.requests.map(({ method }) => method);
    expect(methods.indexOf('DELETE')).toBe(600);
    const lastUpsert = store.requests.findLast(({ method }) => method === 'POST');
    const firstDelete = store.requests.find(({ method }) => method === 'DELETE');
    expect(firstDelete?.startedAt).toBeGreaterThanOrEqual(lastUpsert?.endedAt ?? 0);
    expect(store.shop.products.size).toBe(600);
  });

  it.concurrent('take a job once, however often it is enqueued, and refuse it to a process of its own', async () => {
    await using shop = await openShop({ products: 600 });
    const { store, workspace } = shop;
    // So slow that the run is surely still under way when the others come.
    store.misbehave({ does: delay(1_000) });
    const first = await workspace.storeferry('enqueue', 'nightly');
    expect(first.code).toBe(0);
    expect(first.stderr).toMatch(/Enqueued nightly as run \w+\./);
    expect(first.stderr).toContain('No worker is running');
    const waiting = await workspace.storeferry('enqueue', 'nightly');
    expect(waiting.stderr).toMatch(/nightly is waiting or running already, as run \w+\./);

    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    await following.printed('waiting or running already');
    await Promise.all([shop.worker(), shop.worker()]);
    await until(() => store.requests.length > 0);
    const [refused, running] = await Promise.all([
      workspace.storeferry('run', 'nightly', '--json'),
      workspace.storeferry('enqueue', 'nightly'),
    ]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('The job nightly is already running');
    expect(running.stderr).toMatch(/nightly is waiting or running already, as run \w+\./);
    const watching = workspace.start('enqueue', 'nightly', '--follow');
    await watching.printed('Run ');
    watching.process.kill('SIGINT');
    const watched = await watching.ended;
    expect(watched.code).toBe(130);
    expect(watched.stderr).toContain('the workers continue');
    store.behave();

    expect((await following.ended).json()).toMatchObject({ status: 'done', applied: 600, requests: 600 });
    expect(store.figures()).toMatchObject({ requests: 600, maxOverlap: 1, duplicates: 0 });
    const again = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(again.json()).toMatchObject({ status: 'done', unchanged: 600, requests: 0 });
  });

  it.concurrent('leave a place for others, however many jobs wait for one store', async () => {
    await using shop = await openShop({ products: 1_000 });
    const { store, workspace } = shop;
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      await workspace.write(
        `jobs/${name}.yaml`,
        'import: products\nstore: main\nsource: { path: catalog.csv }\nmapping: shopify-products\n',
      );
    }
    await workspace.write(
      'jobs/lists.yaml',
      'export: subscriber-lists\nstore: main\ndestination: { path: lists.csv }\n',
    );
    await shop.worker();
    store.misbehave({ does: delay(1_000), method: 'POST' });
    const first = workspace.start('enqueue', 'nightly', '--follow', '--json');
    await until(() => store.requests.length > 0);
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => workspace.storeferry('enqueue', name)));
    const lists = await workspace.storeferry('enqueue', 'lists', '--follow', '--json');
    expect(lists.json()).toMatchObject({ job: 'lists', status: 'done' });
    expect(store.shop.products.size).toBeLessThan(1_000);
    store.behave();
    expect((await first.ended).json()).toMatchObject({ status: 'done', applied: 1_000 });
  });

  it.concurrent('wait with a second job on the same store until the first has finished', async () => {
    await using shop = await openShop({ products: 600 });
    const { store, workspace } = shop;
    const workers = await Promise.all([shop.worker(), shop.worker()]);
    store.misbehave({ does: delay(1_000) });
    // Workers read the workspace when a run begins, so a new job is no reason to restart them.
    await workspace.write(
      'jobs/other.yaml',
      'import: products\nstore: main\nsource: { path: other.csv }\nmapping: shopify-products\n',
    );
    await workspace.write('other.csv', shopifyCatalog(manyProducts(100, 5_001)));
    const first = workspace.start('enqueue', 'nightly', '--follow', '--json');
    await until(() => store.requests.length > 0);
    const second = workspace.start('enqueue', 'other', '--follow', '--json');
    await Promise.any(workers.map((worker) => worker.printed('"run waits"')));
    store.behave();
    expect((await second.ended).json()).toMatchObject({ status: 'done', applied: 100 });
    expect((await first.ended).json()).toMatchObject({ status: 'done', applied: 600 });
    const isOther = (key: string | null) => Number(key?.replace('product-', '')) > 5_000;
    const order = store.requests.map(({ key }) => isOther(key));
    expect(order.indexOf(true)).toBe(600);
  });

  it.concurrent('end as run does when the store refuses some', async () => {
    await using shop = await openShop({ products: 100 });
    const { store, workspace } = shop;
    store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-7', 'product-8'] });
    await shop.worker();
    const followed = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(followed.code).toBe(3);
    expect(followed.json()).toMatchObject({ status: 'done-with-rejects', applied: 98, rejected: 2 });
    expect(followed.json()['rejectsFile']).toMatch(/rejects\.csv$/);
  });
});
