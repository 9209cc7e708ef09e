import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { API_KEY, setup } from '../sandbox/setup.ts';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { startWebhook } from '../support/webhook.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const PRODUCTS = 400;

/** Products 1 to n, dearer by a number; the first belongs to a category whose id only one store knows. */
function catalog(count: number, dearer = 0): string {
  const rows = Array.from(
    { length: count },
    (_, at) => `p-${at + 1},Product ${at + 1},${10 + at + dearer},Shoes`,
  );
  return `${['url,title,price,category', ...rows].join('\n')}\n`;
}

/** A workspace with two stores of different prices, the second as slow as said. */
async function twoStores({ redis, latencyMs = 0 }: { redis?: string | undefined; latencyMs?: number } = {}) {
  const staging = await setup();
  const production = await setup({ latencyMs });
  const limits = '  limits: { concurrency: 8, timeoutSeconds: 4 }\n';
  const store = (name: string, url: string, more: string) =>
    `${name}:\n  baseUrl: ${url}\n  apiKey: \${STORE_API_KEY}\n${limits}${more}`;
  const stores = [
    store('staging', staging.url, '  currency: EUR\n'),
    store(
      'production',
      production.url,
      '  currency: GBP\n  prices: [{ times: 0.8 }, { round: { to: 1, ending: 0.99 } }]\n',
    ),
  ];
  const source = 'source: { path: catalog.csv }\nmapping: shop\n';
  const workspace = await makeWorkspace(
    {
      'stores.yaml': stores.join(''),
      'jobs/nightly.yaml': `import: products\nstore: staging\nmode: mirror\n${source}`,
      'mappings/shop.yaml': [
        'import: products',
        'columns: { url: url, title: title, price: price, category: category }',
        'lookups: { ids: { path: ids.csv, match: name } }',
        'product: { url: url, title: title, categories: { value: [category, { split: "|" }], table: ids } }',
        'variants: { pricing: { price: price } }\n',
      ].join('\n'),
      'mappings/ids.csv': 'id,name,url,parentCategory\n77,Shoes,shoes,5\n',
      'ids.csv': 'id,name,url,parentCategory\n77,Shoes,shoes,5\n',
      'catalog.csv': catalog(PRODUCTS),
    },
    { STORE_API_KEY: API_KEY, ...(redis !== undefined && { REDIS_URL: redis, STOREFERRY_LEASE_MS: '2000' }) },
  );
  return {
    staging,
    production,
    workspace,
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await staging[Symbol.asyncDispose]();
      await production[Symbol.asyncDispose]();
    },
  };
}

type Shop = Awaited<ReturnType<typeof twoStores>>;

/** What a store holds, by url, without its ids. */
async function held(store: Shop['staging']): Promise<Map<string, object>> {
  const all = await store.list('/_sandbox/products');
  return new Map(all.map(({ id: _, ...product }) => [String(product.url), product]));
}

async function approved(workspace: Workspace, ...planning: readonly string[]): Promise<string> {
  const planned = await workspace.storeferry(...planning, '--json');
  expect(planned, planned.stderr).toMatchObject({ code: 0 });
  const run = String(planned.json()['run']);
  // The lock of a killed process lasts for its lease.
  const sent = await until(
    async () => {
      const ended = await workspace.storeferry('approve', run, '--json');
      return ended.stderr.includes('is already running') ? undefined : ended;
    },
    { everyMs: 500 },
  );
  expect(sent, sent.stderr).toMatchObject({ code: 0 });
  return run;
}

const STATES = [
  ['the embedded state', describe, null],
  ['Redis', describeWithRedis, startRedis],
] as const;

