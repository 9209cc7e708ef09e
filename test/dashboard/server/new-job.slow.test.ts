import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { makeZip } from '../../source/make-zip.ts';
import { startFileServer } from '../../support/file-server.ts';
import { startStore } from '../../support/store.ts';
import { makeWorkspace, type Workspace } from '../../support/workspace.ts';
import { type Answer, formOf, type HttpClient, multipart } from './http-client.ts';
import { type ServedDashboard, serveDashboard } from './running-dashboard.ts';

const CSV = 'Bezeichnung;Verkaufspreis;Kürzel\nTasse;12,90;T-1\nTeller;8,50;T-2\n';

let workspace: Workspace;
let dashboard: ServedDashboard;
let client: HttpClient;

/** Uploads a file for a new job: its page. */
const upload = async (name: string, content: string | Buffer, as = client) => {
  const { fields } = formOf(await as.get('/new'), '/new/upload');
  const { body, type } = multipart(fields, { name, content });
  return await as.follow(await as.post('/new/upload', body, { 'content-type': type }));
};
const actionOf = ({ document }: Answer) => document.querySelector('form.draft')?.getAttribute('action') ?? '';
/** What is said beside a field that is wrong; undefined where it is not marked. */
const besideOf = ({ document }: Answer, id: string) => {
  const field = document.querySelector(`[id="${id}"][aria-invalid="true"]`);
  const about = field?.getAttribute('aria-describedby')?.split(' ')[0] ?? '';
  return document.querySelector(`[id="${about}"].field-error`)?.textContent;
};
const typedIn = ({ document }: Answer, id: string) =>
  document.querySelector(`[id="${id}"]`)?.getAttribute('value');

beforeAll(async () => {
  workspace = await makeWorkspace({});
  dashboard = await serveDashboard(workspace, '--worker');
  client = await dashboard.signedIn('full');
});
afterAll(async () => {
  await workspace?.[Symbol.asyncDispose]();
});

it('says of an address beside its field what is wrong, and keeps what was typed, but no secret', async () => {
  const give = async (address: string) =>
    await client.submit(await client.get('/new'), '/new/address', { address });
  const wrong = await give('shop.example/list');
  expect(besideOf(wrong, 'address')).toBe(
    "expected an address such as https://shop.example/export.csv, found 'shop.example/list'",
  );
  expect(typedIn(wrong, 'address')).toBe('shop.example/list');
  for (const [address, secret] of [
    ['http://127.0.0.1:9/list.csv?token=abcdef123', 'abcdef123'],
    ['http://me:pass-word@127.0.0.1:9/list.csv', 'pass-word'],
    ['ftp://shop.example/list.csv?token=abcdef123', 'abcdef123'],
    ['http://a-token-1@127.0.0.1:9/list.csv', 'a-token-1'],
  ] as const)
    expect((await give(address)).body).not.toContain(secret);
});

it('asks the store whether it takes the key before anything is written', async () => {
  const store = await startStore({ seed: 1 });
  onTestFinished(() => store.close());
  await using own = await makeWorkspace({});
  const visitor = await (await serveDashboard(own)).signedIn('full');
  const page = await upload('goods.csv', 'Name,SKU,Price\nMug,M1,4.50\nJug,J1,9.00\n', visitor);
  const create = async (url: string, apiKey: string) => {
    const store = { storeKind: 'own', url, apiKey, weightUnit: 'kg' };
    const fields = { name: 'goods', schedule: 'no', currency: 'EUR', do: 'create', ...store };
    return await visitor.submit(page, actionOf(page), fields);
  };
  const wrong = await create(store.baseUrl, 'a-wrong-key');
  expect([wrong.status, besideOf(wrong, 'apiKey')]).toEqual([
    422,
    expect.stringContaining('refuses the key'),
  ]);
  expect(wrong.body).not.toContain('a-wrong-key');
  const down = await create('http://127.0.0.1:9', store.apiKey);
  expect(besideOf(down, 'url')).toContain('To make the job without this test, create it once more.');
  expect(await readdir(own.dir)).not.toContain('stores.yaml');
  expect((await create(store.baseUrl, store.apiKey)).status).toBe(200);
  expect(await readdir(own.dir)).toContain('stores.yaml');
});

