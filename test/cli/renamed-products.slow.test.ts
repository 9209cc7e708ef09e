import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { API_KEY, setup } from '../sandbox/setup.ts';
import { startFileServer } from '../support/file-server.ts';
import { errorAnswer } from '../support/store/faults.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

const FILES = {
  'mappings/lamps.yaml': `import: products
columns: { url: Url, title: Title, price: Price, sku: SKU, image: Image }
product: { url: url, title: title, images: [image] }
variants: { sku: sku, pricing: { price: [price, number] } }
`,
  'jobs/lamps.yaml':
    'import: products\nstore: main\nsource: { path: lamps.csv }\nmapping: lamps\nmode: mirror\n',
};

/** Three lamps: one with a SKU, one that only its title and picture name, one that stays. */
const lamps = (first: string, second: string) =>
  `Url,Title,Price,SKU,Image
${first},Brass lamp,10,L-1,https://x.example/1.jpg
${second},Paper lamp,20,,https://x.example/2.jpg
third,Clay lamp,30,L-3,https://x.example/3.jpg
`;

it.each([
  ['created and then deleted', [], 4, 'Sending takes 4 requests (2 to write, 2 to delete).'],
  ['changed by id', ['extended'] as const, 2, 'Sending takes 2 requests.'],
])(
  'products with a new url are shown as pairs, %s, in redirects.csv and given back by an undo',
  async (_, profiles, requests, sending) => {
    await using store = await setup({ profiles: [...profiles] });
    await using folder = await makeWorkspace(
      {
        ...FILES,
        'stores.yaml': `main: { baseUrl: "${store.url}", apiKey: "\${STORE_API_KEY}" }\n`,
        'lamps.csv': lamps('first', 'second'),
      },
      { STORE_API_KEY: API_KEY },
    );
    const ids = async () =>
      new Map((await store.list('/_sandbox/products')).map(({ url, id }) => [String(url), id]));
    expect((await folder.storeferry('probe')).code).toBe(0);
    expect((await folder.storeferry('run', 'lamps')).code).toBe(0);
    const before = await ids();
    await folder.write('lamps.csv', lamps('brass', 'paper'));
    const plan = (await folder.storeferry('plan', 'lamps')).stdout;
    expect(plan).toMatch(
      /2 renamed.*first +brass, the same SKUs.*second +paper, the same title and pictures/s,
    );
    expect(plan).toContain(sending);
    const run = (await folder.storeferry('run', 'lamps', '--json')).json();
    expect(run).toMatchObject({ status: 'done', new: 0, removed: 0, renamed: 2, requests });
    const now = await ids();
    expect([...now.keys()].sort()).toEqual(['brass', 'paper', 'third']);
    expect(now.get('brass') === before.get('first')).toBe(profiles.length > 0);
    const redirects = join(folder.dir, '.storeferry', 'artifacts', String(run['run']), 'redirects.csv');
    expect(await readFile(redirects, 'utf8')).toBe('old_url,new_url\nfirst,brass\nsecond,paper\n');
    const undo = (await folder.storeferry('undo', String(run['run']), '--json')).json();
    expect(undo).toMatchObject({ status: 'planned', renamed: 2, removed: 0 });
    expect((await folder.storeferry('approve', String(undo['run']))).code).toBe(0);
    expect([...(await ids()).keys()].sort()).toEqual([...before.keys()].sort());
  },
);

it('a product with a new url that was rejected is not created a second time by a retry', async () => {
  await using store = await setup({ profiles: ['extended'] });
  await using folder = await makeWorkspace(
    {
      ...FILES,
      'jobs/lamps.yaml': FILES['jobs/lamps.yaml'].replace('mirror', 'upsert'),
      'stores.yaml': `main: { baseUrl: "${store.url}", apiKey: "\${STORE_API_KEY}" }\n`,
      'lamps.csv': lamps('first', 'second'),
    },
    { STORE_API_KEY: API_KEY },
  );
  const urls = async () => (await store.list('/_sandbox/products')).map(({ url }) => url);
  await folder.storeferry('probe');
  await folder.storeferry('run', 'lamps');
  const before = await urls();
  await folder.write('lamps.csv', lamps('brass', 'second').replace(',10,', ',ten,'));
  const { run, rejectsFile } = (await folder.storeferry('run', 'lamps', '--json')).json();
  const rejects = join(folder.dir, String(rejectsFile));
  await writeFile(rejects, (await readFile(rejects, 'utf8')).replace(',ten,', ',10,'));
  expect((await folder.storeferry('retry', String(run), '--json')).json()).toMatchObject({ held: 1 });
  expect(await urls()).toEqual(before);
  await folder.write('lamps.csv', lamps('brass', 'second'));
  expect((await folder.storeferry('run', 'lamps', '--json')).json()).toMatchObject({ renamed: 1 });
  expect(await urls()).toHaveLength(before.length);
});

