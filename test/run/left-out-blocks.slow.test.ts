import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type CatalogProduct, catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { startRedis } from '../support/redis.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

/** More than the beginning of a file, in which no block is left out. */
const PRODUCTS = 800;
const LAST = `product-${PRODUCTS - 100}`;

const BLOCKS = join('.storeferry', 'artifacts', 'blocks', 'nightly.bin');

async function setup(state: string, job: Readonly<Record<string, string>> = {}) {
  await using stack = new AsyncDisposableStack();
  const store = await startStore({ seed: 1 });
  stack.defer(() => store.close());
  const redis = state === 'Redis' ? stack.use(await startRedis({ aof: false })) : undefined;
  const workspace = stack.use(
    await makeWorkspace(catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(PRODUCTS)), job), {
      STORE_API_KEY: store.apiKey,
      ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
    }),
  );
  const disposal = stack.move();
  return { store, workspace, [Symbol.asyncDispose]: () => disposal.disposeAsync() };
}

async function run(workspace: Workspace, job = 'nightly') {
  return (await workspace.storeferry('run', job, '--json')).json();
}

function withPrice(price: string, ...handles: readonly string[]): string {
  const products = manyProducts(PRODUCTS).map(
    (product): CatalogProduct => (handles.includes(product.handle) ? { ...product, price } : product),
  );
  return shopifyCatalog(products);
}

describe.each(['SQLite', 'Redis'])('the blocks of a run, with the state in %s', (state) => {
  it('are left out by the next one, which sends only what has changed, wherever it is', async () => {
    await using setting = await setup(state, { mode: 'mirror', safety: '{ maxDeletes: off, minRows: 0 }' });
    const { workspace, store } = setting;
    expect(await run(workspace)).toMatchObject({ status: 'done', applied: PRODUCTS });
    const first = await readFile(join(workspace.dir, BLOCKS));
    expect(await run(workspace)).toMatchObject({ unchanged: PRODUCTS, operations: 0, rows: PRODUCTS });
    // Blocks that are left out are kept as they were.
    expect(await readFile(join(workspace.dir, BLOCKS))).toEqual(first);
    const [gone, ...others] = manyProducts(PRODUCTS).slice(-200);
    const edited = withPrice('99.00', LAST).replace(new RegExp(`^${gone?.handle},.*\n`, 'm'), '');
    await workspace.write('catalog.csv', edited);
    expect(others.length).toBe(199);
    expect(await run(workspace)).toMatchObject({
      ...{ unchanged: PRODUCTS - 2, changed: 1, removed: 1, deleted: 1, rows: PRODUCTS - 1 },
    });
    expect(store.shop.products.size).toBe(PRODUCTS - 1);
    expect(await run(workspace)).toMatchObject({ unchanged: PRODUCTS - 1, operations: 0 });
  });

  it('are read again when another job or an undo has written since, or they are damaged', async () => {
    await using setting = await setup(state);
    const { workspace, store } = setting;
    await run(workspace);
    await workspace.write(
      'jobs/other.yaml',
      'import: products\nstore: main\nsource: { path: other.csv }\nmapping: shopify-products\n',
    );
    const other = manyProducts(1, PRODUCTS - 100).map((product) => ({ ...product, price: '77.00' }));
    await workspace.write('other.csv', shopifyCatalog(other));
    expect(await run(workspace, 'other')).toMatchObject({ changed: 1, applied: 1 });
    expect(await run(workspace)).toMatchObject({ changed: 1, applied: 1, unchanged: PRODUCTS - 1 });

    await workspace.write('catalog.csv', withPrice('55.00', LAST));
    const { run: edited } = await run(workspace);
    const undone = (await workspace.storeferry('undo', String(edited), '--json')).json();
    expect(await workspace.storeferry('approve', String(undone['run']))).toMatchObject({ code: 0 });
    expect(await run(workspace)).toMatchObject({ changed: 1, applied: 1, unchanged: PRODUCTS - 1 });

    const path = join(workspace.dir, BLOCKS);
    const bytes = await readFile(path);
    bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
    await writeFile(path, bytes);
    await workspace.write('catalog.csv', withPrice('56.00', LAST));
    expect(await run(workspace)).toMatchObject({ changed: 1, applied: 1, unchanged: PRODUCTS - 1 });
    expect(store.lastBody(LAST)).toContain('56');
  });
});