for (const [state, describeState, start] of STATES) {
  describeState(`copies of another store, with ${state}`, () => {
    it('promote exactly what a run sent, through the price rules, over a kill, and can be undone', async () => {
      await using redis = start === null ? undefined : await start();
      await using shop = await twoStores({ redis: redis?.url, latencyMs: 10 });
      const { workspace, staging, production } = shop;
      const run = String((await workspace.storeferry('run', 'nightly', '--json')).json()['run']);
      const promote = ['promote', run, '--to', 'production'];
      const planned = (await workspace.storeferry(...promote, '--json')).json();
      expect(planned).toMatchObject({
        ...{ job: 'nightly@production', status: 'planned', error: null },
        ...{ records: PRODUCTS, new: PRODUCTS, operations: PRODUCTS, skipped: 0 },
      });
      expect(await held(production)).toEqual(new Map());
      const killed = workspace.start('approve', String(planned['run']));
      await until(async () => ((await held(production)).size > 20 ? true : undefined));
      killed.process.kill('SIGKILL');
      await killed.ended;
      await until(
        async () => (await workspace.storeferry(...promote, '--json')).json()['status'] === 'planned',
        { everyMs: 500 },
      );
      await approved(workspace, ...promote);
      const now = await held(production);
      expect(now.size).toBe(PRODUCTS);
      expect(now.get('p-1')).toMatchObject({ variants: [{ price: 7.99, regularPrice: 7.99 }] });
      expect(now.get('p-3')).toMatchObject({ variants: [{ price: 9.99 }] });
      expect((await held(staging)).get('p-1')).toMatchObject({ categories: [{ id: 77, parentCategory: 5 }] });
      expect(now.get('p-1')).toMatchObject({
        categories: [{ name: 'Shoes', url: 'shoes', parentCategory: 0 }],
      });
      expect([...now.values()].filter((product) => JSON.stringify(product).includes('"id"'))).toEqual([]);
      expect((await workspace.storeferry(...promote, '--json')).json()).toMatchObject({
        ...{ records: PRODUCTS, unchanged: PRODUCTS, operations: 0 },
      });

      // What the first store deleted is deleted, where this job has sent it.
      await workspace.write('catalog.csv', catalog(PRODUCTS - 2, 20));
      const later = String((await workspace.storeferry('run', 'nightly', '--json')).json()['run']);
      const sent = await approved(workspace, 'promote', later, '--to', 'production');
      const changed = await held(production);
      expect(changed.size).toBe(PRODUCTS - 2);
      expect(changed.get('p-1')).toMatchObject({ variants: [{ price: 23.99 }] });
      // No job is for this store, so none would send it again.
      expect((await workspace.storeferry('undo', sent)).stdout).not.toContain('the next run of');
      await approved(workspace, 'undo', sent);
      expect(await held(production)).toEqual(now);
      expect((await workspace.storeferry('history', 'p-1', '--store', 'production')).stdout).toContain(
        'nightly@production',
      );
    });
  });
}

