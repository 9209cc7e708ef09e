import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { storeIdentity } from '../../src/model/remote-address.ts';
import { setup } from '../sandbox/setup.ts';
import { makeWorkspace } from '../support/workspace.ts';

const STORES = `main: { baseUrl: "\${STORE_URL}", apiKey: "\${STORE_API_KEY}" }\n`;

async function probedStore(profiles: Parameters<typeof setup>[0]) {
  const store = await setup(profiles);
  const folder = await makeWorkspace(
    { 'stores.yaml': STORES },
    { STORE_URL: store.url, STORE_API_KEY: 'key-of-the-sandbox-tests' },
  );
  return {
    store,
    folder,
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

it('`probe` says what a store does, keeps it for `check`, and writes a report', async () => {
  await using shop = await probedStore({ profiles: ['extended', 'replace-whole'] });
  const { folder, store } = shop;
  const report = join(folder.dir, 'main.md');
  const { code, stdout } = await folder.storeferry('probe', '--contact', '1001', '--report', report);
  expect(code).toBe(0);
  expect(await readFile(report, 'utf8')).toMatch(/\| `absentFieldsStay` \| no \|/);
  expect(stdout).toMatch(/yes +lists products, and reads one by its id +readsProducts/);
  expect(stdout).toMatch(/no +keeps the fields that an update of a product does not have +absentFieldsStay/);
  const result = (await folder.storeferry('probe', 'main', '--json')).json();
  expect(Object.keys(result)).toEqual(['store', 'requests', 'left', 'properties']);
  expect(result['left']).toEqual([]);
  const checked = await folder.storeferry('check', '--online');
  expect(checked.stdout).toMatch(/store main.*probed on \d{4}-\d\d-\d\d: lists products/s);
  expect((await folder.storeferry('check')).stdout).toMatch(/probed on \d{4}-\d\d-\d\d/);
  expect(await store.list('/_sandbox/products')).toEqual([]);
});

it('an unchanged file is mapped again after a probe, which may change what is sent', async () => {
  await using shop = await probedStore({ profiles: ['extended'] });
  const { folder } = shop;
  await folder.write('jobs/a.yaml', 'import: products\nstore: main\nsource: { path: a.csv }\nmapping: a\n');
  await folder.write(
    'mappings/a.yaml',
    'import: products\ncolumns: { url: url, title: title, price: price }\nproduct: { url: url, title: title }\nvariants: { pricing: { price: price } }\n',
  );
  await folder.write('a.csv', 'url,title,price\na,A,1.50\n');
  const isSkipped = async () =>
    (await folder.storeferry('run', 'a')).stdout.includes('The source has not changed since run');
  expect([await isSkipped(), await isSkipped()]).toEqual([false, true]);
  await folder.storeferry('probe');
  expect([await isSkipped(), await isSkipped()]).toEqual([false, true]);
});

it('`probe` cleans up after one that was killed', async () => {
  await using shop = await probedStore({ latencyMs: 20 });
  const { folder, store } = shop;
  for (let kills = 0; kills < 3; kills += 1) {
    const probing = folder.start('probe');
    while ((await store.list('/_sandbox/products')).length === 0 && probing.process.exitCode === null) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    probing.process.kill('SIGKILL');
    await probing.ended;
  }
  expect((await folder.storeferry('probe')).code).toBe(0);
  expect(await store.list('/_sandbox/products')).toEqual([]);
});

it('`probe` and `check` read what an earlier version kept', async () => {
  await using shop = await probedStore({});
  const { folder, store } = shop;
  const tag = hash('sha256', storeIdentity({ baseUrl: store.url })).slice(0, 16);
  const probes = `.storeferry/artifacts/probes/${tag}`;
  const contact = { id: '1001', field: 'tags', value: ['vip'] };
  await folder.write(`${probes}-open.json`, JSON.stringify({ urls: ['storeferry-probe-a'], contact }));
  const properties = { readsProducts: true, filtersProducts: true };
  const evidence = { filtersProducts: 'GET /products: 200' };
  await folder.write(
    `${probes}.json`,
    JSON.stringify({ at: 0, requests: 9, left: [], properties, evidence }),
  );
  expect((await folder.storeferry('check')).stdout).toMatch(/probed on 1970-01-01: lists products/);
  expect((await folder.storeferry('probe', '--json')).json()).toMatchObject({ left: [] });
});

it.each([
  [['--contact', 'ann'], 'Expected the id of a contact'],
  [['nowhere'], 'nowhere'],
])('`probe %s` says what is wrong', async (words, message) => {
  await using shop = await probedStore({});
  const { code, stderr } = await shop.folder.storeferry('probe', ...words);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});

it('`probe` refuses an address that is not the API', async () => {
  await using shop = await probedStore({});
  await shop.folder.write('stores.yaml', STORES.replace('STORE_URL}', 'STORE_URL}/shop'));
  const { code, stderr } = await shop.folder.storeferry('probe');
  expect(code).toBe(1);
  expect(stderr).toMatch(/not the API/);
});
