import { expect, it } from 'vitest';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

const MAPPING = `import: products
columns: { url: slug, title: name, price: price, note: note }
required: [url, title, price]
product: { url: url, title: title, description: note }
variants: { pricing: { price: price } }
`;
const job = (source: string, more = '') =>
  `import: products\nstore: main\nsource: ${source}\nmapping: own\n${more}`;
const ONE = { slug: 'mug', name: 'Mug', price: 10 };

it.each([
  ['at its path', '{ path: in.json, records: products }', (records: object[]) => ({ products: records })],
  ['alone', '{ path: in.json }', (records: object[]) => records],
])('a list of JSON without records, %s, is a source without rows', async (_, source, exported) => {
  const store = await startStore({ seed: 1 });
  await using workspace = await makeWorkspace(
    {
      'stores.yaml': `main:\n  baseUrl: ${store.baseUrl}\n  apiKey: \${STORE_API_KEY}\n`,
      'jobs/nightly.yaml': job(source),
      'mappings/own.yaml': MAPPING,
      'in.json': JSON.stringify(exported([ONE])),
    },
    { STORE_API_KEY: store.apiKey },
  );
  const run = async () => (await workspace.storeferry('run', 'nightly', '--json')).json();
  try {
    expect(await run()).toMatchObject({ status: 'done', applied: 1 });
    await workspace.write('in.json', JSON.stringify(exported([])));
    expect(await run()).toMatchObject({ status: 'stopped', rows: 0, requests: 0 });
    await workspace.write('jobs/nightly.yaml', job(source, 'safety: { minRows: 0 }\n'));
    expect((await workspace.storeferry('check', '--online')).code).toBe(0);
    expect(await run()).toMatchObject({ status: 'done', rows: 0, error: null });
    await workspace.write('in.json', JSON.stringify(exported([{ ...ONE, price: 11 }])));
    const { code, stdout } = await workspace.storeferry('run', 'nightly');
    expect([code, stdout]).toEqual([0, expect.not.stringContaining('no longer has')]);
  } finally {
    await store.close();
  }
});

it('a mirror of several files deletes nothing when the list of one is empty', async () => {
  const store = await startStore({ seed: 1 });
  const products = (from: number, to: number) =>
    JSON.stringify({
      products: Array.from({ length: to - from }, (_, n) => ({ ...ONE, slug: `mug-${from + n}` })),
    });
  const source = '{ path: "in*.json", records: products }';
  await using workspace = await makeWorkspace(
    {
      'stores.yaml': `main:\n  baseUrl: ${store.baseUrl}\n  apiKey: \${STORE_API_KEY}\n`,
      'jobs/nightly.yaml': job(source, 'mode: mirror\n'),
      'mappings/own.yaml': MAPPING,
      'in1.json': products(0, 28),
      'in2.json': products(28, 29),
    },
    { STORE_API_KEY: store.apiKey },
  );
  const run = async () => (await workspace.storeferry('run', 'nightly', '--json')).json();
  try {
    expect(await run()).toMatchObject({ status: 'done', applied: 29 });
    for (const emptied of ['in2.json', 'in1.json']) {
      await workspace.write('in1.json', products(0, 28));
      await workspace.write(emptied, products(0, 0));
      expect(await run()).toMatchObject({
        status: 'failed',
        requests: 0,
        error: expect.stringContaining(`${emptied}: The JSON file has no records`),
      });
      expect(store.shop.products.size).toBe(29);
    }
    expect((await workspace.storeferry('check', '--online')).code).not.toBe(0);
  } finally {
    await store.close();
  }
});

it.each([
  ['lookup', '{ path: stock.json, match: Article }', '[url, { table: stock, column: Qty }]'],
  ['join', '{ path: stock.json, match: Article, join: { on: url, columns: { qty: Qty } } }', 'stock.qty'],
])('a list of JSON without records is refused as a %s', async (_, lookup, quantity) => {
  const store = await startStore({ seed: 1 });
  await using workspace = await makeWorkspace(
    {
      'stores.yaml': `main:\n  baseUrl: ${store.baseUrl}\n  apiKey: \${STORE_API_KEY}\n`,
      'jobs/nightly.yaml': job('{ path: in.json }'),
      'mappings/own.yaml': `lookups: { stock: ${lookup} }\n${MAPPING.replace('variants: {', `variants: { quantity: ${quantity},`)}`,
      'stock.json': '[]',
      'in.json': JSON.stringify([ONE]),
    },
    { STORE_API_KEY: store.apiKey },
  );
  try {
    const run = await workspace.storeferry('run', 'nightly', '--json');
    expect(run.json()).toMatchObject({
      status: 'failed',
      error: expect.stringContaining("stock.json: The lookup 'stock' has no records."),
    });
  } finally {
    await store.close();
  }
});
