import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { objectsIn } from '../../src/model/json-object.ts';
import type { ProbedProperties } from '../../src/model/probed-properties.ts';
import type { SandboxOptions } from '../../src/sandbox/start-sandbox.ts';
import { API_KEY, setup } from '../sandbox/setup.ts';
import { makeWorkspace } from '../support/workspace.ts';

const FILES = {
  'stores.yaml': `main: { baseUrl: "\${STORE_URL}", apiKey: "\${STORE_API_KEY}" }\n`,
  'jobs/shop.yaml': 'import: products\nstore: main\nsource: { path: shop.csv }\nmapping: shop\n',
  'mappings/shop.yaml': `import: products
columns: { url: Url, title: Title, size: Size, price: Price, stock: Stock }
group: { by: url, rows: anywhere }
product: { url: url, title: title, type: { const: physical } }
options: { columns: { Size: size } }
variants: { rows: all, pricing: { price: price }, quantity: [stock, number] }
`,
  'shop.csv': 'Url,Title,Size,Price,Stock\ntee,Tee,S,10,3\ntee,Tee,L,12,\nmug,Mug,S,5,1\nmug,Mug,L,5,1\n',
};

async function scene(options: Partial<SandboxOptions>, changes: Partial<ProbedProperties> = {}) {
  const store = await setup(options);
  const folder = await makeWorkspace(FILES, { STORE_URL: store.url, STORE_API_KEY: API_KEY });
  expect((await folder.storeferry('probe')).code).toBe(0);
  const probes = join(folder.dir, '.storeferry', 'artifacts', 'probes');
  const [name = ''] = await readdir(probes);
  const probe = JSON.parse(await readFile(join(probes, name), 'utf8'));
  const properties: ProbedProperties = { ...probe.properties, ...changes };
  await writeFile(join(probes, name), JSON.stringify({ ...probe, properties }));
  return {
    store,
    folder,
    properties,
    products: async (): Promise<unknown> => await store.list('/_sandbox/products'),
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

const TEE = {
  url: 'tee',
  options: [{ name: 'Size', values: ['S', 'L'], advanced: true }],
  variants: [expect.objectContaining({ price: 10 }), expect.objectContaining({ price: 12 })],
};

it('sends `advanced` as the store keeps prices of variants', async () => {
  await using shop = await scene({ profiles: ['flattens-variants'] });
  expect(shop.properties).toMatchObject({ advancedKeepsVariantPrices: true, plainKeepsVariantPrices: false });
  expect((await shop.folder.storeferry('run', 'shop')).code).toBe(0);
  expect(await shop.products()).toContainEqual(expect.objectContaining(TEE));

  await using plain = await scene({}, { advancedKeepsVariantPrices: false, plainKeepsVariantPrices: true });
  expect((await plain.folder.storeferry('run', 'shop')).code).toBe(0);
  const options = [{ name: 'Size', values: ['S', 'L'], advanced: false }];
  expect(await plain.products()).toContainEqual(expect.objectContaining({ ...TEE, options }));
});

it.each([
  ['', true],
  [', advanced: false', false],
])('promotes with the form of the other store, unless the mapping says one (%s)', async (said, advanced) => {
  await using first = await scene({}, { advancedKeepsVariantPrices: false, plainKeepsVariantPrices: true });
  await using second = await setup();
  const { folder } = first;
  const other = `other: { baseUrl: "${second.url}", apiKey: "\${STORE_API_KEY}" }\n`;
  await folder.write('stores.yaml', `${FILES['stores.yaml']}${other}`);
  const mapping = FILES['mappings/shop.yaml'].replace('{ Size: size } }', `{ Size: size }${said} }`);
  await folder.write('mappings/shop.yaml', mapping);
  const { run } = (await folder.storeferry('run', 'shop', '--json')).json();
  const promoted = await folder.storeferry('promote', String(run), '--to', 'other', '--json');
  expect((await folder.storeferry('approve', String(promoted.json()['run']))).code).toBe(0);
  const options = [{ name: 'Size', values: ['S', 'L'], advanced }];
  expect(await second.list('/_sandbox/products')).toContainEqual(
    expect.objectContaining({ ...TEE, options }),
  );
});

it('stops before a store loses prices of variants, and goes on once that is approved', async () => {
  await using shop = await scene({}, { advancedKeepsVariantPrices: false, plainKeepsVariantPrices: false });
  const { code, stdout } = await shop.folder.storeferry('run', 'shop');
  expect([code, stdout.replaceAll(/\s+/g, ' ')]).toEqual([
    4,
    expect.stringContaining('1 of 2 products would lose prices of their variants'),
  ]);
  expect(await shop.products()).toEqual([]);
  const stopped = (await shop.folder.storeferry('run', 'shop', '--json')).json();
  expect((await shop.folder.storeferry('approve', String(stopped['run']))).code).toBe(0);
  expect(await shop.products()).toHaveLength(2);
  // A mapping that says how options are sent has decided.
  await shop.folder.write(
    'mappings/shop.yaml',
    FILES['mappings/shop.yaml'].replace(
      '{ columns: { Size: size } }',
      '{ columns: { Size: size }, advanced: true }',
    ),
  );
  await shop.folder.write('shop.csv', FILES['shop.csv'].replace('12', '13'));
  expect((await shop.folder.storeferry('run', 'shop')).code).toBe(0);
});

it('sends null for stock that is not tracked where the store takes it', async () => {
  await using shop = await scene({ profiles: ['extended'] });
  expect(shop.properties).toMatchObject({ nullQuantity: true });
  expect((await shop.folder.storeferry('run', 'shop')).code).toBe(0);
  const variants = [expect.objectContaining({ quantity: 3 }), expect.objectContaining({ quantity: null })];
  expect(await shop.products()).toContainEqual(expect.objectContaining({ url: 'tee', variants }));
});

it('takes what the store makes of a product for no edit of it', async () => {
  await using shop = await scene({ profiles: ['extended', 'flattens-variants'] });
  const { folder } = shop;
  await folder.write(
    'mappings/shop.yaml',
    FILES['mappings/shop.yaml'].replace('{ columns:', '{ advanced: false, columns:'),
  );
  expect((await folder.storeferry('run', 'shop')).code).toBe(0);
  expect(await shop.products()).toContainEqual(
    expect.objectContaining({
      url: 'tee',
      variants: [expect.objectContaining({ price: 10 }), expect.objectContaining({ price: 10 })],
    }),
  );
  expect((await folder.storeferry('drift', 'shop', '--json')).json()).toMatchObject({
    checked: 2,
    edited: 0,
  });
  await shop.store.upsert({ url: 'tee', title: 'Tee by hand' });
  expect((await folder.storeferry('drift', 'shop', '--json')).json()).toMatchObject({ edited: 1, fields: 1 });
});

it('sends categories as the store lists them, and guesses none', async () => {
  await using shop = await scene({ profiles: ['extended'] });
  const { folder, store } = shop;
  const add = async (name: string, url: string, parentCategory: number) => {
    await store.upsert({ url: 'seed', title: 'Seed', categories: [{ name, url, parentCategory }] });
    const seed = (await store.list('/_sandbox/products')).find((one) => one.url === 'seed');
    const [made] = objectsIn(seed, 'categories');
    return Number(made?.['id']);
  };
  const [men, women] = [await add('Men', 'men', 0), await add('Women', 'women', 0)];
  const [mens, womens] = [await add('Tees', 'men-tees', men), await add('Tees', 'women-tees', women)];
  await folder.write(
    'mappings/shop.yaml',
    `import: products
columns: { url: Url, title: Title, category: Category, price: Price }
product: { url: url, title: title, categories: { value: [category, { split: ';' }], path: '>' } }
variants: { pricing: { price: price } }
`,
  );
  await folder.write(
    'shop.csv',
    'Url,Title,Category,Price\na,A,Men > Tees,1\nb,B,Women > Tees;Kitchen,2\nc,C,Lamps,3\nd,D,Tees,4\n',
  );
  await folder.write('jobs/shop.yaml', `${FILES['jobs/shop.yaml']}safety: { maxRejects: 50% }\n`);
  const first = await folder.storeferry('run', 'shop');
  expect(first.code).toBe(3);
  expect(first.stdout).toMatch(/the store has 2 categories of this name/);
  const categories = async (): Promise<unknown> =>
    new Map(
      (await store.list('/_sandbox/products')).map((one) => [
        one.url,
        objectsIn(one, 'categories').map(({ id, name }) => `${id} ${name}`),
      ]),
    );
  const sent = await categories();
  expect(sent).toEqual(
    new Map([
      ['seed', expect.anything()],
      ['a', [`${mens} Tees`]],
      ['b', [`${womens} Tees`, '1 Kitchen']],
      ['c', [expect.stringMatching(/^\d+ Lamps$/)]],
    ]),
  );
  // The store has made a category of a name: it is the same from now on.
  const again = (await folder.storeferry('run', 'shop', '--json')).json();
  expect(again).toMatchObject({ unchanged: 3, rejected: 1, requests: 0 });
  expect((await folder.storeferry('drift', 'shop', '--json')).json()).toMatchObject({
    checked: 3,
    edited: 0,
  });
  await folder.storeferry('run', 'shop', '--resend');
  expect(await categories()).toEqual(sent);
});