it('marks each field that is wrong, keeps the values, and writes nothing', async () => {
  const page = await upload('Preise.csv', CSV);
  const fields = {
    ...{ name: '../nightly', storeKind: 'own', url: 'http://me:you@shop.example', weightUnit: 'kg' },
    ...{ schedule: 'day', time: '25:00', timezone: 'Europe/Berlin', do: 'create' },
  };
  const refused = await client.submit(page, actionOf(page), fields);
  expect(refused.status).toBe(422);
  expect(besideOf(refused, 'name')).toContain('at most 64 letters, digits');
  expect(besideOf(refused, 'url')).toContain('must not contain a user name or password');
  expect(besideOf(refused, 'apiKey')).toBe('The API key of the store is missing.');
  expect(besideOf(refused, 'time')).toContain('Give hours and minutes');
  expect(besideOf(refused, 'timezone')).toBeUndefined();
  expect([typedIn(refused, 'name'), typedIn(refused, 'time')]).toEqual(['../nightly', '25:00']);
  const links = [...refused.document.querySelectorAll('[role="alert"] a')].map((link) =>
    link.getAttribute('href'),
  );
  expect(links).toEqual(['#url', '#apiKey', '#name', '#time']);

  const zone = await client.submit(refused, actionOf(page), {
    ...fields,
    ...{ name: 'nightly', time: '02:15', timezone: 'Mars/Olympus' },
  });
  expect(besideOf(zone, 'timezone')).toContain('Mars/Olympus');
  expect([besideOf(zone, 'name'), besideOf(zone, 'time')]).toEqual([undefined, undefined]);
  expect(await readdir(join(workspace.dir, 'jobs'))).toEqual([]);
});

it('makes no job by which a key of the environment would go to a typed address', async () => {
  await using other = await makeWorkspace({}, { STORE_API_KEY: 'key-of-the-environment' });
  const visitor = await (await serveDashboard(other)).signedIn('full');
  const page = await upload('Preise.csv', CSV, visitor);
  const fields = { name: 'nightly', weightUnit: 'kg', schedule: 'no', do: 'create' };
  const own = { storeKind: 'own', url: 'https://elsewhere.example', apiKey: 'a-typed-key' };
  for (const store of [own, { storeKind: 'sandbox' }]) {
    const refused = await visitor.submit(page, actionOf(page), { ...fields, ...store });
    expect(refused.status).toBe(422);
    expect(refused.words).toContain('The environment of the dashboard sets STORE_API_KEY to another value');
    expect(await readdir(other.dir)).not.toContain('.env');
  }
});

it('names an uploaded file as the visitor does, with the end of a long name', async () => {
  const empty = await upload('leer.csv', '');
  expect(empty.words).toContain('The source leer.csv is empty');
  expect(empty.words).not.toContain('uploads');
  const long = `Preisliste_${'x'.repeat(100)}_Müller.csv`;
  expect((await upload(long, CSV)).words).toMatch(/From x+_Müller\.csv\./);
  expect((await upload('Preise %22neu%22.csv', CSV)).words).toContain('From Preise-neu-.csv.');
});

it('tells nobody to start a worker where the dashboard keeps the schedules', async () => {
  const { words } = await upload('Preise.csv', CSV);
  expect(words).toContain('This dashboard keeps schedules as long as it runs.');
  expect(words).not.toContain('need a worker');
});

it('lets the answer of a question and the field of its column follow each other', async () => {
  const names = 'Aaa;Bbb;Ccc\nTasse;Anna;12,90\nTeller;Bert;8,50\n';
  const page = await upload('Fragen.csv', names);
  const chosen = ({ document }: Answer, name: string) =>
    document.querySelector(`select[name="${name}"] option[selected]`)?.getAttribute('value') ?? '';
  const lists = (of: Answer) =>
    Object.fromEntries(
      [...of.document.querySelectorAll('select[name]')].map((list) => {
        const name = list.getAttribute('name') ?? '';
        return [name, chosen(of, name)];
      }),
    );
  const answer = async (of: Answer, changes: Readonly<Record<string, string>>) =>
    await client.submit(of, actionOf(of), { ...lists(of), ...changes });
  const asked = await answer(page, { 'answer.column.title': '=Aaa' });
  expect([chosen(asked, 'answer.column.title'), chosen(asked, 'field.0')]).toEqual(['=Aaa', 'title']);
  const again = await answer(asked, { 'answer.column.title': '=Bbb' });
  expect([chosen(again, 'field.0'), chosen(again, 'field.1')]).toEqual(['', 'title']);
  const moved = await answer(again, { 'field.0': 'title', 'field.1': '' });
  expect([chosen(moved, 'answer.column.title'), chosen(moved, 'field.0')]).toEqual(['=Aaa', 'title']);
});

