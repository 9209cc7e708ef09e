import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { API_KEY, setup } from '../sandbox/setup.ts';
import { makeWorkspace } from '../support/workspace.ts';

const FILES = {
  'stores.yaml': `main: { baseUrl: "\${STORE_URL}", apiKey: "\${STORE_API_KEY}" }\n`,
  'mappings/lamps.yaml': `import: products
columns: { url: Url, title: Title, price: Price, sku: SKU }
product: { url: url, title: title }
variants: { sku: sku, pricing: { price: [price, number] } }
`,
};
/** An export that has the numbers of the store in place of SKUs. */
const EXPORT_MAPPING = FILES['mappings/lamps.yaml']
  .replace('columns', 'lookups: { numbers: { path: numbers.csv, match: number } }\ncolumns')
  .replace('sku: sku', 'sku: [sku, { table: numbers, column: sku }]');
const TABLE = 'adopted-main-lamps.csv';

interface Lamp {
  readonly url: string;
  readonly title: string;
  readonly sku: string;
}

const lamps = (from: number, to: number, made: (index: number) => Lamp) =>
  Array.from({ length: to - from }, (_, index) => made(from + index));

/** What somebody has entered by hand: 430 with SKUs, 50 without, and 10 pairs of a title. */
const THERE = [
  ...lamps(0, 430, (index) => ({ url: `hand-${index}`, title: `By hand ${index}`, sku: `SKU-${index}` })),
  ...lamps(430, 480, (index) => ({ url: `hand-${index}`, title: `Lamp ${index}`, sku: '' })),
  ...lamps(480, 500, (index) => ({ url: `hand-${index}`, title: `Twin ${Math.floor(index / 2)}`, sku: '' })),
];
const IN_FILE = [
  ...lamps(0, 480, (index) => ({ url: `lamp-${index}`, title: `Lamp ${index}`, sku: `SKU-${index}` })),
  ...lamps(480, 500, (index) => ({
    url: `lamp-${index}`,
    title: `Twin ${Math.floor(index / 2)}`,
    sku: `SKU-${index}`,
  })),
  ...lamps(500, 520, (index) => ({ url: `lamp-${index}`, title: `Lamp ${index}`, sku: `SKU-${index}` })),
];

function csvOf(rows: readonly Lamp[]): string {
  return `Url,Title,Price,SKU\n${rows.map(({ url, title, sku }) => [url, title, 10, sku].join()).join('\n')}\n`;
}

