import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';
import { makeXlsx } from '../tables/workbooks.ts';

const HEADER = 'id,title,description,price,availability,image_link,link';
const feed = (...prices: readonly string[]) =>
  [
    HEADER,
    ...prices.map(
      (price, index) =>
        `${index},Cable ${index},x,${price},in stock,https://i.example/1.jpg,https://s.example/1`,
    ),
  ].join('\n');

const JOB =
  'import: products\nstore: main\nsource: { path: feed.csv }\nmapping: google-merchant-products\nsafety: { maxRejects: off }\n';
const stores = (baseUrl: string, more = '') =>
  `main: { baseUrl: "${baseUrl}", apiKey: "\${STORE_API_KEY}" ${more} }\n`;

async function setUp(env: Readonly<Record<string, string>> = {}) {
  const store = await startStore();
  const workspace = await makeWorkspace(
    { 'stores.yaml': stores(store.baseUrl), 'jobs/feed.yaml': JOB },
    { STORE_API_KEY: store.apiKey, ...env },
  );
  const pricesSent = () =>
    [...store.shop.products.values()].map(({ variants }) => variants?.[0]?.price).toSorted();
  return { store, workspace, pricesSent };
}

async function run(workspace: Workspace, prices: readonly string[]) {
  await workspace.write('feed.csv', feed(...prices));
  const { code, json } = await workspace.storeferry('run', 'feed', '--json');
  const { applied, unchanged, rejected } = json();
  return { code, applied, unchanged, rejected };
}

/** A currency that comes later, in a row of a block that is read alone. */
async function keepsToOne(env: Readonly<Record<string, string>> = {}): Promise<void> {
  const { store, workspace, pricesSent } = await setUp(env);
  await using _store = store;
  await using _workspace = workspace;
  expect(await run(workspace, ['1.80 EUR', '2358.00 EUR'])).toMatchObject({ code: 0, applied: 2 });
  expect(await run(workspace, ['1.80 EUR', '2358.00 EUR', '99.00 TRY'])).toMatchObject({
    ...{ code: 3, applied: 0, unchanged: 2, rejected: 1 },
  });
  expect(pricesSent()).toEqual([1.8, 2358]);
  await workspace.write('stores.yaml', stores(store.baseUrl, ', currency: TRY'));
  expect(await run(workspace, ['1.80 EUR', '2358.00 EUR', '99.00 TRY'])).toMatchObject({
    ...{ code: 3, applied: 1, rejected: 2 },
  });
  expect(pricesSent()).toEqual([1.8, 2358, 99]);
}