it('fetches the picture of the first product itself, from no private address, for those who may edit', async () => {
  await using server = await startFileServer({ '/a.png': Buffer.from('\x89PNG\r\n\x1a\n', 'latin1') });
  const page = await upload('shop.csv', `Name,SKU,Price,Image URL\nMug,M1,4.50,${server.url}/a.png\n`);
  const picture = page.document.querySelector('.first-record img')?.getAttribute('src') ?? '';
  expect(picture).toMatch(/^\/new\/[\w-]+\/picture\?[0-9a-f]{16}$/);
  const answer = await client.get(picture);
  expect([answer.status, server.requests]).toEqual([404, []]);
  expect((await (await dashboard.signedIn('readOnly')).get(picture)).status).toBe(403);
  const none = await upload('shop.csv', 'Name,SKU,Price\nMug,M1,4.50\n');
  expect(none.document.querySelector('.first-record img')).toBeNull();
  expect((await client.get(`${actionOf(none)}/picture`)).status).toBe(404);
});

it('opens the settings of a format where one of them may let a row be read, and calls them by their description', async () => {
  const feed =
    '<SHOP><SHOPITEM><ITEM_ID>A</ITEM_ID><PRODUCTNAME>Hrnek</PRODUCTNAME><URL>https://s.example/a</URL><PRICE_VAT>199,50</PRICE_VAT></SHOPITEM></SHOP>';
  const page = await upload('heureka.xml', feed);
  expect(page.words).toContain('1 is rejected');
  expect(page.document.querySelector('details[open] label[for="param.decimal"]')?.textContent).toBe(
    'The decimal sign of prices',
  );
  const again = await client.submit(page, actionOf(page), { 'param.decimal': ',', do: 'update' });
  expect(again.words).toMatch(/199\.50[\s\S]*1 record can be sent\./);
});

it('shows the picture of a ZIP beside the file, and lets the job publish it', async () => {
  const store = await startStore({ seed: 1 });
  onTestFinished(() => store.close());
  await using own = await makeWorkspace({});
  const visitor = await (await serveDashboard(own)).signedIn('full');
  const page = await upload('list.csv', 'SKU;Name;Preis;Bild\nA;Becher;4,90;blau.png\n', visitor);
  // Without files and without their address the products have no pictures.
  expect(page.words).toContain('1 record can be sent');
  expect(page.document.querySelector('.first-record')?.textContent).toContain('No picture');
  const give = async (name: string, content: Buffer) => {
    const action = `${actionOf(page)}/pictures`;
    const { fields } = formOf(page, action);
    const { body, type } = multipart(fields, { name, content });
    return await visitor.follow(await visitor.post(action, body, { 'content-type': type }));
  };
  const png = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  expect((await give('a.zip', png)).words).toContain(
    'The pictures were not taken. a.zip: The zip a.zip cannot be read',
  );
  const asked = await give('falsch.zip', makeZip([{ name: 'rot.png', content: png }]));
  const address = 'https://images.example/shop/';
  const answer = async (fields: Readonly<Record<string, string>>, of: Answer) =>
    await visitor.submit(of, actionOf(of), { url: store.baseUrl, apiKey: store.apiKey, ...fields });
  const secret = await answer({ 'answer.imageBase': '=https://shop:hidden-word@images.example/' }, asked);
  expect(secret.words).toContain('expected an address without user and password');
  expect(secret.body).not.toContain('hidden-word');
  const missed = await answer({ 'answer.imageBase': `=${address}` }, asked);
  expect(missed.document.querySelector('.first-record')?.textContent).toContain(
    'falsch.zip has no file blau.png',
  );
  expect(missed.document.querySelector('.first-record img')).toBeNull();
  const shown = await give('fotos.zip', makeZip([{ name: 'alle/blau.png', content: png }]));
  expect(shown.words).toContain('instead of fotos.zip');
  const picture = shown.document.querySelector('.first-record img')?.getAttribute('src') ?? '';
  expect(shown.document.querySelector('.first-record')?.textContent).toContain('blau.png of fotos.zip');
  const found = await visitor.get(picture);
  expect([found.status, found.headers['content-type']]).toEqual([200, 'image/png']);
  const outside = await answer({ do: 'create', picturesTo: '/srv/public' }, shown);
  expect(besideOf(outside, 'picturesTo')).toContain('Give a folder inside the workspace');
  for (const [place, says] of [
    ['sftp://shop:hidden-word@files.example/www', 'For an SFTP server give a folder here'],
    ['https://shop:hidden-word@files.example/www', 'Expected a path, not an address'],
    ['S3://bucket/shop', 'Expected a path, not an address'],
  ] as const) {
    const refused = await answer({ do: 'create', picturesTo: place }, shown);
    expect(besideOf(refused, 'picturesTo')).toContain(says);
    expect(refused.body).not.toContain('hidden-word');
  }
  const made = await answer({ do: 'create', picturesTo: 'public/shop' }, shown);
  expect(made.status, made.words).toBe(200);
  expect(await readFile(join(own.dir, 'jobs/my-products.yaml'), 'utf8')).toContain(
    `images:\n  publish:\n    from: "uploads/fotos.zip"\n    path: "public/shop"\n    address: "${address}"\n`,
  );
  expect((await own.storeferry('check')).code).toBe(0);
  expect((await visitor.get('/jobs/my-products')).words).toContain('Upload the pictures');
});

