import { expect, it } from 'vitest';
import { API_KEY, setup } from '../sandbox/setup.ts';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { until } from '../support/until.ts';
import { makeWorkspace } from '../support/workspace.ts';

it.each([
  ['reads', ['extended'] as const],
  ['asks', [] as const],
])('each run %s another part of the store, and all of them are the whole', async (_way, profiles) => {
  await using store = await setup({ profiles: [...profiles] });
  const catalog = shopifyCatalog(manyProducts(40));
  await using workspace = await makeWorkspace(catalogWorkspace(store.url, catalog, { drift: '25%' }), {
    STORE_API_KEY: API_KEY,
  });
  const first = await workspace.storeferry('run', 'nightly');
  expect(first.code).toBe(0);
  expect(first.stdout.replaceAll(/\s+/g, ' ')).toMatch(
    /The store was not compared: Nothing is known .* probe main/,
  );
  expect((await workspace.storeferry('probe', 'main')).code).toBe(0);
  const edits = ['product-3', 'product-17', 'product-31'];
  for (const url of edits) {
    await store.upsert({ url, title: url.replace('product-', 'Product '), description: '<p>By hand</p>' });
  }
  const before = await store.list('/_sandbox/products');
  const parts: Record<string, number>[] = [];
  for (let run = 0; run < 3; run += 1) {
    const { code, json } = await workspace.storeferry('run', 'nightly', '--json');
    expect(code).toBe(0);
    expect(json()).toMatchObject({ status: 'done', applied: 0, unchanged: 40, requests: 0 });
    parts.push(json()['drift'] as Record<string, number>);
  }
  const sum = (name: string) => parts.reduce((total, part) => total + (part[name] ?? 0), 0);
  // The run that could not look owes its part: the next ones have looked at four.
  expect([sum('checked'), sum('edited'), sum('fields'), sum('deleted')]).toEqual([40, 3, 3, 0]);
  expect(await store.list('/_sandbox/products')).toEqual(before);
  const runs = (await workspace.storeferry('runs', '--json')).json()['runs'] as { kind: string }[];
  const found = parts.filter(({ edited = 0 }) => edited > 0).length;
  expect(runs.filter(({ kind }) => kind === 'drift')).toHaveLength(found);

  // What was found is known: the source's value does not overwrite it.
  await workspace.write('catalog.csv', catalog.replace('<p>About Product 3</p>', '<p>Of the source</p>'));
  const again = await workspace.storeferry('run', 'nightly');
  expect(again.code).toBe(3);
  expect(again.stdout).toMatch(/part \d of 4/);
  expect(await store.list('/_sandbox/products')).toEqual(before);
});

it('nothing is sent where somebody ends the comparison', async () => {
  await using store = await setup({ latencyMs: 400 });
  await using workspace = await makeWorkspace(
    catalogWorkspace(store.url, shopifyCatalog(manyProducts(100)), { drift: '100%' }),
    { STORE_API_KEY: API_KEY },
  );
  expect((await workspace.storeferry('probe', 'main')).code).toBe(0);
  expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
  const before = await store.list('/_sandbox/products');
  await workspace.write('catalog.csv', shopifyCatalog(manyProducts(101)));
  const enqueued = await workspace.storeferry('enqueue', 'nightly');
  const [, id = ''] = /as run (\w+)/.exec(enqueued.stderr) ?? [];
  const worker = workspace.start('worker');
  const runs = async () =>
    (await workspace.storeferry('runs', '--json')).json()['runs'] as { kind: string; status: string }[];
  await until(async () =>
    (await runs()).some(({ kind, status }) => kind === 'drift' && status === 'running'),
  );
  const cancelled = await workspace.storeferry('cancel', id);
  expect(cancelled.stdout).toMatch(/of nightly is interrupted/);
  worker.process.kill('SIGTERM');
  await worker.ended;
  expect(await store.list('/_sandbox/products')).toEqual(before);
  expect((await runs()).map(({ kind, status }) => `${kind} ${status}`)).toEqual([
    'drift interrupted',
    'run done',
  ]);
});