const REJECTED = 'rejected: correct that row';

it.each([
  ['its price', REJECTED, (row: string) => row.replace(',10,', ',ten,')],
  ['a cell that a spreadsheet has damaged', REJECTED, (row: string) => row.replace(',10,', ',#REF!,')],
  ['two rows under its new url differ', REJECTED, (row: string) => `${row.replace(',10,', ',11,')}\n${row}`],
  ['it has no price', 'skipped', (row: string) => row.replace(',10,', ',,')],
  ['it is not sold', 'skipped', (row: string) => row.replace('Brass lamp', 'Not sold: brass lamp')],
])('a mirror keeps a product with a new url while its row is left out: %s', async (_, why, spoil) => {
  await using store = await setup();
  await using folder = await makeWorkspace(
    {
      ...FILES,
      'jobs/lamps.yaml': `${FILES['jobs/lamps.yaml']}safety: { maxRejects: off }\n`,
      'stores.yaml': `main: { baseUrl: "${store.url}", apiKey: "\${STORE_API_KEY}" }\n`,
      'mappings/lamps.yaml': `${FILES['mappings/lamps.yaml']}skip: [{ when: { title: { contains: not sold } }, reason: not sold }]\n`,
      'lamps.csv': lamps('first', 'second'),
    },
    { STORE_API_KEY: API_KEY },
  );
  const urls = async () => (await store.list('/_sandbox/products')).map(({ url }) => url);
  await folder.storeferry('run', 'lamps');
  const before = await urls();
  await folder.write('lamps.csv', lamps('brass', 'paper').replace(/^brass.*$/m, spoil));
  const { stdout } = await folder.storeferry('run', 'lamps');
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    `1 record: not deleted, because its row, under a new url, is ${why} (first)`,
  );
  expect((await urls()).sort()).toEqual(before.map((url) => (url === 'second' ? 'paper' : url)).sort());
  await folder.write('lamps.csv', lamps('brass', 'paper'));
  expect((await folder.storeferry('run', 'lamps', '--json')).json()).toMatchObject({
    renamed: 1,
    removed: 0,
  });
  expect((await urls()).sort()).toEqual(['brass', 'paper', 'third']);
});

it('a product whose new url the store refuses keeps its old one, and the run says why it was not deleted', async () => {
  await using store = await startStore({ apiKey: API_KEY });
  await using folder = await makeWorkspace(
    {
      ...FILES,
      'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}" }\n`,
      'lamps.csv': lamps('first', 'second'),
    },
    { STORE_API_KEY: API_KEY },
  );
  expect((await folder.storeferry('run', 'lamps')).code).toBe(0);
  await folder.write('lamps.csv', lamps('brass', 'second'));
  store.misbehave({ keys: ['brass'], does: errorAnswer(422, 'Reserved') });
  const { stdout } = await folder.storeferry('run', 'lamps');
  const words = stdout.replaceAll(/\s+/g, ' ');
  expect(words).toContain('1 product was not deleted');
  expect(words).toContain('or did not confirm its new url.');
  expect(words).not.toContain('redirects.csv');
  expect(store.shop.byUrl('first')).toBeDefined();
});

it('a product whose url the store changes has its pictures checked', async () => {
  await using store = await setup({ profiles: ['extended'] });
  await using images = await startFileServer();
  images.answer('/new.jpg', (_, response) => void response.writeHead(404).end());
  await using folder = await makeWorkspace(
    {
      ...FILES,
      'stores.yaml': `main: { baseUrl: "${store.url}", apiKey: "\${STORE_API_KEY}" }\n`,
      'lamps.csv': lamps('first', 'second'),
    },
    { STORE_API_KEY: API_KEY },
  );
  expect((await folder.storeferry('probe')).code).toBe(0);
  expect((await folder.storeferry('run', 'lamps')).code).toBe(0);
  await folder.write(
    'lamps.csv',
    lamps('brass', 'second').replace('https://x.example/1', `${images.url}/new`),
  );
  const check = 'images: { check: warn, allowPrivateAddresses: true }\n';
  await folder.write('jobs/lamps.yaml', FILES['jobs/lamps.yaml'] + check);
  expect((await folder.storeferry('plan', 'lamps')).stdout).toMatch(/1 renamed.*not found \(404\)/s);
});
