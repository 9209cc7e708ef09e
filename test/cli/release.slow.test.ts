import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { type StoreOptions, startStore } from '../support/store.ts';
import { until } from '../support/until.ts';
import { makeWorkspace } from '../support/workspace.ts';

const GUARDS = '[{ field: variants.price, changeBy: 50%, action: hold }]';
const COUNT = 20;

type Factors = Readonly<Record<number, number>>;

/** The products with some prices multiplied. */
function catalog(factors: Factors): string {
  return shopifyCatalog(
    manyProducts(COUNT).map((product, index) => ({
      ...product,
      price: (Number(product.price) * (factors[index + 1] ?? 1)).toFixed(2),
    })),
  );
}

const STOCK_MAPPING = `import: products
columns: { sku: SKU, price: Price }
required: [sku, price]
variants: { sku: sku, pricing: { price: [price, number] } }
`;

const STOCK_JOB = `import: products
store: main
source: { path: prices.csv }
mapping: prices
mode: update
match: sku
safety: { maxPriceMoves: off }
guards: ${GUARDS}
`;

type Redis = { readonly url: string } & AsyncDisposable;

async function openShop(redis: Redis | undefined, options: Omit<StoreOptions, 'seed'> = {}) {
  const store = await startStore({ seed: 1, ...options });
  const files = {
    ...catalogWorkspace(store.baseUrl, catalog({}), { guards: GUARDS, safety: '{ maxPriceMoves: off }' }),
    'mappings/prices.yaml': STOCK_MAPPING,
    'jobs/prices.yaml': STOCK_JOB,
  };
  const workspace = await makeWorkspace(files, {
    STORE_API_KEY: store.apiKey,
    STOREFERRY_LEASE_MS: '5000',
    ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
  });
  const run = async (...args: readonly string[]) => {
    const { code, stdout, stderr, json } = await workspace.storeferry(...args, '--json');
    if (stdout === '') throw new Error(stderr);
    const said: Record<string, unknown> = { ...json(), code };
    return said;
  };
  return {
    ...{ store, workspace, run },
    priceOf: (n: number) =>
      [...store.shop.products.values()].find(({ url }) => url === `product-${n}`)?.variants?.[0]?.price,
    /** Runs the job with these prices, and returns its result. */
    async sends(factors: Factors) {
      await workspace.write('catalog.csv', catalog(factors));
      return await run('run', 'nightly');
    },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

function suite(openRedis: () => Promise<Redis | undefined>): void {
  it('sends exactly the held bodies, by key and then all, and nothing twice', async () => {
    await using redis = await openRedis();
    await using shop = await openShop(redis);
    await shop.sends({});
    const held = await shop.sends({ 2: 20, 5: 20, 9: 20 });
    expect(held).toMatchObject({ code: 3, held: 3, applied: 0, unchanged: COUNT - 3 });
    const id = String(held['run']);
    const before = shop.priceOf(5);

    const one = await shop.run('release', id, 'product-2');
    expect(one).toMatchObject({ code: 0, status: 'done', records: 1, applied: 1, requests: 1, held: 0 });
    expect(shop.priceOf(2)).toBe(240);
    expect(shop.priceOf(5)).toBe(before);

    // What nobody has released stays held; what was released is unchanged.
    const again = await shop.run('run', 'nightly');
    expect(again).toMatchObject({ code: 3, held: 2, unchanged: COUNT - 2, requests: 0 });
    // The older run can still be released, as the newer one holds the same.
    expect(await shop.run('release', id)).toMatchObject({
      ...{ code: 0, records: 3, applied: 2, unchanged: 1, requests: 2 },
    });
    expect(await shop.run('release', id)).toMatchObject({ code: 0, unchanged: 3, applied: 0, requests: 0 });
    expect(await shop.run('run', 'nightly')).toMatchObject({
      ...{ code: 0, status: 'done', held: 0, unchanged: COUNT, requests: 0 },
    });
    const listed = await shop.run('runs', String(one['run']));
    expect(listed).toMatchObject({ kind: 'release', releaseOf: id });
    const history = await shop.workspace.storeferry('history', 'product-2');
    expect(history.stdout).toMatch(/variants\.price: 12 → 240/);
    expect(history.stdout).toContain('catalog.csv:');
    expect(shop.store.violations).toEqual([]);
  });

  it('refuses what changed since, and what the newest run no longer holds', async () => {
    await using redis = await openRedis();
    await using shop = await openShop(redis);
    await shop.sends({});
    const id = String((await shop.sends({ 2: 20, 5: 20, 9: 20, 12: 20 }))['run']);
    // Product 2 becomes 3 % dearer, product 5 goes back, product 9 is held with another price.
    await shop.sends({ 2: 1.03, 9: 30, 12: 20 });
    shop.store.forget();
    const result = await shop.run('release', id);
    expect(result).toMatchObject({ code: 3, records: 4, applied: 1, rejected: 3, requests: 1 });
    expect([2, 5, 9, 12].map((n) => shop.priceOf(n))).toEqual([12.36, 15, 19, 440]);
    const text = await shop.workspace.storeferry('runs', String(result['run']));
    expect(text.stdout).toContain(`the store has acknowledged another version since run ${id} held this one`);
    expect(text.stdout).toContain('is newer and does not hold these values');
    expect(text.stdout).not.toContain('rejects file');
    expect(text.stdout).not.toContain('retry');
  });

  it('sends also what the source no longer has, which may list changes alone', async () => {
    await using redis = await openRedis();
    await using shop = await openShop(redis);
    await shop.sends({});
    const id = String((await shop.sends({ [COUNT]: 20 }))['run']);
    await shop.workspace.write('catalog.csv', shopifyCatalog(manyProducts(COUNT - 1)));
    expect(await shop.run('run', 'nightly')).toMatchObject({ code: 0, held: 0, requests: 0 });
    expect(await shop.run('release', id)).toMatchObject({ code: 0, applied: 1, rejected: 0 });
    expect(shop.priceOf(COUNT)).toBe((10 + COUNT) * 20);
  });

  it('continues after it was killed', async () => {
    await using redis = await openRedis();
    await using shop = await openShop(redis, { latencyMs: 100 });
    await shop.sends({});
    const all = Object.fromEntries(Array.from({ length: COUNT }, (_, index) => [index + 1, 20]));
    const id = String((await shop.sends(all))['run']);
    shop.store.forget();
    const killed = shop.workspace.start('release', id);
    await until(() => shop.store.figures().requests >= 3);
    killed.process.kill('SIGKILL');
    await killed.ended;
    let result = await shop.run('release', id);
    // With Redis the lock of the killed process lasts a little longer.
    while (result['run'] === null) {
      expect(result['code']).toBe(1);
      result = await shop.run('release', id);
    }
    expect(result).toMatchObject({ code: 0, records: COUNT, rejected: 0, unsent: 0 });
    expect(Array.from({ length: COUNT }, (_, index) => shop.priceOf(index + 1))).toEqual(
      Array.from({ length: COUNT }, (_, index) => (11 + index) * 20),
    );
    expect(await shop.run('run', 'nightly')).toMatchObject({ code: 0, held: 0, requests: 0 });
    expect(shop.store.violations).toEqual([]);
  });
}

describe('release', () => {
  suite(async () => undefined);

  it('leaves the product to its job where an update was held', async () => {
    await using shop = await openShop(undefined);
    await shop.sends({});
    const product = [...shop.store.shop.products.values()].find(({ url }) => url === 'product-3');
    const sku = product?.variants?.[0]?.sku;
    await shop.workspace.write('prices.csv', `SKU,Price\n${sku},999\n`);
    const held = await shop.run('run', 'prices');
    expect(held).toMatchObject({ code: 3, held: 1 });
    expect(await shop.run('release', String(held['run']))).toMatchObject({ code: 0, applied: 1 });
    expect(shop.priceOf(3)).toBe(999);
    expect(await shop.run('show', 'product-3')).toMatchObject({ job: 'nightly', held: [] });
    expect(await shop.run('run', 'prices')).toMatchObject({ code: 0, held: 0, unchanged: 1 });
  });

  it('is the next step of the run, and of show, and is in the audit log', async () => {
    await using shop = await openShop(undefined);
    await shop.sends({});
    await shop.workspace.write('catalog.csv', catalog({ 2: 20 }));
    const { stdout } = await shop.workspace.storeferry('run', 'nightly');
    const [, id = ''] = /release (\w+)/.exec(stdout) ?? [];
    expect(stdout).toContain('If the held values are right, to send the record');
    const shown = await shop.workspace.storeferry('show', 'product-2');
    expect(shown.stdout).toContain(`Held by nightly, in run ${id}`);
    expect(shown.stdout).toContain('variants.price: 12 → 240');
    expect(shown.stdout).toContain(`release ${id} product-2`);
    expect(await shop.run('show', 'product-2')).toMatchObject({
      held: [{ run: id, job: 'nightly', changes: [{ field: 'variants.price', old: 12, new: 240 }] }],
    });
    const released = await shop.workspace.storeferry('release', id);
    expect(released.code).toBe(0);
    expect(released.stdout).toContain('Done: 1 product was sent');
    expect((await shop.run('runs', '--audit'))['audit']).toContainEqual(
      expect.objectContaining({ action: 'release', job: 'nightly', of: id, outcome: 'done' }),
    );
    expect((await shop.workspace.storeferry('show', 'product-2')).stdout).not.toContain('Held by');
  });

  it('is not offered by show for what it would refuse', async () => {
    await using shop = await openShop(undefined);
    await shop.sends({});
    const id = String((await shop.sends({ 2: 20 }))['run']);
    expect(await shop.run('show', 'product-2')).toMatchObject({ held: [{ run: id }] });
    await shop.workspace.write('catalog.csv', catalog({ 2: 20 }).replace('240.00', 'soon'));
    expect(await shop.run('run', 'nightly')).toMatchObject({ code: 3, rejected: 1 });
    expect(await shop.run('show', 'product-2')).toMatchObject({ held: [] });
    expect(await shop.run('release', id, 'product-2')).toMatchObject({ applied: 0, rejected: 1 });
  });

  it('refuses plans, runs that hold nothing, and keys that are not held', async () => {
    await using shop = await openShop(undefined);
    const first = String((await shop.sends({}))['run']);
    const refused = async (...args: readonly string[]) => {
      const { code, stderr } = await shop.workspace.storeferry('release', ...args);
      expect(code).toBe(2);
      return stderr;
    };
    expect(await refused(first)).toContain(`The run ${first} holds no records`);
    await shop.workspace.write('catalog.csv', catalog({ 2: 20 }));
    const plan = String((await shop.run('plan', 'nightly'))['run']);
    expect(await refused(plan)).toContain(`approve ${plan}`);
    const id = String((await shop.run('run', 'nightly'))['run']);
    expect(await refused(id, 'product-2', 'product-3')).toContain('holds no record "product-3"');
    expect(shop.priceOf(2)).toBe(12);
  });
});

describe('a record outside of the sample of a plan', () => {
  it('is shown as such', async () => {
    await using shop = await openShop(undefined);
    await shop.sends({});
    await shop.workspace.write('catalog.csv', catalog({ 2: 1.1, 9: 1.1 }));
    for (const sample of [
      ['--only', 'product-2'],
      ['--limit', '2'],
    ]) {
      const { stdout } = await shop.workspace.storeferry('plan', 'nightly', ...sample, '--show', 'product-9');
      expect(stdout).toContain('Not in the sample');
      const inside = await shop.workspace.storeferry('plan', 'nightly', ...sample, '--show', 'product-2');
      expect(inside.stdout).toContain('Changed since');
    }
    // Equal to what the store has: unchanged in the sample, and left out beyond it.
    const show = async (key: string) =>
      (await shop.workspace.storeferry('plan', 'nightly', '--limit', '2', '--show', key)).stdout;
    expect(await show('product-1')).toContain('Unchanged:');
    expect(await show('product-8')).toContain('Not in the sample');
  });
});

describeWithRedis('release with the state in Redis', () => {
  suite(startRedis);
});

it('is not refused for what a newer run has held for another store', async () => {
  await using shop = await openShop(undefined);
  const other = await startStore({ seed: 2, apiKey: shop.store.apiKey });
  const stores = join(shop.workspace.dir, 'stores.yaml');
  const before = await readFile(stores, 'utf8');
  await shop.sends({});
  const id = String((await shop.sends({ 5: 20 }))['run']);
  await shop.workspace.write('stores.yaml', before.replaceAll(shop.store.baseUrl, other.baseUrl));
  expect(await shop.sends({})).toMatchObject({ applied: COUNT });
  expect(await shop.sends({ 5: 30 })).toMatchObject({ held: 1 });
  await shop.workspace.write('stores.yaml', before);
  expect(await shop.run('release', id)).toMatchObject({ code: 0, applied: 1, rejected: 0 });
  await other.close();
});
