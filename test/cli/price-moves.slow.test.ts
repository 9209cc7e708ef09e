import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { type Nightly, setupNightly } from '../support/nightly.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { unauthorized } from '../support/store/faults.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

/** The same products with the price of those multiplied. */
function catalog(count: number, factor: number, of = count): string {
  return shopifyCatalog(
    manyProducts(count).map((product, index) =>
      index < of ? { ...product, price: (Number(product.price) * factor).toFixed(2) } : product,
    ),
  );
}

const MESSAGE =
  /^maxPriceMoves: 393 known products have a price that becomes at least 3 times as high, at most a third, or 0, of 393 known products \(100%\); the limit is 5%\. product-\d+: price \d+\.00 → \d,\d00\.00; .*; and 390 more\. If this is correct, approve run \w+$/;

/** Sends a catalog, then has it with all prices multiplied by 100: stopped, looked at, approved. */
async function priceMovesStop({
  store,
  workspace,
}: Omit<Nightly, typeof Symbol.asyncDispose>): Promise<void> {
  expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
  // From here on the ledger has a memo of each row, and rows that did not change are not even mapped.
  await workspace.write('catalog.csv', catalog(393, 1.01, 2));
  expect((await workspace.storeferry('run', 'nightly', '--json')).json()).toMatchObject({ changed: 2 });
  store.forget();

  await workspace.write('catalog.csv', catalog(393, 100));
  const planned = await workspace.storeferry('plan', 'nightly', '--json');
  expect(planned.code).toBe(4);
  expect(planned.json()).toMatchObject({ status: 'stopped', changed: 393, requests: 0 });

  const stopped = await workspace.storeferry('run', 'nightly', '--json');
  expect(stopped.code).toBe(4);
  expect(stopped.json()).toMatchObject({
    status: 'stopped',
    changed: 393,
    applied: 0,
    requests: 0,
    error: expect.stringMatching(MESSAGE),
  });
  const again = await workspace.storeferry('run', 'nightly', '--json');
  expect(again.json()).toMatchObject({ status: 'stopped', requests: 0 });
  expect(store.figures().requests).toBe(0);

  const approved = await workspace.storeferry('approve', String(again.json()['run']), '--json');
  expect(approved.code).toBe(0);
  expect(approved.json()).toMatchObject({ status: 'done', applied: 393, requests: 393 });
  expect((await workspace.storeferry('run', 'nightly', '--json')).json()).toMatchObject({
    status: 'done',
    requests: 0,
  });
}

