import { createServer } from 'node:http';
import { json } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { makeWorkspace } from '../support/workspace.ts';

/** A store that takes urls for the same whatever their case, as many do. */
async function startCaselessStore() {
  const ids = new Map<string, number>();
  const titles = new Map<string, unknown>();
  const deleted: string[] = [];
  const server = createServer(async (request, response) => {
    const answer = (body: object) => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(body));
    };
    if (request.method === 'DELETE') {
      deleted.push(request.url ?? '');
      return answer({ success: true, message: '' });
    }
    const body = await json(request);
    if (typeof body !== 'object' || body === null || !('url' in body))
      throw new Error('a product without url');
    const url = String(body.url).toLowerCase();
    ids.set(url, ids.get(url) ?? ids.size + 1);
    if ('title' in body) titles.set(url, body.title);
    answer({ ...body, id: ids.get(url), url });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    deleted,
    /** The id that it has given, in the order in which requests arrived. */
    idOf: (url: string) => ids.get(url),
    titleOf: (url: string) => titles.get(url),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

it('does not delete a product that the store has only renamed', async () => {
  await using store = await startCaselessStore();
  const products = manyProducts(30);
  await using workspace = await makeWorkspace(
    catalogWorkspace(store.baseUrl, shopifyCatalog(products), { mode: 'mirror' }),
    { STORE_API_KEY: 'key' },
  );
  await workspace.storeferry('run', 'nightly');
  const renamed = products
    .filter(({ handle }) => handle !== 'product-9')
    .map((product) => (product.handle === 'product-7' ? { ...product, handle: 'Product-7' } : product));
  await workspace.write('catalog.csv', shopifyCatalog(renamed));
  await workspace.write(
    'jobs/nightly.yaml',
    'import: products\nstore: main\nsource: { path: catalog.csv }\nmapping: shopify-products\nmode: mirror\nsafety: { maxDeletes: 50% }\n',
  );
  const second = await workspace.storeferry('run', 'nightly', '--json');
  expect(second.json()).toMatchObject({ status: 'done', new: 1, removed: 2, deleted: 2, requests: 2 });
  expect(store.deleted).toEqual([`/api/site/products/${store.idOf('product-9')}`]);

  const third = await workspace.storeferry('run', 'nightly', '--json');
  expect(third.json()).toMatchObject({ status: 'done', removed: 0, requests: 0 });
});

it('does not delete the product of another job that the store takes for the same', async () => {
  await using store = await startCaselessStore();
  const [shoe, ...others] = manyProducts(5);
  if (shoe === undefined) throw new Error('five products');
  const job = (source: string) =>
    `import: products\nstore: main\nsource: { path: ${source} }\nmapping: shopify-products\nmode: mirror\nsafety: { maxDeletes: off, minRows: off }\n`;
  const files = catalogWorkspace(store.baseUrl, '', { mode: 'mirror' });
  await using workspace = await makeWorkspace(
    {
      ...files,
      'jobs/nightly.yaml': job('catalog.csv'),
      'jobs/weekly.yaml': job('weekly.csv'),
      'catalog.csv': shopifyCatalog([shoe]),
      'weekly.csv': shopifyCatalog([{ ...shoe, handle: shoe.handle.toUpperCase() }, ...others]),
    },
    { STORE_API_KEY: 'key' },
  );
  await workspace.storeferry('run', 'weekly');
  await workspace.storeferry('run', 'nightly');
  await workspace.write('weekly.csv', shopifyCatalog(others));
  const dropped = await workspace.storeferry('run', 'weekly', '--json');
  expect(dropped.json()).toMatchObject({ status: 'done', removed: 1, deleted: 1, requests: 0 });
  expect(store.deleted).toEqual([]);
});

it('names two urls that the store may take for one, and once it has, no longer writes the second over the first', async () => {
  await using store = await startCaselessStore();
  const products = manyProducts(5);
  const catalog = (title: string) =>
    shopifyCatalog([
      ...products.map((product) => ({ ...product, title: `${title} of ${product.handle}` })),
      { handle: 'Product-3', title: `${title} of another`, price: '12.00' },
    ]);
  await using workspace = await makeWorkspace(catalogWorkspace(store.baseUrl, catalog('First')), {
    STORE_API_KEY: 'key',
  });
  const first = await workspace.storeferry('run', 'nightly');
  expect(first.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'in spelling alone: the store may take both for one product (Product-3)',
  );
  await workspace.write('catalog.csv', catalog('Second'));
  const second = (await workspace.storeferry('run', 'nightly', '--json')).json();
  expect(second).toMatchObject({ status: 'done-with-rejects', applied: 5, held: 1, requests: 5 });
  expect(store.titleOf('product-3')).toBe('Second of product-3');
  const records = ['runs', String(second['run']), '--records', '--outcome', 'held'];
  expect((await workspace.storeferry(...records)).stdout).toContain('Product-3');
  expect((await workspace.storeferry('release', String(second['run']))).code).toBe(0);
  expect(store.titleOf('product-3')).toBe('Second of another');
});
