import { once } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { openContext } from '../../src/cli/open-context.ts';
import type { Profile } from '../../src/sandbox/start-sandbox.ts';
import { endOf } from '../dashboard/server/end-of.ts';
import { serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { setup } from '../sandbox/setup.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { makeWorkspace } from '../support/workspace.ts';

const KEY = 'key-of-the-sandbox-tests';
const FILES = {
  'mappings/goods.yaml': `import: products
columns: { url: Url, title: Title, text: Text, sku: SKU, price: Price }
product: { url: url, title: title, description: text }
variants: { sku: sku, pricing: { price: [price, number] } }
`,
  'jobs/goods.yaml': `import: products
store: main
source: { path: goods.csv }
mapping: goods
safety: { maxPriceMoves: off }
`,
};

function catalog(count: number, price: number, title = 'Mug'): string {
  const rows = Array.from(
    { length: count },
    (_, number) => `mug-${number},${title} ${number},Text ${number},sku-${number},${price}`,
  );
  return `Url,Title,Text,SKU,Price\n${rows.join('\n')}\n`;
}

interface StoredProduct {
  readonly id: number;
  readonly url: string;
  readonly title: string;
  readonly description: string;
  readonly variants: readonly { readonly price: number; readonly sku: string; readonly quantity?: number }[];
}

interface ShopOptions {
  readonly profiles: readonly Profile[];
  readonly count: number;
  readonly redisUrl?: string | undefined;
  readonly jobLines?: string;
  readonly latencyMs?: number;
  /** What a store of other habits makes of the answers to reads. */
  readonly answering?: ((product: StoredProduct) => object) | undefined;
}

/** A store that passes requests on, and answers products of reads in another way. */
async function answerOtherwise(url: string, answering: (product: StoredProduct) => object) {
  const server = createServer(async (request, response) => {
    const { method = '', url: path = '', headers } = request;
    const sent = await text(request);
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
        ['authorization', 'user-agent', 'content-type'].includes(name) ? [[name, String(value)]] : [],
      ),
      ...(sent !== '' && { body: sent }),
    });
    let content = await answer.text();
    if (method === 'GET' && /^\/api\/site\/products\b/.test(path) && answer.ok) {
      const { items, ...json } = JSON.parse(content);
      content = JSON.stringify(
        items === undefined ? answering(json) : { ...json, items: items.map(answering) },
      );
    }
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(content);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A probed store with a first import behind it, and hands to edit products in it. */
async function openShop({ profiles, count, redisUrl, jobLines = '', latencyMs = 0, answering }: ShopOptions) {
  const store = await setup({ profiles, latencyMs });
  const proxy = answering && (await answerOtherwise(store.url, answering));
  const folder = await makeWorkspace(
    {
      ...FILES,
      'jobs/goods.yaml': FILES['jobs/goods.yaml'] + jobLines,
      'goods.csv': catalog(count, 10),
      'stores.yaml': `main: { baseUrl: "${proxy?.url ?? store.url}", apiKey: "\${STORE_API_KEY}", limits: { timeoutSeconds: 2 } }\n`,
    },
    { STORE_API_KEY: KEY, ...(redisUrl === undefined ? {} : { REDIS_URL: redisUrl }) },
  );
  const run = async (...words: readonly string[]) => {
    const { code, stdout, stderr, json } = await folder.storeferry(...words, '--json');
    if (stdout === '') throw new Error(stderr);
    const said: Record<string, unknown> = { ...json(), code };
    return said;
  };
  const held = async (): Promise<ReadonlyMap<string, StoredProduct>> => {
    const products = new Map<string, StoredProduct>();
    for (const product of (await store.list('/_sandbox/products')) as StoredProduct[])
      products.set(product.url, product);
    return products;
  };
  const edit = async (url: string, fields: object) => {
    const { id } = (await held()).get(url) ?? {};
    const response = await fetch(`${store.url}/api/site/products/${id}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${KEY}`, 'user-agent': 'hand/1', 'content-type': 'application/json' },
      body: JSON.stringify(fields),
    });
    if (!response.ok) throw new Error(await response.text());
  };
  expect((await folder.storeferry('probe')).code).toBe(0);
  return {
    ...{ store, folder, run, held, edit },
    /** What was learned is not all that there is. */
    unlearn: (property: string) => changeProbe(folder.dir, { [property]: null }),
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]();
      await proxy?.[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

async function probeIn(dir: string) {
  const probes = join(dir, '.storeferry', 'artifacts', 'probes');
  const [name = ''] = await readdir(probes);
  const file = join(probes, name);
  return { file, ...JSON.parse(await readFile(file, 'utf8')) };
}

async function changeProbe(dir: string, changed: Readonly<Record<string, null>>) {
  const { file, ...probe } = await probeIn(dir);
  await writeFile(file, JSON.stringify({ ...probe, properties: { ...probe.properties, ...changed } }));
}

const priceOf = (product: StoredProduct | undefined) => product?.variants[0]?.price;
const variantsAt = (number: number, price: number) => [
  { price, regularPrice: price, onSale: false, sku: `sku-${number}`, options: [] },
];

describe('a store that no longer keeps absent fields', () => {
  it.each([
    ['by upsert', 'updatesProductById'],
    ['by PUT', 'readsProducts'],
  ])('gets whole bodies after three answers that show it, %s', async (_, unlearned) => {
    await using data = await makeWorkspace({});
    const options = { dataDir: data.dir, seedSize: { contacts: 0, orders: 0 } };
    const before = await setup({ ...options, profiles: ['extended'] });
    await using folder = await makeWorkspace(
      {
        ...FILES,
        'mappings/goods.yaml': FILES['mappings/goods.yaml'].replace(
          'text }',
          'text, images: [{ const: "https://x.example/1.jpg" }] }',
        ),
        'goods.csv': catalog(6, 10),
        'stores.yaml': `main: { baseUrl: "${before.url}", apiKey: "\${STORE_API_KEY}", limits: { concurrency: 1 } }\n`,
      },
      { STORE_API_KEY: KEY },
    );
    const run = async (price: number) => {
      await folder.write('goods.csv', catalog(6, price));
      return (await folder.storeferry('run', 'goods', '--json')).json();
    };
    await folder.storeferry('probe');
    await changeProbe(folder.dir, { readsProducts: null, [unlearned]: null });
    expect(await run(10)).toMatchObject({ requests: 6 });
    expect(await run(11)).toMatchObject({ requests: 6 });
    const urls = Array.from({ length: 6 }, (_, number) => `mug-${number}`);
    const isById = unlearned !== 'updatesProductById';
    for (const product of (await before.list('/_sandbox/products')) as StoredProduct[])
      if (isById && ['mug-1', 'mug-5'].includes(product.url))
        await before.send('PUT', `/api/site/products/${product.id}`, { url: `${product.url}-by-hand` });
    await before[Symbol.asyncDispose]();
    await using after = await setup({
      ...options,
      profiles: ['extended', 'replace-whole'],
      port: Number(new URL(before.url).port),
    });
    expect(await run(12)).toMatchObject({ requests: 9, applied: 6 });
    expect(await run(13)).toMatchObject({ requests: 6, applied: 6 });
    const products = (await after.list('/_sandbox/products')) as StoredProduct[];
    expect(products.map(({ url }) => url).toSorted()).toEqual(urls);
    for (const held of products)
      expect(held).toMatchObject({
        title: expect.stringMatching(/^Mug/),
        description: expect.stringMatching(/^Text/),
      });
    expect((await probeIn(folder.dir)).evidence['absentFieldsStay']).toMatch(
      /^partial updates of run \w+ emptied/,
    );
  });
});

async function editDescriptions(shop: Awaited<ReturnType<typeof openShop>>, edits: number, prices: number) {
  for (let number = 0; number < edits; number++) {
    await shop.edit(`mug-${number}`, {
      description: `By hand ${number}`,
      ...(number < prices && { variants: variantsAt(number, 99) }),
    });
  }
}

/** A catalog with two sizes of each product, and the stock that the source has of them. */
async function openStock(options: ShopOptions) {
  const shop = await openShop(options);
  const { folder, run, held } = shop;
  const columns = '{ url: Url, title: Title, size: Size, sku: SKU, price: Price, qty: Qty }';
  const job = 'import: products\nstore: main\nsafety: { maxPriceMoves: off }\n';
  await folder.write(
    'mappings/sizes.yaml',
    `import: products\ncolumns: ${columns}\ngroup: { by: url, rows: adjacent }\nproduct: { url: url, title: title }\noptions: { names: { const: Size }, values: size }\nvariants: { rows: all, sku: sku, pricing: { price: [price, number] }, quantity: [qty, integer] }\n`,
  );
  await folder.write('jobs/sizes.yaml', `${job}source: { path: sizes.csv }\nmapping: sizes\n`);
  await folder.write(
    'mappings/price.yaml',
    'import: products\ncolumns: { sku: SKU, price: Price }\nvariants: { sku: sku, pricing: { price: [price, number] } }\n',
  );
  await folder.write(
    'jobs/price.yaml',
    `${job}source: { path: price.csv }\nmapping: price\nmode: update\nmatch: sku\n`,
  );
  const numbers = Array.from({ length: options.count }, (_, number) => number);
  const source = async (price: number, small: number | '', large: number | '') => {
    const rows = numbers.flatMap((number) => [
      `bag-${number},Bag ${number},S,bag-${number}-s,${price},${small}`,
      `bag-${number},Bag ${number},L,bag-${number}-l,${price},${large}`,
    ]);
    await folder.write('sizes.csv', `Url,Title,Size,SKU,Price,Qty\n${rows.join('\n')}\n`);
  };
  const stock = async () =>
    [...(await held()).values()].map(({ variants }) =>
      variants.map(({ price, quantity }) => [price, quantity]),
    );
  return {
    ...{ shop, folder, run, source, stock },
    all: (...variants: readonly (readonly [number, number | null | undefined])[]) =>
      numbers.map(() => variants),
    /** What the shop sells, or counts. */
    async sell(small: number | null, large: number | null) {
      for (const [url, { id: _, ...product }] of await held()) {
        const [first, second] = product.variants;
        const variants = [
          { ...first, quantity: small },
          { ...second, quantity: large },
        ];
        await shop.edit(url, { ...product, variants });
      }
    },
    /** Until stock that the newest run has read is old. */
    async wait() {
      await folder.write('.env', `STORE_API_KEY=${KEY}\n`);
      await using open = await openContext(folder.dir, () => {}, new AbortController().signal);
      const { runs } = open.context.state;
      const [newest] = await runs.list({ job: 'sizes' });
      const past = Date.now() - 20 * 60_000;
      await runs.update(newest?.id ?? '', { startedAt: past, stagedAt: past });
    },
    [Symbol.asyncDispose]: () => shop[Symbol.asyncDispose](),
  };
}

const READABLE = [
  ['by PUT', { profiles: ['extended'], count: 2 }],
  ['by upsert', { profiles: ['extended'], count: 2 }],
  ['as whole products', { profiles: ['extended', 'replace-whole'], count: 2 }],
  ['from the list', { profiles: ['extended'], count: 60 }],
] as const;

describe('stock that a run does not change', () => {
  it.each(READABLE)('is sent as the store has it, %s', async (how, options) => {
    await using goods = await openStock(options);
    const { shop, folder, run, source, stock, all, sell } = goods;
    if (how === 'by upsert') await shop.unlearn('updatesProductById');
    if (how === 'as whole products') await shop.unlearn('updatesProductById');
    await source(10, 5, 7);
    expect(await run('run', 'sizes')).toMatchObject({ code: 0, applied: options.count });
    await sell(0, 3);
    await source(11, 5, 7);
    const fieldsChanged = { 'variants.price': options.count, 'variants.regularPrice': options.count };
    const first = await run('run', 'sizes');
    expect(first).toMatchObject({ code: 0, applied: options.count, held: 0, fieldsChanged });
    expect(first).not.toHaveProperty('edited');
    expect(await stock()).toEqual(all([11, 0], [11, 3]));
    // The ledger has what the source says: nothing is to send, and nothing was edited.
    expect(await run('run', 'sizes')).toMatchObject({ code: 0, unchanged: options.count, applied: 0 });
    expect(await run('drift', 'sizes')).toMatchObject({ code: 0, edited: 0 });

    await sell(0, 2);
    expect(await run('verify', 'sizes')).toMatchObject({ code: 0, sampled: Math.min(50, options.count) });
    expect(await stock(), 'after records were sent again').toEqual(all([11, 0], [11, 2]));
    const prices = Array.from(
      { length: options.count },
      (_, number) => `bag-${number}-s,12\nbag-${number}-l,12`,
    );
    await folder.write('price.csv', `SKU,Price\n${prices.join('\n')}\n`);
    const updated = await run('run', 'price');
    expect(updated).toMatchObject({ code: 0, applied: options.count });
    expect(await stock()).toEqual(all([12, 0], [12, 2]));

    await sell(1, 1);
    const undone = await run('undo', String(updated['run']));
    expect(await run('approve', String(undone['run']))).toMatchObject({ code: 0, applied: options.count });
    expect(await stock()).toEqual(all([11, 1], [11, 1]));

    await folder.write(
      'jobs/sizes.yaml',
      `${await readFile(join(folder.dir, 'jobs/sizes.yaml'), 'utf8')}keep: [variants.quantity]\n`,
    );
    await source(13, 50, 70);
    const kept = await folder.storeferry('run', 'sizes');
    expect(kept.stdout).toContain('Kept as the store has it: variants.quantity, which no job');
    expect(await stock()).toEqual(all([13, 1], [13, 1]));
  });

  it.each(READABLE)('is read again where a plan has waited for its approval, %s', async (how, options) => {
    await using goods = await openStock(options);
    const { shop, run, source, stock, all, sell, wait } = goods;
    if (how === 'by upsert' || how === 'as whole products') await shop.unlearn('updatesProductById');
    await source(10, 5, 7);
    await run('run', 'sizes');
    await source(11, 9, 7);
    const planned = await run('plan', 'sizes');
    await sell(1, 3);
    await wait();
    expect(await run('approve', String(planned['run']))).toMatchObject({ code: 0, applied: options.count });
    expect(await stock(), 'the small ones were counted, the large ones sold').toEqual(all([11, 9], [11, 3]));
    expect(await run('run', 'sizes')).toMatchObject({ code: 0, requests: 0, unchanged: options.count });
  });

  it('is read again of products that get another url', async () => {
    await using goods = await openStock({ profiles: ['extended'], count: 3 });
    const { folder, run, source, stock, all, sell, wait } = goods;
    await source(10, 5, 7);
    await run('run', 'sizes');
    await source(11, 5, 7);
    const renamed = await readFile(join(folder.dir, 'sizes.csv'), 'utf8');
    await folder.write('sizes.csv', renamed.replaceAll(/^bag-/gm, 'sack-'));
    const planned = await run('plan', 'sizes');
    expect(planned).toMatchObject({ renamed: 3 });
    await sell(1, 3);
    await wait();
    expect(await run('approve', String(planned['run']))).toMatchObject({ code: 0, applied: 3 });
    expect(await stock()).toEqual(all([11, 1], [11, 3]));
  });

  it('is that of the source where everything is sent again, however late', async () => {
    await using goods = await openStock({ profiles: ['extended'], count: 2 });
    const { run, source, stock, all, sell, wait } = goods;
    await source(10, 5, 7);
    await run('run', 'sizes');
    await sell(1, 3);
    const planned = await run('plan', 'sizes', '--resend');
    await wait();
    expect(await run('approve', String(planned['run']))).toMatchObject({ code: 0, applied: 2 });
    expect(await stock()).toEqual(all([10, 5], [10, 7]));
  });

  it('is sent as it was read before where one product cannot be read again', async () => {
    let unreadable = '';
    const answering = (product: StoredProduct) =>
      product.url === unreadable ? { ...product, id: 0 } : product;
    await using goods = await openStock({ profiles: ['extended'], count: 2, answering });
    const { run, source, stock, sell, wait } = goods;
    await source(10, 5, 7);
    await run('run', 'sizes');
    await source(11, 5, 7);
    const planned = await run('plan', 'sizes');
    await sell(1, 3);
    unreadable = 'bag-0';
    await wait();
    expect(await run('approve', String(planned['run']))).toMatchObject({ code: 0, applied: 2 });
    const sold = [
      [11, 1],
      [11, 3],
    ];
    expect(await stock()).toEqual([
      [
        [11, 5],
        [11, 7],
      ],
      sold,
    ]);
  });

  it('is that of the source where this has changed, for each variant', async () => {
    await using goods = await openStock({ profiles: ['extended'], count: 2 });
    const { run, source, stock, all, sell } = goods;
    await source(10, 5, 7);
    await run('run', 'sizes');
    await sell(1, 2);
    await source(10, 9, 7);
    expect(await run('run', 'sizes')).toMatchObject({
      applied: 2,
      fieldsChanged: { 'variants.quantity': 2 },
    });
    expect(await stock()).toEqual(all([10, 9], [10, 2]));
    await source(10, 9, '');
    await run('run', 'sizes');
    expect(await stock()).toEqual(all([10, 9], [10, null]));
  });

  it('is that of the shop where the source has none', async () => {
    await using goods = await openStock({ profiles: ['extended'], count: 2 });
    const { shop, run, source, stock, all, sell } = goods;
    await shop.unlearn('nullQuantity');
    await source(10, '', '');
    await run('run', 'sizes');
    await sell(4, null);
    await source(11, '', '');
    expect(await run('run', 'sizes')).toMatchObject({ code: 0, applied: 2 });
    expect(await stock()).toEqual(all([11, 4], [11, undefined]));
    // A store may answer 0 of stock that is not tracked.
    await sell(0, 6);
    await source(12, '', '');
    expect(await run('run', 'sizes')).toMatchObject({ code: 0, applied: 2 });
    expect(await stock()).toEqual(all([12, undefined], [12, 6]));
  });

  it.each([
    ['as it was read after a kill', false],
    ['as the store has it after a kill and a while', true],
  ])('goes on %s', async (_, isLate) => {
    await using goods = await openStock({ profiles: ['extended'], count: 60, latencyMs: 10 });
    const { folder, run, source, stock, sell, all, wait } = goods;
    await source(10, 5, 7);
    await run('run', 'sizes');
    await sell(1, 2);
    await source(11, 5, 7);
    const { process, ended } = folder.start('run', 'sizes');
    await until(
      async () => process.exitCode !== null || (await stock()).flat().some(([price]) => price === 11),
    );
    process.kill('SIGKILL');
    await ended;
    if (isLate) {
      await wait();
      await sell(0, 1);
    }
    expect(await run('run', 'sizes')).toMatchObject({ code: 0, unsent: 0 });
    expect(await stock()).toEqual(isLate ? all([11, 0], [11, 1]) : all([11, 1], [11, 2]));
    expect(await run('run', 'sizes')).toMatchObject({ code: 0, requests: 0, unchanged: 60 });
  });

  it('is read from answers in another form, and left alone where they do not say whose it is', async () => {
    let answering = (product: StoredProduct): object => product;
    await using goods = await openStock({
      ...{ profiles: ['extended'], count: 2 },
      answering: (product) => answering(product),
    });
    const { run, source, stock, all, sell } = goods;
    await source(10, 5, 7);
    await run('run', 'sizes');
    const withVariants = (make: (variant: object, quantity: unknown) => object) => {
      answering = ({ variants, ...product }) => ({
        ...product,
        variants: variants.map((variant) => make(variant, variant.quantity)),
      });
    };
    await sell(1, 2);
    withVariants((variant, quantity) => ({ ...variant, quantity: String(quantity), stockStatus: 'in' }));
    await source(11, 5, 7);
    expect(await run('run', 'sizes')).toMatchObject({ code: 0, applied: 2 });
    expect(await stock()).toEqual(all([11, 1], [11, 2]));
    for (const quantity of [null, undefined, '', 'many', true]) {
      await sell(1, 2);
      withVariants((variant) => ({ ...variant, quantity }));
      await source(10, 5, 7);
      expect(await run('run', 'sizes')).toMatchObject({ code: 0, applied: 2 });
      // The probe has seen that this store takes null.
      expect(await stock()).toEqual(quantity === null ? all([10, null], [10, null]) : all([10, 5], [10, 7]));
      withVariants((variant) => variant);
      await source(11, 5, 7);
      await run('run', 'sizes');
    }
  });

  it('is sent as last acknowledged where the store cannot be read, and the report says so', async () => {
    await using goods = await openStock({ profiles: ['extended'], count: 2 });
    const { shop, folder, run, source, stock, all, sell } = goods;
    await shop.unlearn('readsProducts');
    await folder.write(
      'jobs/sizes.yaml',
      `${await readFile(join(folder.dir, 'jobs/sizes.yaml'), 'utf8')}keep: [variants.quantity]\n`,
    );
    await source(10, 5, 7);
    await run('run', 'sizes');
    await sell(1, 2);
    await source(11, 50, 70);
    const { stdout } = await folder.storeferry('run', 'sizes');
    expect(stdout).toContain('Kept as last acknowledged: variants.quantity, which no job');
    expect(await stock()).toEqual(all([11, 5], [11, 7]));
  });
});

describe('edits in the store', () => {
  it('that only a touch can see are kept or held by the next plan', async () => {
    await using shop = await openShop({ profiles: ['extended'], count: 30 });
    await shop.unlearn('readsProducts');
    await shop.unlearn('updatesProductById');
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 0, applied: 30 });
    await editDescriptions(shop, 4, 2);
    expect(await shop.run('drift', 'goods')).toMatchObject({ code: 3, checked: 30, edited: 4 });
    await shop.folder.write('goods.csv', catalog(30, 11));
    expect(await shop.run('plan', 'goods')).toMatchObject({ code: 3, changed: 28, held: 2, edited: 4 });
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 3, applied: 28, held: 2, edited: 4 });
    const products = [...(await shop.held()).values()];
    expect(products.filter(({ description }) => description.startsWith('By hand'))).toHaveLength(4);
    expect(products.filter((product) => priceOf(product) === 99)).toHaveLength(2);
  });

  it.each([2, 120])('are seen where the store has made other urls, of %i products', async (count) => {
    await using shop = await openShop({ profiles: ['extended'], count });
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 0, applied: count });
    await shop.edit('mug-0', { url: 'MUG_0', description: 'By hand' });
    await shop.edit('mug-1', { url: 'another', description: 'By hand' });
    await shop.folder.write('goods.csv', catalog(count, 11));
    expect(await shop.run('plan', 'goods')).toMatchObject({ code: 0, changed: count, edited: 2 });
  });

  it.each(['by id', 'by url'] as const)('of urls give no second product, %s', async (how) => {
    await using shop = await openShop({ profiles: ['extended'], count: 6, jobLines: 'conflicts: source\n' });
    if (how === 'by url') await shop.unlearn('updatesProductById');
    await shop.run('run', 'goods');
    await shop.edit('mug-1', { url: 'another' });
    await shop.folder.write('goods.csv', catalog(6, 11));
    const held = how === 'by id' ? 0 : 1;
    const ran = await shop.run('run', 'goods');
    expect(ran).toMatchObject({ applied: 6 - held, held, edited: 1 });
    const { stdout } = await shop.folder.storeferry('runs', String(ran['run']));
    expect(stdout.includes('would create second products')).toBe(held === 1);
    let products = await shop.held();
    expect([products.size, products.get('mug-1')]).toEqual([6, undefined]);
    expect(priceOf(products.get('another'))).toBe(11 - held);

    expect(await shop.run('drift', 'goods')).toMatchObject({ code: 3, edited: 1, fields: 1 });
    expect(await shop.run('drift', 'goods', '--accept')).toMatchObject({ code: 0 });
    expect(await shop.run('drift', 'goods')).toMatchObject({ code: 0, edited: 0 });
    await shop.folder.write('goods.csv', catalog(6, 12));
    expect(await shop.run('run', 'goods')).toMatchObject({ applied: 6 - held, held });
    await shop.edit('another', { url: 'mug-1' });
    await shop.folder.write('goods.csv', catalog(6, 13));
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 0, applied: 6, held: 0 });
    products = await shop.held();
    expect([products.size, priceOf(products.get('mug-1'))]).toEqual([6, 13]);
  });

  it('of urls stay where other edits of the product are not restored', async () => {
    await using shop = await openShop({ profiles: ['extended'], count: 3 });
    await shop.run('run', 'goods');
    await shop.edit('mug-1', { url: 'another' });
    await shop.run('drift', 'goods');
    await shop.run('drift', 'goods', '--accept');
    await shop.edit('another', { description: 'By hand' });
    expect(await shop.run('drift', 'goods')).toMatchObject({ code: 3, edited: 1, fields: 1 });
    expect(await shop.run('drift', 'goods', '--restore')).toMatchObject({ skipped: 1, applied: 0 });
    expect([...(await shop.held()).keys()].toSorted()).toEqual(['another', 'mug-0', 'mug-2']);
  });

  it.each(['by reading', 'by answers'] as const)('of urls hold a resend and a release, %s', async (how) => {
    await using shop = await openShop({ profiles: ['extended'], count: 3 });
    await shop.run('run', 'goods');
    await shop.edit('mug-1', { url: 'another' });
    await shop.folder.write('goods.csv', catalog(3, 11));
    await shop.run('run', 'goods');
    await shop.unlearn('updatesProductById');
    if (how === 'by answers') await shop.unlearn('readsProducts');
    expect(await shop.run('run', 'goods', '--resend')).toMatchObject({ code: 3, applied: 2, held: 1 });
    await shop.folder.write('goods.csv', catalog(3, 12));
    const changed = await shop.run('run', 'goods', '--resend');
    expect(changed).toMatchObject({ code: 3, applied: 2, held: 1 });
    const { stdout } = await shop.folder.storeferry('show', 'mug-1');
    expect(stdout).toContain(`release ${changed['run']} mug-1`);
    expect(stdout).not.toContain('--conflicts');
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain('change the url back there, or in the source');
    const client = await (await serveDashboard(shop.folder)).signedIn('full');
    const record = await client.get('/records?key=mug-1');
    const page = await client.get(`/runs/${changed['run']}/release?key=mug-1`);
    for (const { words } of [record, page]) {
      expect(words).toContain('Release');
      expect(words).not.toMatch(/Keep the values of the store|Changed in the store and in the source/);
    }
    expect(await shop.run('release', String(changed['run']))).toMatchObject({ applied: 0, held: 1 });
    expect([...(await shop.held()).keys()].toSorted()).toEqual(['another', 'mug-0', 'mug-2']);
    if (how === 'by answers') return;
    const { id } = (await shop.held()).get('another') ?? {};
    await shop.store.send('DELETE', `/api/site/products/${id}`);
    expect(await shop.run('run', 'goods', '--resend')).toMatchObject({ code: 0, applied: 3, held: 0 });
    expect([...(await shop.held()).keys()].toSorted()).toEqual(['mug-0', 'mug-1', 'mug-2']);
  });

  it('of urls are not compared by touching, which would call the products deleted', async () => {
    await using shop = await openShop({ profiles: ['extended'], count: 3 });
    await shop.unlearn('readsProducts');
    await shop.run('run', 'goods');
    await shop.edit('mug-1', { url: 'another' });
    await shop.folder.write('goods.csv', catalog(3, 11));
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 0, applied: 3 });
    expect(await shop.run('drift', 'goods')).toMatchObject({ code: 0, checked: 2, deleted: 0 });
    expect([...(await shop.held()).keys()].toSorted()).toEqual(['another', 'mug-0', 'mug-2']);
  });

  it.each(['by upsert', 'by PUT'] as const)('survive a change of all prices, %s', async (how) => {
    await using shop = await openShop({ profiles: ['extended'], count: 1_000 });
    if (how === 'by upsert') await shop.unlearn('updatesProductById');
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 0, applied: 1_000 });
    await editDescriptions(shop, 40, 5);
    await shop.folder.write('goods.csv', catalog(1_000, 11));

    const planned = await shop.run('plan', 'goods');
    const fieldsChanged = { 'variants.price': 995, 'variants.regularPrice': 995 };
    expect(planned).toMatchObject({ code: 3, changed: 995, held: 5, edited: 40, fieldsChanged });
    const ended = await shop.run('run', 'goods');
    expect(ended).toMatchObject({ code: 3, applied: 995, held: 5, edited: 40 });

    const products = await shop.held();
    const all = [...products.values()];
    expect(all.filter(({ description }) => description.startsWith('By hand'))).toHaveLength(40);
    expect(all.filter((product) => priceOf(product) === 11)).toHaveLength(995);
    expect(all.filter((product) => priceOf(product) === 99)).toHaveLength(5);

    const records = await shop.folder.storeferry('runs', String(ended['run']), '--records', '--json');
    const outcomes = records.stdout
      .trim()
      .split('\n')
      .map((line): { key: string; outcome: string } => JSON.parse(line));
    expect(outcomes.filter(({ outcome }) => outcome === 'edited')).toHaveLength(35);
    expect(outcomes.filter(({ outcome }) => outcome === 'held').map(({ key }) => key)).toEqual(
      [0, 1, 2, 3, 4].map((number) => `mug-${number}`),
    );
    const { stdout } = await shop.folder.storeferry('runs', String(ended['run']));
    const report = await readFile(
      join(shop.folder.dir, '.storeferry/artifacts', String(ended['run']), 'report.html'),
      'utf8',
    );
    for (let number = 0; number < 40; number++) {
      expect(stdout).toMatch(new RegExp(`mug-${number}\\b`));
      expect(report).toMatch(new RegExp(`mug-${number}\\b`));
    }
    const shown = (await shop.folder.storeferry('show', 'mug-20', '--json')).json();
    expect(shown['edited']).toMatchObject([{ field: 'description', value: 'By hand 20' }]);
    // Nothing is left to send, and the edits stay known.
    expect(await shop.run('run', 'goods')).toMatchObject({ applied: 0, held: 5 });
  });

  it('are overwritten by a store that replaces whole products, which the plan says and names', async () => {
    await using shop = await openShop({ profiles: ['extended', 'replace-whole'], count: 1_000 });
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 0, applied: 1_000 });
    for (let number = 0; number < 40; number++) {
      await shop.edit(`mug-${number}`, {
        title: `Mug ${number}`,
        description: `By hand ${number}`,
        variants: variantsAt(number, number < 5 ? 99 : 10),
      });
    }
    await shop.folder.write('goods.csv', catalog(1_000, 11));
    const planned = await shop.folder.storeferry('plan', 'goods');
    expect(planned.stdout).toContain(
      'The store replaces whole products: what somebody edited there will be overwritten.',
    );
    for (let number = 0; number < 40; number++)
      expect(planned.stdout).toMatch(new RegExp(`mug-${number}\\b`));
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 3, applied: 995, held: 5, edited: 40 });
    const products = await shop.held();
    for (let number = 5; number < 1_000; number++) {
      expect(products.get(`mug-${number}`)).toMatchObject({
        title: `Mug ${number}`,
        description: `Text ${number}`,
        variants: [{ sku: `sku-${number}`, price: 11 }],
      });
    }
  });

  it.each([
    ['by id', []],
    ['by another product', ['replace-whole']],
  ] as const)('of products with a new url are held or named, %s', async (_, profiles) => {
    await using shop = await openShop({
      profiles: ['extended', ...profiles],
      count: 30,
      jobLines: 'mode: mirror\n',
    });
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 0, applied: 30 });
    await shop.edit('mug-0', { description: 'By hand', title: 'Mug 0', variants: variantsAt(0, 10) });
    await shop.edit('mug-1', { title: 'Hand mug', description: 'Text 1', variants: variantsAt(1, 10) });
    const renamed = catalog(30, 10)
      .replace('mug-0,Mug 0', 'cup-0,Mug 0')
      .replace('mug-1,Mug 1', 'cup-1,Cup 1')
      .replace('mug-2,Mug 2', 'cup-2,Mug 2');
    await shop.folder.write('goods.csv', renamed);
    const planned = await shop.folder.storeferry('plan', 'goods');
    expect(planned.stdout).toMatch(/overwritten: cup-0\b/);
    const shown = await shop.folder.storeferry('plan', 'goods', '--show', 'cup-2');
    expect(shown.stdout).toContain('Changed since the store acknowledged it. The plan sends it.');
    expect(shown.stdout).toMatch(/url .*cup-2.*mug-2/);
    const ran = await shop.run('run', 'goods');
    expect(ran).toMatchObject({ code: 3, applied: 2, held: 1, edited: 2 });
    let products = await shop.held();
    expect(products.get('cup-0')?.description).toBe('Text 0');
    expect([products.get('mug-1')?.title, products.get('cup-1')]).toEqual(['Hand mug', undefined]);
    expect(await shop.run('release', String(ran['run']))).toMatchObject({ code: 0 });
    products = await shop.held();
    expect([products.get('mug-1'), products.get('cup-1')?.title]).toEqual([undefined, 'Cup 1']);
  });

  it('are released, taken back by an undo, or overridden as the job says', async () => {
    await using shop = await openShop({ profiles: ['extended'], count: 6 });
    await shop.run('run', 'goods');
    await editDescriptions(shop, 3, 2);
    await shop.folder.write('goods.csv', catalog(6, 11));
    const first = await shop.run('run', 'goods');
    expect(first).toMatchObject({ code: 3, applied: 4, held: 2, edited: 3 });
    expect(await shop.run('release', String(first['run']), 'mug-0')).toMatchObject({ code: 0, applied: 1 });
    let products = await shop.held();
    expect(priceOf(products.get('mug-0'))).toBe(11);
    expect(products.get('mug-0')?.description).toBe('By hand 0');

    await shop.folder.write(
      'jobs/goods.yaml',
      `${FILES['jobs/goods.yaml']}conflicts: { default: hold, variants: store }\n`,
    );
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 0, held: 0, applied: 0, edited: 1 });
    expect(priceOf((await shop.held()).get('mug-1'))).toBe(99);
    await shop.folder.write('jobs/goods.yaml', `${FILES['jobs/goods.yaml']}conflicts: source\n`);
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 0, applied: 1 });
    expect(priceOf((await shop.held()).get('mug-1'))).toBe(11);

    await shop.edit('mug-4', { variants: variantsAt(4, 77) });
    const undo = await shop.run('undo', String(first['run']));
    expect(await shop.run('approve', String(undo['run']))).toMatchObject({ code: 0 });
    products = await shop.held();
    expect(priceOf(products.get('mug-5'))).toBe(10);
    expect(priceOf(products.get('mug-4'))).toBe(77);
    expect(products.get('mug-2')?.description).toBe('By hand 2');
  });

  it('stay against the values of the source once somebody has decided so', async () => {
    await using shop = await openShop({ profiles: ['extended'], count: 6 });
    await shop.run('run', 'goods');
    await editDescriptions(shop, 3, 2);
    await shop.folder.write('goods.csv', catalog(6, 11, 'Cup'));
    const held = await shop.run('run', 'goods');
    expect(held).toMatchObject({ code: 3, applied: 4, held: 2 });
    const keep = ['release', String(held['run']), 'mug-0', '--conflicts', 'store'];
    expect(await shop.run(...keep)).toMatchObject({ code: 0, applied: 1, held: 0 });
    const kept = { title: 'Cup 0', description: 'By hand 0', variants: [{ price: 99 }] };
    expect((await shop.held()).get('mug-0')).toMatchObject(kept);
    // Mug 1 is still held; of mug 0, nothing is left to decide.
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 3, applied: 0, unchanged: 5, held: 1 });
    await shop.run('drift', 'goods');
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 3, applied: 0, unchanged: 5, held: 1 });
    const shown = await shop.folder.storeferry('show', 'mug-1');
    expect(shown.stdout).toMatch(/release \S+ mug-1 --conflicts source/);
    expect(shown.stdout).toMatch(/release \S+ mug-1 --conflicts store/);
    // The source has another price: it is asked again.
    await shop.folder.write('goods.csv', catalog(6, 12, 'Cup'));
    const again = await shop.run('run', 'goods');
    expect(again).toMatchObject({ code: 3, applied: 4, held: 2 });
    await shop.folder.write('goods.csv', catalog(6, 11, 'Cup'));
    expect(await shop.run('run', 'goods')).toMatchObject({ held: 1 });
    expect((await shop.held()).get('mug-0')).toMatchObject(kept);
  });

  it('with nothing else to send, are held no more once they were decided about', async () => {
    await using shop = await openShop({ profiles: ['extended'], count: 3 });
    await shop.run('run', 'goods');
    await shop.edit('mug-0', { variants: variantsAt(0, 99) });
    await shop.folder.write('goods.csv', catalog(3, 11));
    const held = await shop.run('run', 'goods');
    const keep = ['release', String(held['run']), '--conflicts', 'store'];
    const kept = await shop.run(...keep);
    expect(kept).toMatchObject({ code: 0, applied: 0, unchanged: 1, held: 0 });
    const { stdout } = await shop.folder.storeferry('runs', String(kept['run']));
    expect(stdout).toContain('Done: the values of the store stay in 1 product.');
    const shown = (await shop.folder.storeferry('show', 'mug-0', '--json')).json();
    expect(shown).toMatchObject({ held: [], edited: [{ field: 'variants' }] });
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 0, applied: 0, unchanged: 3, held: 0 });
  });

  it('are decided about on the page of the record', async () => {
    await using shop = await openShop({ profiles: ['extended'], count: 3 });
    await shop.run('run', 'goods');
    await editDescriptions(shop, 2, 2);
    await shop.folder.write('goods.csv', catalog(3, 11));
    const run = String((await shop.run('run', 'goods'))['run']);
    const client = await (await serveDashboard(shop.folder)).signedIn('full');
    for (const [number, words, conflicts, which, price] of [
      [0, 'Send the values of the source', 'source', 'chosen', 11],
      [1, 'Keep the values of the store', 'store', 'store', 99],
    ] as const) {
      const record = await client.get(`/records?key=mug-${number}`);
      expect(record.words).toMatch(/Changed in the store and in the source.*variants\.price ?99 ?11/);
      expect(record.words).toMatch(/Edited in the store.*description ?By hand/);
      const page = `/runs/${run}/release?key=mug-${number}&conflicts=${conflicts}`;
      const link = [...record.document.querySelectorAll('a.button')].find((one) => one.textContent === words);
      expect(link?.getAttribute('href')).toBe(page);
      const asked = await client.get(page);
      const buttons = [...asked.document.querySelectorAll('button[name=which]')];
      expect(buttons.map((button) => [button.textContent, button.getAttribute('value')])).toEqual([
        [words, which],
      ]);
      const box = asked.document.querySelector('input[type=checkbox]')?.getAttribute('name') ?? '';
      const done = await client.submit(asked, `/runs/${run}/release`, { which, [box]: `mug-${number}` });
      await endOf(client, `/runs/${/(?<=Run )\w{6,}/.exec(done.words)?.[0]}`);
      expect(priceOf((await shop.held()).get(`mug-${number}`))).toBe(price);
      expect((await client.get(`/records?key=mug-${number}`)).words).not.toContain('in the source');
    }
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 0, applied: 0, held: 0 });
  });

  it('of a product that was deleted there: it is made again as a whole', async () => {
    for (const property of ['updatesProductById', 'nothing']) {
      await using shop = await openShop({ profiles: ['extended'], count: 3 });
      await shop.unlearn(property);
      await shop.run('run', 'goods');
      const { id } = (await shop.held()).get('mug-1') ?? {};
      expect((await shop.store.send('DELETE', `/api/site/products/${id}`)).status).toBe(200);
      await shop.folder.write('goods.csv', catalog(3, 11));
      expect(await shop.run('run', 'goods')).toMatchObject({ code: 0, applied: 3 });
      expect((await shop.held()).get('mug-1')).toMatchObject({
        title: 'Mug 1',
        description: 'Text 1',
        variants: [{ price: 11, sku: 'sku-1' }],
      });
    }
  });

  it('survive kills, also where the source is another one afterwards', async () => {
    await using shop = await openShop({ profiles: ['extended'], count: 60, latencyMs: 15 });
    await shop.run('run', 'goods');
    await editDescriptions(shop, 20, 0);
    for (const price of [11, 12, 10, 13]) {
      await shop.folder.write('goods.csv', catalog(60, price));
      const { process, ended } = shop.folder.start('run', 'goods');
      const isSending = async () =>
        [...(await shop.held()).values()].some((product) => priceOf(product) === price);
      while (process.exitCode === null && !(await isSending()))
        await new Promise((resolve) => setTimeout(resolve, 5));
      process.kill('SIGKILL');
      await ended;
    }
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 0, unsent: 0, held: 0, edited: 20 });
    const all = [...(await shop.held()).values()];
    expect(all.filter(({ description }) => description.startsWith('By hand'))).toHaveLength(20);
    expect(all.filter((product) => priceOf(product) === 13)).toHaveLength(60);
  });

  it('are known from answers alone where the store cannot be read', async () => {
    await using shop = await openShop({ profiles: ['extended'], count: 10 });
    await shop.unlearn('readsProducts');
    await shop.unlearn('updatesProductById');
    await shop.run('run', 'goods');
    await editDescriptions(shop, 4, 0);
    await shop.edit('mug-9', { variants: [{ ...variantsAt(9, 10)[0], quantity: 3 }] });
    await shop.folder.write('goods.csv', catalog(10, 11));
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 0, applied: 10, edited: 4, requests: 10 });
    await shop.folder.write('goods.csv', catalog(10, 11, 'Cup').replaceAll(',Text ', ',New text '));
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 3, applied: 6, held: 4, edited: 4 });
    expect((await shop.held()).get('mug-3')).toMatchObject({ title: 'Mug 3', description: 'By hand 3' });
  });

  it('are not asked for where nothing was probed: whole products are sent', async () => {
    await using shop = await openShop({ profiles: [], count: 4 });
    await shop.unlearn('absentFieldsStay');
    await shop.run('run', 'goods');
    await shop.folder.write('goods.csv', catalog(4, 11));
    const ended = await shop.run('run', 'goods');
    expect(ended).toMatchObject({ code: 0, applied: 4, requests: 4 });
    expect(ended).not.toHaveProperty('edited');
  });
});

