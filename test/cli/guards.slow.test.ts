import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { type Nightly, setupNightly } from '../support/nightly.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { startStore } from '../support/store.ts';
import { until } from '../support/until.ts';
import { makeWorkspace } from '../support/workspace.ts';

/** So many that they are sent in several shards. */
const PRODUCTS = 1_000;
const GUARDS = '[{ field: variants.price, changeBy: 50%, action: hold }]';

/** The products with the price of every so many multiplied, and a title of all others that says the round. */
function catalog(count: number, every: number, factor: number, round = 1): string {
  return shopifyCatalog(
    manyProducts(count).map((product, index) =>
      index % every === 0
        ? { ...product, price: (Number(product.price) * factor).toFixed(2) }
        : { ...product, title: `${product.title} (${round})` },
    ),
  );
}

/** Ten of the prices become 20 times as high. */
async function tenAreHeld({ store, workspace }: Omit<Nightly, typeof Symbol.asyncDispose>): Promise<void> {
  expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
  store.forget();
  await workspace.write('catalog.csv', catalog(PRODUCTS, PRODUCTS / 10, 20));
  const planned = await workspace.storeferry('plan', 'nightly', '--json');
  expect(planned.code).toBe(3);
  expect(planned.json()).toMatchObject({ status: 'planned', held: 10, changed: PRODUCTS - 10, requests: 0 });

  const run = await workspace.storeferry('run', 'nightly', '--json');
  expect(run.code).toBe(3);
  expect(run.json()).toMatchObject({
    ...{
      status: 'done-with-rejects',
      records: PRODUCTS,
      applied: PRODUCTS - 10,
      held: 10,
      unchanged: 0,
      rejected: 0,
    },
    ...{ unsent: 0, skipped: 0, requests: PRODUCTS - 10, rejectsFile: null },
  });
  const held = [...store.shop.products.values()].filter(({ url = '' }) => /-(1|101|201)$/.test(url));
  expect(held.map(({ variants }) => Number(variants?.[0]?.price) < 100)).toEqual([true, true, true]);

  const again = await workspace.storeferry('run', 'nightly', '--json');
  expect(again.code).toBe(3);
  expect(again.json()).toMatchObject({ held: 10, unchanged: PRODUCTS - 10, requests: 0 });
  await workspace.write('catalog.csv', catalog(PRODUCTS, PRODUCTS / 10, 1));
  const corrected = await workspace.storeferry('run', 'nightly', '--json');
  expect(corrected.code).toBe(0);
  expect(corrected.json()).toMatchObject({ status: 'done', held: 0, unchanged: PRODUCTS, requests: 0 });
}

describe('ten single prices that become 20 times as high', () => {
  it('are held, and all other records are sent', async () => {
    await using nightly = await setupNightly(PRODUCTS, { guards: GUARDS });
    await tenAreHeld(nightly);
  });

  it('are listed with old and new values in the terminal, the report and the records of the run', async () => {
    await using nightly = await setupNightly(60, { guards: GUARDS });
    const { workspace } = nightly;
    await workspace.storeferry('run', 'nightly');
    await workspace.write('catalog.csv', catalog(60, 30, 20));
    const { code, stdout } = await workspace.storeferry('run', 'nightly');
    expect(code).toBe(3);
    expect(stdout).toContain('nightly: done, with held records, after');
    expect(stdout).toContain('Done, except for 2 of 60 products held by a guard.');
    expect(stdout).toContain('Guards: 2 records held');
    expect(stdout).toContain('variants.price changes by at least 50%');
    expect(stdout).toMatch(/product-31: 41\.00 → 820\.00/);
    expect(stdout).not.toContain('rejects file');
    const [id = ''] = /(?<=run )\w+(?=\))/.exec(stdout) ?? [];
    const page = await readFile(join(workspace.dir, '.storeferry', 'artifacts', id, 'report.html'), 'utf8');
    expect(page).toContain('Guards: 2 records held');
    const records = await workspace.storeferry('runs', id, '--records', '--outcome', 'held');
    expect(records.stdout).toMatch(/^held +product-1 .*variants\.price: 11 → 220$/m);
    const shown = await workspace.storeferry('plan', 'nightly', '--show', 'product-31');
    expect(shown.stdout).toContain('Held by a guard of the job.');
  });

  it('stop the run before its first request where the guard says so, until somebody approves it', async () => {
    const stop = '[{ field: variants.price, changeBy: 50%, action: stop }]';
    await using nightly = await setupNightly(60, { guards: stop });
    const { store, workspace } = nightly;
    await workspace.storeferry('run', 'nightly');
    store.forget();
    await workspace.write('catalog.csv', catalog(60, 60, 20));
    const stopped = await workspace.storeferry('run', 'nightly', '--json');
    expect(stopped.code).toBe(4);
    expect(stopped.json()).toMatchObject({
      ...{ status: 'stopped', requests: 0 },
      error: expect.stringContaining('guard: variants.price changes by at least 50%: 1 of 60 records'),
    });
    expect(store.figures().requests).toBe(0);
    const text = await workspace.storeferry('runs', String(stopped.json()['run']));
    expect(text.stdout).toContain('Stopped before the first request: 1 of 60 products are hit by a guard');
    const approved = await workspace.storeferry('approve', String(stopped.json()['run']), '--json');
    expect(approved.json()).toMatchObject({ status: 'done', applied: 60, held: 0 });
  });

  it('stay held when the run is killed, and when it is continued', async () => {
    await using nightly = await setupNightly(300, { guards: GUARDS }, { latencyMs: 20 });
    const { store, workspace } = nightly;
    await workspace.storeferry('run', 'nightly');
    store.forget();
    await workspace.write('catalog.csv', catalog(300, 50, 20));
    for (const after of [20, 120]) {
      const killed = workspace.start('run', 'nightly', '--json');
      await until(() => store.figures().requests >= after);
      killed.process.kill('SIGKILL');
      await killed.ended;
    }
    const done = await workspace.storeferry('run', 'nightly', '--json');
    expect(done.code).toBe(3);
    expect(done.json()).toMatchObject({ status: 'done-with-rejects', records: 300, held: 6, applied: 294 });
    const prices = [...store.shop.products.values()].map(({ variants }) => Number(variants?.[0]?.price));
    expect(Math.max(...prices)).toBeLessThan(100);
    expect((await workspace.storeferry('run', 'nightly', '--json')).json()).toMatchObject({
      ...{ held: 6, unchanged: 294, requests: 0 },
    });
  });

  it('are refused as guards where the job is wrong, with place and choice', async () => {
    await using nightly = await setupNightly(2, {
      guards: '[{ field: variants.prise, changeBy: 50, action: hold }]',
    });
    const { code, stdout, stderr } = await nightly.workspace.storeferry('check');
    expect(code).toBe(2);
    expect(`${stdout}${stderr}`).toMatch(/jobs\/nightly\.yaml:5:\d+/);
    expect(`${stdout}${stderr}`).toContain('variants.price');
    expect(`${stdout}${stderr}`).toContain('expected a percentage such as 50%');
  });
});

describeWithRedis('with the state in Redis', () => {
  it('ten prices are held alike', async () => {
    await using redis = await startRedis();
    await using store = await startStore({ seed: 1 });
    const files = catalogWorkspace(store.baseUrl, catalog(PRODUCTS, PRODUCTS / 10, 1, 0), { guards: GUARDS });
    await using workspace = await makeWorkspace(files, { STORE_API_KEY: store.apiKey, REDIS_URL: redis.url });
    await tenAreHeld({ store, workspace });
  });
});