describe('prices in several currencies', () => {
  it('are never sent to a store that does not say what it sells in', async () => {
    const { store, workspace, pricesSent } = await setUp();
    await using _store = store;
    await using _workspace = workspace;
    expect(await run(workspace, ['1.80 USD', '2358.00 EUR', '99.00 TRY', '5.00'])).toEqual({
      ...{ code: 3, applied: 1, unchanged: 0, rejected: 3 },
    });
    expect(pricesSent()).toEqual([5]);
    const { stdout } = await workspace.storeferry('plan', 'feed');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      'the source has prices in USD, EUR, TRY, and the store can sell in one currency only: set `currency:`',
    );
  });

  it('are refused in a workbook by the formats of its cells, and keep their currencies in the rejects', async () => {
    const { store, workspace } = await setUp();
    await using _store = store;
    await using _workspace = workspace;
    const price = (format: string) => ({ number: '12.5', format });
    const rows = [
      ['Key', 'Price'],
      ['a', price('[$€-407]0.00')],
      ['b', price('[$$-409]0.00')],
      ['c', price('0.00')],
    ];
    const mapping = `import: products
columns: { key: Key, price: Price }
product: { url: key, title: key }
variants: { pricing: { price: price } }`;
    await workspace.write('stores.yaml', stores(store.baseUrl, ', currency: EUR'));
    await workspace.write('mappings/own.yaml', mapping);
    await workspace.write(
      'jobs/book.yaml',
      JOB.replace('feed.csv', 'a.xlsx').replace(/mapping: .*/, 'mapping: own'),
    );
    await writeFile(join(workspace.dir, 'a.xlsx'), makeXlsx([{ name: 'Prices', rows }]));
    const { json } = await workspace.storeferry('run', 'book', '--json');
    expect(json()).toMatchObject({ applied: 2, rejected: 1 });
    const rejects = await readFile(join(workspace.dir, String(json()['rejectsFile'])), 'utf8');
    expect(rejects).toContain("the price is in '$', and the store sells in EUR");
    expect(rejects).toContain('\nb,12.50 $,');
  });

  it('stay with the column that the reason names, not with one without a header', async () => {
    const { store, workspace } = await setUp();
    await using _store = store;
    await using _workspace = workspace;
    const price = (format: string) => ({ number: '12.5', format });
    const rows = [
      ['Key', '', 'Price'],
      ['a', price('[$€-407]0.00'), price('[$€-407]0.00')],
      ['b', price('[$€-407]0.00'), price('[$$-409]0.00')],
    ];
    await workspace.write('stores.yaml', stores(store.baseUrl, ''));
    await workspace.write(
      'mappings/own.yaml',
      'import: products\ncolumns: { key: Key, price: Price }\nproduct: { url: key, title: key }\nvariants: { pricing: { price: price } }\n',
    );
    await workspace.write(
      'jobs/book.yaml',
      JOB.replace('feed.csv', 'a.xlsx').replace(/mapping: .*/, 'mapping: own'),
    );
    await writeFile(join(workspace.dir, 'a.xlsx'), makeXlsx([{ name: 'Prices', rows }]));
    const { json } = await workspace.storeferry('run', 'book', '--json');
    expect(json()).toMatchObject({ applied: 0, rejected: 2 });
    const rejects = await readFile(join(workspace.dir, String(json()['rejectsFile'])), 'utf8');
    expect(rejects).toContain('\na,12.50,12.50 €,');
    expect(rejects).toContain('\nb,12.50,12.50 $,');
  });

  it('are never sent later either: the first currency stays', async () => {
    await keepsToOne();
  });

  it('need an answer in init, which stores.yaml keeps', async () => {
    await using workspace = await makeWorkspace({ 'in.csv': feed('1.80 USD', '2358.00 EUR') });
    const init = (...more: readonly string[]) =>
      workspace.storeferry(
        'init',
        '--sandbox',
        '--source',
        join(workspace.dir, 'in.csv'),
        '--job',
        'j',
        '--yes',
        ...more,
      );
    const asked = await init();
    expect(asked.code).toBe(2);
    expect(asked.stderr).toContain('--currency with one of: USD, EUR');
    expect(asked.stderr).not.toContain('stores.yaml says');
    expect((await init('--currency', 'euros')).code).toBe(2);
    const made = await init('--currency', 'eur');
    expect(made.code).toBe(3);
    expect(made.stderr).toContain('Prices in USD are rejected: the store sells in EUR.');
    expect(await readFile(join(workspace.dir, 'stores.yaml'), 'utf8')).toContain('  currency: EUR #');
  });

  it('are inferred by init where there is only one', async () => {
    await using workspace = await makeWorkspace({ 'in.csv': feed('1.80 USD', '2.00 USD') });
    const made = await workspace.storeferry(
      'init',
      '--sandbox',
      '--source',
      join(workspace.dir, 'in.csv'),
      '--yes',
    );
    expect(made.code).toBe(0);
    expect(made.stderr).toContain('The prices are in USD: stores.yaml says');
    expect(await readFile(join(workspace.dir, 'stores.yaml'), 'utf8')).toContain('  currency: USD #');
    await workspace.write('eur.csv', feed('1.80 EUR', '2.00 EUR', '3.00 EUR', '4.00 EUR', '5.00 EUR'));
    const other = await workspace.storeferry(
      'init',
      '--source',
      join(workspace.dir, 'eur.csv'),
      '--job',
      'eur',
      '--yes',
    );
    expect(other.stderr).toContain('Prices in EUR are rejected: the store sells in USD.');
    expect(other.code).not.toBe(0);
  });
});

describeWithRedis('prices in several currencies, with the state in Redis', () => {
  it('are never sent later either', async () => {
    await using redis = await startRedis();
    await keepsToOne({ REDIS_URL: redis.url });
  });
});