describeWithRedis('edits in the store, with a shared state', () => {
  it('survive a change of all prices', async () => {
    await using redis = await startRedis();
    await using shop = await openShop({ profiles: ['extended'], count: 100, redisUrl: redis.url });
    expect(await shop.run('run', 'goods')).toMatchObject({ code: 0, applied: 100 });
    await editDescriptions(shop, 12, 3);
    await shop.folder.write('goods.csv', catalog(100, 11));
    const ended = await shop.run('run', 'goods');
    expect(ended).toMatchObject({ code: 3, applied: 97, held: 3, edited: 12 });
    const all = [...(await shop.held()).values()];
    expect(all.filter(({ description }) => description.startsWith('By hand'))).toHaveLength(12);
    expect(all.filter((product) => priceOf(product) === 99)).toHaveLength(3);
    expect(await shop.run('release', String(ended['run']))).toMatchObject({ code: 0, applied: 3 });
    expect((await shop.folder.storeferry('show', 'mug-8', '--json')).json()['edited']).toHaveLength(1);
  });
});

describe('a field that is sent for the first time', () => {
  const LATER = `import: products
columns: { url: Url, title: Title, text: Text, sku: SKU, price: Price, image: Image, hide: Hide, kind: Kind, group: Group }
product: { url: url, title: title, description: text, images: [image, { split: " " }], hidden: [hide, boolean], type: kind, categories: [group, { split: "|" }] }
variants: { sku: sku, pricing: { price: [price, number] } }
`;
  const later = (texts: readonly string[], price = 10) =>
    `Url,Title,Text,SKU,Price,Image,Hide,Kind,Group\n${texts
      .map(
        (text, number) =>
          `mug-${number},Mug ${number},${text},sku-${number},${price},https://x.example/${number}.jpg,no,digital,Mugs`,
      )
      .join('\n')}\n`;
  const blank = (count: number) => catalog(count, 10).replaceAll(/Text \d+/g, '');

  it.each([
    ['one by one', 8],
    ['by pages', 120],
  ])('is a conflict where somebody wrote something into it in the store, read %s', async (_, count) => {
    await using shop = await openShop({ profiles: ['extended'], count });
    const { folder, run, edit, held } = shop;
    await folder.write('goods.csv', blank(count));
    expect(await run('run', 'goods')).toMatchObject({ code: 0, applied: count });
    const byHand = { description: '<p>By hand</p>' };
    await edit('mug-0', byHand);
    await edit('mug-1', { ...byHand, images: ['https://x.example/hand.jpg'] });
    await edit('mug-2', { categories: [{ name: 'Hand' }] });
    await edit('mug-3', { description: 'New 3' });
    // An unchanged source changes nothing, and what the source does not have is the store's own.
    expect(await run('run', 'goods')).toMatchObject({ code: 0, unchanged: count, requests: 0 });
    await folder.write('mappings/goods.yaml', LATER);
    await folder.write('goods.csv', later(Array.from({ length: count }, (_, number) => `New ${number}`)));
    const planned = await run('plan', 'goods');
    expect(planned).toMatchObject({ changed: count - 3, held: 3, edited: 3 });
    const ended = await run('run', 'goods');
    expect(ended).toMatchObject({ code: 3, applied: count - 3, held: 3, edited: 3 });
    const { stdout } = await folder.storeferry(
      'runs',
      String(ended['run']),
      '--records',
      '--outcome',
      'held',
    );
    expect(stdout).toMatch(/mug-0 .*description: <p>By hand<\/p> → New 0/);
    expect(stdout).toMatch(
      /mug-1 .*images: \["https:\/\/x.example\/hand.jpg"\] → \["https:\/\/x.example\/1.jpg"\]/,
    );
    expect((await held()).get('mug-0')).toMatchObject({ ...byHand, images: [] });
    expect((await held()).get('mug-3')).toMatchObject({
      description: 'New 3',
      categories: [{ name: 'Mugs' }],
    });

    const keep = ['release', String(ended['run']), 'mug-0', '--conflicts', 'store'];
    expect(await run(...keep)).toMatchObject({ code: 0, applied: 1, held: 0 });
    expect((await held()).get('mug-0')).toMatchObject({ ...byHand, categories: [{ name: 'Mugs' }] });
    expect(await run('run', 'goods')).toMatchObject({ code: 3, applied: 0, held: 2 });
    await run('drift', 'goods');
    expect(await run('run', 'goods')).toMatchObject({ code: 3, applied: 0, held: 2 });

    await folder.write('jobs/goods.yaml', `${FILES['jobs/goods.yaml']}conflicts: source\n`);
    const text = (await folder.storeferry('plan', 'goods')).stdout;
    expect(text).toContain('mug-0: <p>By hand</p> → New 0');
    expect(text).toContain('replaces what somebody wrote in the store');
    const overwritten = await run('run', 'goods');
    expect(overwritten).toMatchObject({ code: 0, applied: 3, held: 0 });
    expect((await held()).get('mug-1')).toMatchObject({ description: 'New 1', type: 'digital' });
    const undo = await run('undo', String(overwritten['run']));
    expect(await run('approve', String(undo['run']))).toMatchObject({ code: 0, applied: 3 });
    expect((await held()).get('mug-1')).toMatchObject({
      ...byHand,
      images: ['https://x.example/hand.jpg'],
    });
    expect((await held()).get('mug-2')).toMatchObject({ categories: [{ name: 'Hand' }] });
  });

  it('is none where the store has what an earlier run sent, or its own default', async () => {
    await using shop = await openShop({ profiles: ['extended'], count: 4 });
    const { folder, run, edit, held } = shop;
    expect(await run('run', 'goods')).toMatchObject({ code: 0, applied: 4 });
    // The cells are blank for a while, in which other fields are sent.
    await folder.write('goods.csv', blank(4).replaceAll('Mug', 'Cup'));
    expect(await run('run', 'goods')).toMatchObject({ code: 0, applied: 4 });
    await edit('mug-3', { description: 'By hand' });
    await folder.write('mappings/goods.yaml', LATER);
    await folder.write('goods.csv', later(['New 0', 'New 1', 'Text 2', 'New 3']));
    expect(await run('run', 'goods')).toMatchObject({ code: 3, applied: 3, held: 1 });
    expect((await held()).get('mug-0')).toMatchObject({ description: 'New 0', type: 'digital' });
    expect((await held()).get('mug-3')).toMatchObject({ description: 'By hand' });
  });

  it('is shown as not sent before where the store cannot be read', async () => {
    await using shop = await openShop({ profiles: ['extended'], count: 2 });
    const { folder, run } = shop;
    await shop.unlearn('readsProducts');
    await folder.write('goods.csv', blank(2));
    await run('run', 'goods');
    await folder.write('goods.csv', catalog(2, 10));
    expect((await folder.storeferry('plan', 'goods')).stdout).toContain('mug-0: (not sent before) → Text 0');
    const ended = await run('run', 'goods');
    const { stdout } = await folder.storeferry('runs', String(ended['run']), '--records');
    expect(stdout).toContain('description: not sent before → Text 0');
  });
});