async function openShop(adopt: string) {
  const store = await setup({ profiles: ['extended'] });
  for (const { url, title, sku } of THERE)
    await store.upsert({
      url,
      title,
      type: 'physical',
      variants: [{ options: [], price: 10, ...(sku && { sku }) }],
    });
  const folder = await makeWorkspace(
    {
      ...FILES,
      'jobs/lamps.yaml': `import: products\nstore: main\nsource: { path: lamps.csv }\nmapping: lamps\nadopt: ${adopt}\n`,
      'lamps.csv': csvOf(IN_FILE),
      'mappings/there.yaml': EXPORT_MAPPING,
      'there.csv': csvOf(THERE.map(({ sku, ...lamp }) => ({ ...lamp, sku: sku.replace('SKU', 'Number') }))),
      'numbers.csv': `number,sku\n${THERE.map(({ sku }) => `${sku.replace('SKU', 'Number')},${sku}`).join('\n')}\n`,
    },
    { STORE_URL: store.url, STORE_API_KEY: API_KEY },
  );
  return {
    store,
    folder,
    run: async (...args: readonly string[]) => (await folder.storeferry(...args, '--json')).json(),
    urls: async () => (await store.list('/_sandbox/products')).map(({ url }) => String(url)),
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

it.each([
  ['that the store lists', 'store'],
  ['that an export of the store has', '{ path: there.csv, mapping: there }'],
])(
  'a first import adopts the products %s, holds what is ambiguous, and creates nothing twice',
  async (_what, adopt) => {
    await using shop = await openShop(adopt);
    const { run, urls, folder } = shop;
    await run('probe');
    expect(await run('plan', 'lamps')).toMatchObject({ adopted: 480, held: 20, new: 20, changed: 480 });
    expect(await run('run', 'lamps')).toMatchObject({ status: 'done-with-rejects', applied: 500, held: 20 });
    const all = await urls();
    expect([all.length, new Set(all).size]).toEqual([520, 520]);
    expect(all.filter((url) => url.startsWith('lamp-'))).toHaveLength(20);
    expect(await run('run', 'lamps')).toMatchObject({ requests: 0, unchanged: 500, held: 20 });
    // Another twin is no more certain than those that wait.
    await folder.write('lamps.csv', `${csvOf(IN_FILE)}lamp-600,Twin 240,10,SKU-600\n`);
    expect(await run('run', 'lamps')).toMatchObject({ requests: 0, unchanged: 500, held: 21 });
    await folder.write('lamps.csv', csvOf(IN_FILE));
    // A person decides: the first twin is the product that the store has, the second is new.
    const table = await readFile(join(folder.dir, TABLE), 'utf8');
    expect(table.split('\n')[0]).toBe('url,store_url,store_id,found_by,score,decision');
    const decided = table
      .split('\n')
      .map((line) => (line.startsWith('lamp-480,hand-480,') ? `${line}adopt` : line))
      .map((line) => (line.startsWith('lamp-481,') ? `${line}new` : line));
    await folder.write(TABLE, decided.join('\n'));
    expect(await run('run', 'lamps')).toMatchObject({ applied: 2, held: 18, unchanged: 500 });
    expect(await urls()).toHaveLength(521);
    expect(await urls()).toContain('lamp-481');
    // The name of the store means another one now.
    await folder.write(
      'stores.yaml',
      `main: { baseUrl: "http://127.0.0.1:9", apiKey: "\${STORE_API_KEY}" }\n`,
    );
    expect(await run('plan', 'lamps')).toMatchObject({
      error: expect.stringContaining(`${TABLE} is about the products of`),
    });
  },
);

it('a lost table is made again, and what another job adopted is not created a second time', async () => {
  await using shop = await openShop('store');
  const { run, urls, folder } = shop;
  const all = IN_FILE.slice(0, 430);
  await folder.write('lamps.csv', csvOf(all));
  await run('probe');
  await run('run', 'lamps');
  const before = await urls();
  const table = await readFile(join(folder.dir, TABLE), 'utf8');
  await rm(join(folder.dir, TABLE));
  await folder.write('lamps.csv', csvOf(all).replaceAll(',10,', ',11,'));
  expect(await run('run', 'lamps')).toMatchObject({ new: 0, changed: 430 });
  expect(await readFile(join(folder.dir, TABLE), 'utf8')).toBe(table);
  // Renamed by hand, a job is another one.
  await rename(join(folder.dir, 'jobs/lamps.yaml'), join(folder.dir, 'jobs/lights.yaml'));
  expect(await run('run', 'lights')).toMatchObject({ held: 430, requests: 0 });
  expect(await urls()).toEqual(before);
});

it('a retry and a release adopt as a run does, and no undo deletes what the store had before', async () => {
  await using shop = await openShop('store');
  const { run, urls, folder } = shop;
  const before = await urls();
  await run('probe');
  const [held = '', rejected = '', ...rest] = csvOf(IN_FILE.slice(0, 430)).trimEnd().split('\n').slice(1);
  const rows = [held.replace(',10,', ',999,'), rejected.replace(',10,', ',ten,'), ...rest, 'new,New,10,NEW'];
  await folder.write('lamps.csv', `Url,Title,Price,SKU\n${rows.join('\n')}\n`);
  const job = await readFile(join(folder.dir, 'jobs/lamps.yaml'), 'utf8');
  const guard = 'guards: [{ field: variants.price, above: 500, action: hold }]\n';
  await folder.write('jobs/lamps.yaml', job + guard);
  const first = await run('run', 'lamps');
  expect(first).toMatchObject({ applied: 429, held: 1, rejected: 1 });
  const rejects = join(folder.dir, String(first['rejectsFile']));
  await writeFile(rejects, (await readFile(rejects, 'utf8')).replace(',ten,', ',10,'));
  const others = [await run('release', String(first['run'])), await run('retry', String(first['run']))];
  expect(others).toMatchObject([{ applied: 1 }, { applied: 1, adopted: 1 }]);
  expect(await urls()).toEqual([...before, 'new']);
  for (const { run: of } of [...others.reverse(), first]) {
    const undo = await run('undo', String(of));
    expect(undo).toMatchObject({ left: { records: of === first['run'] ? 428 : 1 } });
    if (of === first['run']) await run('approve', String(undo['run']));
  }
  expect(await urls()).toEqual(before);
});

it('a store that is not known to list its products is not guessed: the plan says what to do', async () => {
  await using shop = await openShop('store');
  const { code, stdout, stderr } = await shop.folder.storeferry('plan', 'lamps');
  expect(code).toBe(1);
  expect((stdout + stderr).replaceAll(/\s+/g, ' ')).toContain('probe main');
});

it('a promotion sends adopted products under the urls of their records', async () => {
  await using other = await setup({});
  await using store = await setup({ profiles: ['extended'] });
  const there = (url: string, sku: string) => ({
    ...{ url, title: url, type: 'physical' },
    variants: [{ options: [], price: 1, sku }],
  });
  for (const sku of ['1', '2']) await store.upsert(there(`hand-${sku}`, `SKU-${sku}`));
  await using folder = await makeWorkspace(
    {
      ...FILES,
      'stores.yaml': `main: { baseUrl: "${store.url}", apiKey: "\${STORE_API_KEY}" }\nother: { baseUrl: "${other.url}", apiKey: "\${STORE_API_KEY}" }\n`,
      'jobs/lamps.yaml':
        'import: products\nstores: [main, other]\nsource: { path: lamps.csv }\nmapping: lamps\nadopt: store\nsafety: { maxRejects: off }\n',
      'lamps.csv': csvOf(
        lamps(1, 4, (index) => ({ url: `lamp-${index}`, title: `Lamp ${index}`, sku: `SKU-${index}` })),
      ),
    },
    { STORE_API_KEY: API_KEY },
  );
  const run = async (...args: readonly string[]) => (await folder.storeferry(...args, '--json')).json();
  const urls = async () => (await other.list('/_sandbox/products')).map(({ url }) => url).sort();
  await folder.storeferry('probe', 'main');
  const sent = String((await run('run', 'lamps@main'))['run']);
  const promoted = await run('promote', sent, '--to', 'other');
  expect(promoted).toMatchObject({ error: null, status: 'planned' });
  expect(await run('approve', String(promoted['run']))).toMatchObject({ applied: 3, rejected: 0 });
  expect(await urls()).toEqual(['lamp-1', 'lamp-2', 'lamp-3']);

  await rm(join(folder.dir, 'adopted-main-lamps@main.csv'));
  expect(await run('promote', sent, '--to', 'other')).toMatchObject({
    status: 'planned',
    rejected: 2,
    operations: 0,
  });
});