describe('a copy of another store', () => {
  it('holds what a guard of its job holds there, which the record says', async () => {
    await using shop = await twoStores();
    const { workspace, production } = shop;
    const run = async () => String((await workspace.storeferry('run', 'nightly', '--json')).json()['run']);
    await approved(workspace, 'promote', await run(), '--to', 'production');
    const job = join(workspace.dir, 'jobs/nightly.yaml');
    const guard = 'guards: [{ field: variants.price, below: 8, action: hold }]\n';
    await workspace.write('jobs/nightly.yaml', (await readFile(job, 'utf8')) + guard);
    await workspace.write('catalog.csv', catalog(PRODUCTS, -1));
    const plan = (await workspace.storeferry('promote', await run(), '--to', 'production', '--json')).json();
    expect(plan).toMatchObject({ held: 2 });
    await workspace.storeferry('approve', String(plan['run']));
    expect((await held(production)).get('p-1')).toMatchObject({ variants: [{ price: 7.99 }] });
    const shown = await workspace.storeferry('show', 'p-1', '--store', 'production');
    expect(shown.stdout).toMatch(/held/i);
  });

  it('rebuilds the catalog of a time, and is refused where its meaning would change', async () => {
    await using shop = await twoStores();
    const { workspace, staging, production } = shop;
    const first = String((await workspace.storeferry('run', 'nightly', '--json')).json()['run']);
    const before = await held(staging);
    await until(async () => Date.now() % 10 === 0);
    const time = new Date().toISOString();
    await workspace.write('catalog.csv', catalog(PRODUCTS - 10, 5));
    expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);

    await approved(workspace, 'clone', '--as-of', time, '--to', 'production');
    const cloned = await held(production);
    expect([...cloned.keys()].sort()).toEqual([...before.keys()].sort());
    expect(cloned.get('p-1')).toMatchObject({ variants: [{ price: 7.99 }] });
    // Into the store itself: with its own ids and prices, and its own job.
    await approved(workspace, 'clone', '--as-of', time, '--store', 'staging', '--to', 'staging');
    expect(await held(staging)).toEqual(before);
    expect((await workspace.storeferry('plan', 'nightly', '--json')).json()).toMatchObject({ removed: 10 });

    const refused = async (...words: readonly string[]) => {
      const { code, stderr } = await workspace.storeferry(...words);
      expect(code).toBe(2);
      return stderr;
    };
    expect(await refused('promote', first, '--to', 'staging')).toContain('was sent to staging itself');
    const noRules = (await readStores(workspace)).replace(/ {2}prices:.*\n/, '');
    await workspace.write('stores.yaml', noRules);
    expect(await refused('promote', first, '--to', 'production')).toContain(
      'staging sells in EUR, production in GBP, which has no price rules',
    );
    await workspace.write(
      'jobs/crm.yaml',
      'import: contacts\nstore: staging\nsource: { path: crm.csv }\nmapping: people\n',
    );
    await workspace.write(
      'mappings/people.yaml',
      'import: contacts\ncolumns: { id: id, name: name }\ncontact: { id: id, name: name }\n',
    );
    const contact = await staging.send('POST', '/_sandbox/contacts', { email: 'a@example.org' });
    await workspace.write('crm.csv', `id,name\n${String(contact.body.id ?? 1)},Ann\n`);
    const people = (await workspace.storeferry('run', 'crm', '--json')).json();
    expect(await refused('promote', String(people['run']), '--to', 'production')).toContain(
      'contacts, which are not copied to another store',
    );
  });
});

async function readStores({ dir }: Workspace): Promise<string> {
  const { readFile } = await import('node:fs/promises');
  return await readFile(`${dir}/stores.yaml`, 'utf8');
}

describe('a job with several stores', () => {
  it('has a plan and a run for each, of which a failing one does not hold the others', async () => {
    await using shop = await twoStores();
    const { workspace, staging, production } = shop;
    await workspace.write(
      'jobs/shops.yaml',
      [
        'import: products',
        'stores:',
        '  - staging',
        '  - { store: production, prices: [{ plus: 1 }], safety: { maxRejects: 0 } }',
        '  - { store: missing-key }',
        'source: { path: catalog.csv }',
        'mapping: shop\n',
      ].join('\n'),
    );
    await workspace.write('catalog.csv', catalog(20));
    const stores = await readStores(workspace);
    await workspace.write(
      'stores.yaml',
      `${stores}missing-key: { baseUrl: ${staging.url}/b, apiKey: "\${NO_KEY}" }\n`,
    );
    const planned = await workspace.storeferry('plan', 'shops', '--json');
    expect(planned.code).toBe(2);
    expect(planned.json()).toMatchObject({
      ...{ run: null, job: 'shops', status: 'failed', records: 40, new: 40 },
      stores: [
        { job: 'shops@staging', status: 'planned', records: 20 },
        { job: 'shops@production', status: 'planned', records: 20 },
        { job: 'shops@missing-key', status: 'failed', error: expect.stringContaining('NO_KEY') },
      ],
    });
    const [, second] = await planIds(workspace);
    expect(second).toMatch(/^\w+$/);
    const run = await workspace.storeferry('run', 'shops');
    expect(run.code).toBe(2);
    expect(run.stdout).toMatch(/All stores\n.*\nshops@staging .* done .*20 applied\n?/);
    expect((await held(staging)).get('p-1')).toMatchObject({ variants: [{ price: 10 }] });
    expect((await held(production)).get('p-1')).toMatchObject({ variants: [{ price: 11 }] });
    const listed = (await workspace.storeferry('runs', 'shops')).stdout;
    for (const name of ['shops@staging', 'shops@production']) expect(listed).toContain(name);
    expect((await workspace.storeferry('runs', 'shops@staging')).stdout).not.toContain('shops@production');
    expect((await workspace.storeferry('plan', 'shops@fr')).code).toBe(2);
    for (const store of ['staging', 'production'])
      expect((await workspace.storeferry('probe', store)).code).toBe(0);
    const drift = (await workspace.storeferry('drift', 'shops', '--json')).json();
    expect(drift).toMatchObject({ checked: 40, edited: 0, stores: [{ checked: 20 }, { checked: 20 }, {}] });
    // A job for a store that its file does not name is one of `promote` only.
    expect((await workspace.storeferry('run', 'nightly@production')).code).toBe(2);
  });
});