describe('a catalog with all prices multiplied by 100', () => {
  it('stops before the first request, and is sent once approved', async () => {
    await using nightly = await setupNightly(393);
    await priceMovesStop(nightly);
  });

  it('names the prices and the command in the terminal, in report.html and in the summary of the run', async () => {
    await using nightly = await setupNightly(40);
    const { workspace } = nightly;
    await workspace.storeferry('run', 'nightly');
    await workspace.write('catalog.csv', catalog(40, 100));
    const { code, stdout } = await workspace.storeferry('run', 'nightly');
    expect(code).toBe(4);
    const lines = stdout.split('\n').map((line) => line.trim());
    const first = lines.indexOf('Look at this first: prices that change more than usual');
    expect(lines.slice(first + 1, first + 11)).toEqual(
      expect.arrayContaining([expect.stringMatching(/^product-\d+: price \d+\.00 → \d,\d00\.00 \(×100\)$/)]),
    );
    expect(lines[first + 11]).toBe('and 30 more products');
    expect(lines).toContain('Safety limits: stopped');
    const id = /approve (\w+)$/m.exec(stdout)?.[1] ?? '';
    expect(stdout).toMatch(new RegExp(`^ +storeferry -C \\S+ approve ${id}$`, 'm'));

    const page = await readFile(join(workspace.dir, '.storeferry', 'artifacts', id, 'report.html'), 'utf8');
    expect(page).toContain('40 of 40 known products have a price that becomes at least 3 times as high');
    expect(page).toContain('product-39');
    expect(page).toMatch(new RegExp(`approve ${id}`));
    expect((await workspace.storeferry('runs', id)).stdout).toContain(
      'maxPriceMoves exceeded: 40 of 40 known products',
    );
  });

  it('is stopped with --resend too, and after a run that was interrupted', async () => {
    await using nightly = await setupNightly(60);
    const { store, workspace } = nightly;
    await workspace.storeferry('run', 'nightly');
    store.misbehave({ does: unauthorized, from: 5 });
    await workspace.write('catalog.csv', catalog(60, 1.1));
    expect((await workspace.storeferry('run', 'nightly')).code).toBe(1);
    store.behave();
    store.forget();
    await workspace.write('catalog.csv', catalog(60, 100));
    for (const option of [[], ['--resend']]) {
      const stopped = await workspace.storeferry('run', 'nightly', ...option, '--json');
      expect(stopped.json()).toMatchObject({ status: 'stopped', requests: 0 });
    }
    expect(store.figures().requests).toBe(0);
  });

  it('goes on where it stopped once it was approved, without being judged again', async () => {
    await using nightly = await setupNightly(60);
    const { store, workspace } = nightly;
    await workspace.storeferry('run', 'nightly');
    await workspace.write('catalog.csv', catalog(60, 100));
    const stopped = await workspace.storeferry('run', 'nightly', '--json');
    store.misbehave({ does: unauthorized, from: 20 });
    const failed = await workspace.storeferry('approve', String(stopped.json()['run']), '--json');
    expect(failed.json()).toMatchObject({ status: 'failed' });
    store.behave();
    const done = await workspace.storeferry('run', 'nightly', '--json');
    expect(done.json()).toMatchObject({ run: stopped.json()['run'], status: 'done', applied: 60 });
  });

  it('is sent where the job allows it, and where but a few prices move', async () => {
    await using nightly = await setupNightly(60, { safety: '{ maxPriceMoves: off }' });
    const { workspace } = nightly;
    await workspace.storeferry('run', 'nightly');
    await workspace.write('catalog.csv', catalog(60, 100));
    const sent = await workspace.storeferry('run', 'nightly', '--json');
    expect(sent.json()).toMatchObject({ status: 'done', applied: 60 });
    const job = join(workspace.dir, 'jobs', 'nightly.yaml');
    const text = await readFile(job, 'utf8');
    await workspace.write('jobs/nightly.yaml', text.replace('maxPriceMoves: off', 'maxPriceMoves: 5%'));
    const moved = manyProducts(60).map((product, index) => ({
      ...product,
      price: (Number(product.price) * (index < 3 ? 10 : 100)).toFixed(2),
    }));
    await workspace.write('catalog.csv', shopifyCatalog(moved));
    expect((await workspace.storeferry('run', 'nightly', '--json')).json()).toMatchObject({
      status: 'done',
      applied: 3,
    });
  });
});

describe('a first try of four products', () => {
  it('is sent although one row of four cannot be', async () => {
    await using nightly = await setupNightly(4);
    const { workspace } = nightly;
    await workspace.write('catalog.csv', catalog(4, 1).replace('11.00', 'cheap'));
    const { code, json } = await workspace.storeferry('run', 'nightly', '--json');
    expect(code).toBe(3);
    expect(json()).toMatchObject({ status: 'done-with-rejects', applied: 3, rejected: 1 });
  });
});

describeWithRedis('with the state in Redis', () => {
  it('prices multiplied by 100 stop a run alike', async () => {
    await using redis = await startRedis();
    await using store = await startStore({ seed: 1 });
    await using workspace = await makeWorkspace(catalogWorkspace(store.baseUrl, catalog(393, 1)), {
      STORE_API_KEY: store.apiKey,
      REDIS_URL: redis.url,
    });
    await priceMovesStop({ store, workspace });
  });
});
