import { expect, it } from 'vitest';
import { API_KEY, setup } from '../sandbox/setup.ts';
import { makeWorkspace } from '../support/workspace.ts';

const FILES = {
  'stores.yaml': `main: { baseUrl: "\${STORE_URL}", apiKey: "\${STORE_API_KEY}" }\n`,
  'mappings/own.yaml': `import: products
columns: { url: Url, title: Title, price: Price, text: Text, photo: Photo }
product: { url: url, title: title, description: text, images: [photo] }
variants: { pricing: { price: [price, number] } }
`,
  'jobs/goods.yaml': 'import: products\nstore: main\nsource: { path: goods.csv }\nmapping: own\n',
};
const PHOTO = 'https://images.example/1.jpg';
const csv = (...rows: readonly string[]) => `Url,Title,Price,Text,Photo\n${rows.join('\n')}\n`;
const BEFORE = csv(`mug,Mug,10,Blue,${PHOTO}`, `cup,Cup,12,Red,${PHOTO}`, `pot,Pot,20,Big,${PHOTO}`);
const AFTER = csv(`mug,Mug,10,,${PHOTO}`, 'cup,Cup,13,,', `pot,Pot,20,Big,${PHOTO}`);

async function openShop(job: string, ...profiles: ('extended' | 'replace-whole')[]) {
  const store = await setup({ profiles });
  const workspace = await makeWorkspace(
    { ...FILES, 'jobs/goods.yaml': FILES['jobs/goods.yaml'] + job, 'goods.csv': BEFORE },
    { STORE_API_KEY: API_KEY, STORE_URL: store.url },
  );
  return {
    ...{ store, workspace },
    async run(command: string) {
      const { stdout, json } = await workspace.storeferry(command, 'goods', '--json');
      return { said: stdout.replaceAll(/\s+/g, ' '), json: json() };
    },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

const NOTE = 'These fields are now empty in the source, but an update leaves them as they are: ';

it('fields that a store keeps are named, not told to be removed; a product without another change is not sent', async () => {
  await using shop = await openShop('', 'extended');
  expect((await shop.workspace.storeferry('probe')).code).toBe(0);
  expect((await shop.run('run')).json).toMatchObject({ applied: 3 });
  await shop.workspace.write('goods.csv', AFTER);
  const text = (await shop.workspace.storeferry('plan', 'goods')).stdout.replaceAll(/\s+/g, ' ');
  expect(text).toContain(`${NOTE}description (2 products) and images (1 product).`);
  expect(text).toContain('set `blank: clear` in the mapping');
  expect(text).not.toContain('(none)');
  const { json } = await shop.run('run');
  expect(json).toMatchObject({ applied: 1, unchanged: 2, requests: 1 });
  expect(json['fieldsChanged']).toEqual({ 'variants.price': 1, 'variants.regularPrice': 1 });
  const held = await shop.store.list('/_sandbox/products');
  expect(held).toContainEqual(expect.objectContaining({ url: 'mug', description: 'Blue' }));
  expect(held).toContainEqual(expect.objectContaining({ url: 'cup', images: [PHOTO] }));

  await shop.workspace.write('goods.csv', csv(`cup,Cup,13,Red,${PHOTO}`, `pot,Pot,20,,${PHOTO}`));
  const { run } = (await shop.run('run')).json;
  const undo = (await shop.workspace.storeferry('undo', String(run))).stdout.replaceAll(/\s+/g, ' ');
  expect(undo).toContain('The run added fields (description in 1 product and images in 1 product)');
  expect(undo).not.toContain('now empty');
});

it('fields that a store replaces, or may replace, count as changed', async () => {
  await using shop = await openShop('', 'replace-whole');
  await shop.run('run');
  await shop.workspace.write('goods.csv', AFTER);
  const text = (await shop.workspace.storeferry('plan', 'goods')).stdout;
  expect(text).toMatch(/description +2 +mug: Blue → \(none\)/);
  expect(text).not.toContain('now empty');
  expect((await shop.run('run')).json).toMatchObject({ applied: 2 });
  const held = await shop.store.list('/_sandbox/products');
  expect(held).not.toContainEqual(expect.objectContaining({ description: 'Blue' }));
});

it('products that are adopted keep what the source does not have', async () => {
  await using shop = await openShop('adopt: store\n', 'extended');
  expect((await shop.workspace.storeferry('probe')).code).toBe(0);
  await shop.store.upsert({
    url: 'old-mug',
    title: 'Mug',
    type: 'physical',
    description: 'By hand',
    images: [PHOTO],
    variants: [{ options: [], price: 9 }],
  });
  await shop.workspace.write('goods.csv', csv(`mug,Mug,10,,${PHOTO}`));
  const text = (await shop.workspace.storeferry('plan', 'goods')).stdout.replaceAll(/\s+/g, ' ');
  expect(text).toContain('1 adopted');
  expect(text).toContain(`${NOTE}description (1 product).`);
  expect(text).not.toContain('→ (none)');
});