it('takes hundreds of columns with long names, and a file name as long as they come, once', async () => {
  const headers = Array.from({ length: 290 }, (_, index) => `${'название колонки '.repeat(3)}${index}`);
  const csv = `Bezeichnung,Kürzel,Preis,${headers.join(',')}\nTasse,T-9,4.90${',x'.repeat(290)}\n`;
  const page = await upload(`${'商品一覧'.repeat(30)}.csv`, csv);
  const [first, second] = await Promise.all(
    [1, 2].map(() =>
      client.submit(page, actionOf(page), { storeKind: 'sandbox', do: 'create', name: 'wide' }),
    ),
  );
  const late = await client.submit(page, actionOf(page), { do: 'create', name: 'wide' });
  expect([first?.status, second?.status, late.status]).toEqual([200, 200, 200]);
  expect((await client.follow(await client.get(actionOf(page)))).words).toContain('Imports products');
  expect(await readFile(join(workspace.dir, 'jobs/wide.yaml'), 'utf8')).toContain('商品一覧.csv');
});

it('calls attributes of XML by their name and element', async () => {
  const offer = (id: number) => `<offer id="${id}"><name>Mug ${id}</name><price c="EUR">4.50</price></offer>`;
  const xml = `<shop><offers>${offer(1)}${offer(2)}</offers></shop>`;
  const { words } = await upload('shop.xml', xml);
  expect(words).toContain('id (attribute of offer)');
  expect(words).toContain('c (attribute of price)');
  expect(words).not.toContain('@');
});

it('shows the probable charsets, each with a word read in it, and folds the others', async () => {
  const page = await upload('a.csv', Buffer.from('Dings;Bums;Betrag\nTasse für Öl;Becher;9,90\n', 'latin1'));
  const shown = [...page.document.querySelectorAll('.record-tree > ul > li')];
  expect(shown.map((item) => item.textContent?.trim())).toEqual([
    ...[expect.stringMatching(/^für windows-1252$/), expect.anything(), expect.anything()],
  ]);
  expect(shown[0]?.querySelector('input')?.hasAttribute('checked')).toBe(true);
  const folded = page.document.querySelectorAll('.record-tree details li');
  expect(folded.length).toBeGreaterThan(3);
  const other = folded[0]?.querySelector('input')?.getAttribute('value') ?? '';
  const again = await client.submit(page, actionOf(page), { encoding: other });
  expect(again.document.querySelector(`#encoding-${other}`)?.hasAttribute('checked')).toBe(true);
  expect(again.document.querySelectorAll('.record-tree > ul > li')).toHaveLength(4);
});