it('a job with several stores notifies, and compares before its runs, for each of them', async () => {
  await using shop = await twoStores();
  await using hook = await startWebhook();
  const { workspace } = shop;
  await workspace.write('catalog.csv', catalog(3));
  await workspace.write(
    'jobs/nightly.yaml',
    'export: orders\nstore: staging\ndestination: { path: o.csv }\n',
  );
  await workspace.write(
    'jobs/shops.yaml',
    `import: products\nstores: [staging, production]\nsource: { path: catalog.csv }\nmapping: shop\ndrift: 100%\nnotify: { url: "${hook.url}", on: [done] }\n`,
  );
  for (const store of ['staging', 'production'])
    expect((await workspace.storeferry('probe', store)).code).toBe(0);
  for (const applied of [3, 0]) {
    const ran = await workspace.storeferry('run', 'shops', '--json');
    expect(ran, ran.stderr).toMatchObject({ code: 0 });
    expect(ran.stderr).not.toContain('not notified');
    expect(ran.json()).toMatchObject({ stores: [{ applied }, { applied }] });
  }
  const [staging, production] = ['shops@staging', 'shops@production'];
  expect(hook.calls.map(({ body }) => /shops@\w+/.exec(String(body['text']))?.[0]).sort()).toEqual([
    production,
    production,
    staging,
    staging,
  ]);
});

it('a plan from another store follows the jobs of its store, and names its command when it is discarded', async () => {
  await using shop = await twoStores();
  const { workspace } = shop;
  const job = (more: string) =>
    `import: products\nsource: { path: catalog.csv }\nmapping: shop\nkeep: [title]\n${more}`;
  await workspace.write('catalog.csv', catalog(3));
  await workspace.write('jobs/nightly.yaml', job('store: staging\n'));
  await workspace.write(
    'jobs/titles.yaml',
    job('store: production\nmode: update\n').replace('keep: [title]\n', ''),
  );
  await workspace.write('jobs/outlet.yaml', job('store: production\nprices: [{ times: 0.5 }]\n'));
  const { run } = (await workspace.storeferry('run', 'nightly', '--json')).json();
  const promoted = await workspace.storeferry('promote', String(run), '--to', 'production');
  expect(promoted.stdout).toContain('title, which the job titles sends');
  const clone = ['clone', '--store', 'staging', '--to', 'production'];
  const planned = (await workspace.storeferry(...clone, '--json')).json();
  const discarded = await workspace.storeferry('discard', String(planned['run']));
  expect(discarded.stdout).toMatch(/To plan again: \S+.* clone --as-of/);
  await approved(workspace, ...clone);
  expect((await held(shop.production)).get('p-1')).toMatchObject({ variants: [{ price: 5 }] });
  await workspace.write('jobs/sale.yaml', job('store: production\nprices: [{ times: 0.4 }]\n'));
  const refused = await workspace.storeferry(...clone);
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('The jobs of production have different price rules');
});

it('the only store of a workspace is cloned into itself without naming it twice', async () => {
  await using store = await setup();
  await using workspace = await makeWorkspace(catalogWorkspace(store.url, shopifyCatalog(manyProducts(3))), {
    STORE_API_KEY: API_KEY,
  });
  expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
  const cloned = await workspace.storeferry('clone', '--to', 'main', '--json');
  expect(cloned.json()).toMatchObject({ status: 'planned', records: 3 });
});

async function planIds(workspace: Workspace): Promise<readonly unknown[]> {
  const { stores } = (await workspace.storeferry('plan', 'shops', '--json')).json();
  return Array.isArray(stores) ? stores.map((one: { run: unknown }) => one.run) : [];
}
