import { hash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link as linkFile, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../../support/catalog.ts';
import { type Nightly, setupNightly } from '../../support/nightly.ts';
import { until } from '../../support/until.ts';
import { makeWorkspace } from '../../support/workspace.ts';
import { formOf, type HttpClient } from './http-client.ts';
import { type ServedDashboard, serveDashboard } from './running-dashboard.ts';

const NEW = '/exports/new';

let nightly: Nightly;
let dashboard: ServedDashboard;
let client: HttpClient;

const read = async (name: string) =>
  await readFile(join(nightly.workspace.dir, name), 'utf8').catch(() => null);
const errorOf = ({ document }: Awaited<ReturnType<HttpClient['get']>>, field: string) =>
  document.querySelector(`[id="about-${field}"] .field-error`)?.textContent ?? '';
const submit = async (path: string, fields: Readonly<Record<string, string>> = {}) =>
  await client.submit(await client.get(path), path, fields);

beforeAll(async () => {
  nightly = await setupNightly(3, { schedule: '{ cron: "15 2 * * *", timezone: UTC }' });
  dashboard = await serveDashboard(nightly.workspace);
  client = await dashboard.signedIn('full');
});
afterAll(async () => {
  await nightly?.[Symbol.asyncDispose]();
});

it('makes an export whose file is in its folder, from words and a time', async () => {
  const fields = {
    what: 'lists',
    store: 'main',
    name: 'figures',
    schedule: 'day',
    timezone: 'Europe/Berlin',
  };
  expect(errorOf(await submit(NEW, { ...fields, time: '6 am' }), 'time')).toContain('hours and minutes');
  for (const name of ['../x', 'a/b', '.env', 'nightly'])
    expect(errorOf(await submit(NEW, { ...fields, time: '06:00', name }), 'name')).not.toBe('');
  expect((await submit(NEW, { ...fields, time: '06:00', store: `\${STORE_API_KEY}` })).status).toBe(422);
  const made = await submit(NEW, { ...fields, time: '06:30' });
  expect(made.words).toContain('At 06:30, every day');
  expect(await read('jobs/figures.yaml')).toContain(
    'export: subscriber-lists\nstore: main\ndestination: { path: exports/figures.csv, mode: append }\nschedule: { cron: "30 6 * * *", timezone: Europe/Berlin }\n',
  );
  await submit(NEW, { ...fields, what: 'new-orders', name: 'orders', schedule: 'no' });
  expect(await read('jobs/orders.yaml')).toContain('exports/orders-{date}-{number}.csv');
  const reading = 'id,name,subscribers,read_at\n7,News,12,2026-03-04T10:00:00Z\n';
  await nightly.workspace.write('exports/figures.csv', reading);
  expect((await client.get('/lists/figures?from=2026-03-04&to=2026-03-04')).words).toContain('1 reading');
  expect((await client.get('/lists/figures?to=2026-03-03')).words).toContain('No readings in these days');
  const later =
    '7,News,20,2026-03-06T10:00:00Z\n7,News,15,2026-03-08T10:00:00Z\n8,Trade,9,2026-03-08T10:00:00Z\n';
  await nightly.workspace.write('exports/figures.csv', reading + later);
  expect((await client.get('/lists/figures')).words).toMatch(/Latest figures.*15−5 \(−25\.0%\)/);
  const compared = (await client.get('/lists/figures?from=2026-03-04&to=2026-03-08')).words;
  expect(compared).toMatch(/Changes from 2026-03-04 to 2026-03-08.*15\+3 \(\+25\.0%\).*Trade 89–/);
});

it('duplicates a job with a paused schedule, renames it, and deletes it with its state kept', async () => {
  const original = await read('jobs/nightly.yaml');
  const path = '/jobs/nightly/duplicate';
  expect(errorOf(await submit(path, { name: 'figures', store: 'main' }), 'name')).toContain('already');
  expect(errorOf(await submit(path, { name: 'copy', store: 'nowhere' }), 'store')).toContain('Choose');
  expect((await submit(path, { name: 'copy', store: 'main' })).words).toContain('Edit copy');
  expect(await read('jobs/copy.yaml')).toBe(original?.replace('schedule:', '# paused: schedule:'));
  await submit('/jobs/figures/duplicate', { name: 'figures-2', store: 'main' });
  expect(await read('jobs/figures-2.yaml')).toContain('path: exports/figures-2.csv');

  expect((await submit('/jobs/copy/rename', { name: 'outlet' })).words).toContain('outlet');
  expect([await read('jobs/copy.yaml'), await read('jobs/outlet.yaml')]).toEqual([null, expect.any(String)]);
  const asked = await client.get('/jobs/outlet/remove');
  expect(asked.words).toContain('What Storeferry knows of its records, its runs and their reports stay.');
  expect((await client.submit(asked, '/jobs/outlet/remove')).words).not.toContain('outlet');
  expect([await read('jobs/outlet.yaml'), await read('jobs/outlet.yaml.removed')]).toEqual([
    null,
    expect.any(String),
  ]);
  const { audit } = (await nightly.workspace.storeferry('runs', '--audit', '--json')).json();
  for (const action of ['make-job', 'duplicate', 'rename', 'remove'])
    expect(audit).toEqual(expect.arrayContaining([expect.objectContaining({ action, outcome: 'done' })]));
});

it('verifies a job, and says why a store cannot be compared', async () => {
  await nightly.workspace.storeferry('run', 'nightly');
  expect((await client.get('/jobs/nightly/verify')).words).toContain(
    'Edits made in the store since are overwritten',
  );
  await client.follow(await submit('/jobs/nightly/verify'));
  await until(async () => !(await client.get('/jobs/nightly/drift')).words.includes('is running'), {
    everyMs: 50,
  });
  expect((await client.get('/jobs/nightly/drift?how=restore')).words).toContain('Nothing is sent now');
  const refused = await client.follow(await submit('/jobs/nightly/drift'));
  expect(refused.words).toContain('Nothing is known of how the products of main can be seen');
  expect((await client.get('/jobs/figures/drift')).status).toBe(404);
  const reader = await dashboard.signedIn('readOnly');
  for (const page of ['duplicate', 'rename', 'remove', 'verify', 'drift'])
    expect((await reader.get(`/jobs/nightly/${page}`)).status).toBe(403);
  expect((await reader.get(NEW)).status).toBe(403);
});

it('renames a job with its history: it deletes what it has sent, and is renamed to its end after a kill', async () => {
  await using own = await setupNightly(30, { mode: 'mirror' });
  const { workspace, store } = own;
  const visitor = await (await serveDashboard(workspace)).signedIn('full');
  const rename = async (from: string, name: string) =>
    await visitor.submit(await visitor.get(`/jobs/${from}/rename`), `/jobs/${from}/rename`, { name });
  const first = (await workspace.storeferry('run', 'nightly', '--json')).json();
  await workspace.write(
    'jobs/other.yaml',
    (await readFile(join(workspace.dir, 'jobs/nightly.yaml'), 'utf8')).replace('mirror', 'upsert'),
  );
  await workspace.storeferry('run', 'other', '--limit', '1');
  await workspace.storeferry('run', 'nightly');

  expect(errorOf(await rename('nightly', 'other'), 'name')).toContain('already');
  await rm(join(workspace.dir, 'jobs/other.yaml'));
  expect(errorOf(await rename('nightly', 'other'), 'name')).toContain('Another job had the name other');
  const page = await rename('nightly', 'outlet');
  expect([page.status, page.words.includes(String(first['run']))]).toEqual([200, true]);
  expect((await workspace.storeferry('run', 'outlet', '--json')).json()).toMatchObject({
    unchanged: 30,
    requests: 0,
  });

  // As if another dashboard had been killed when the file had both names.
  const jobs = join(workspace.dir, 'jobs');
  await rename('outlet', 'shop');
  const marker = '.storeferry/artifacts/renames/shop.json';
  await workspace.write(marker, '{"from":"outlet","targets":[],"stores":[]}');
  await linkFile(join(jobs, 'shop.yaml'), join(jobs, 'outlet.yaml'));
  expect((await rename('outlet', 'shop')).status).toBe(200);
  expect([existsSync(join(workspace.dir, marker)), existsSync(join(jobs, 'outlet.yaml'))]).toEqual([
    false,
    false,
  ]);

  await workspace.write('catalog.csv', shopifyCatalog(manyProducts(29)));
  store.forget();
  const last = (await workspace.storeferry('run', 'shop', '--json')).json();
  expect(last).toMatchObject({ status: 'done', unchanged: 29, deleted: 1, requests: 1 });
});

it('offers the actions of a job for one of several stores, and decides about many pairs at once', async () => {
  const store = 'baseUrl: http://127.0.0.1:9, apiKey: "$' + '{KEY}", weightUnit: kg';
  const pairs = [
    'mug,a-mug,1,sku,0.9,',
    'jug,jug-a,2,title,0.5,',
    'jug,jug-b,3,title,0.5,',
    'pot,pot,5,sku,0.9,',
    'cup,cup,4,url,1,adopt',
  ];
  const table = ['url,store_url,store_id,found_by,score,decision', ...pairs, ''].join('\n');
  await using own = await makeWorkspace({
    'stores.yaml': `main: { ${store} }\noutlet: { ${store} }\n`,
    'jobs/goods.yaml':
      'import: products\nstores: [main, { store: outlet, mode: mirror }]\nsource: { path: uploads/goods.csv }\nmapping: shopify-products\nadopt: store\n',
    'uploads/goods.csv': 'Handle,Title,Variant Price\nmug,Mug,1\n',
    'adopted-main-goods@main.csv': table,
    '.env': 'KEY=a-key-of-nobody\n',
  });
  const visitor = await (await serveDashboard(own)).signedIn('full');
  const page = await visitor.get('/jobs/goods%40main');
  const actions = [...page.document.querySelectorAll('main a.button')].map((link) => link.textContent);
  expect(actions).toEqual(
    expect.arrayContaining(['Run goods@main', 'Plan goods@main', 'Verify', 'Pairs with the store']),
  );
  expect(actions).not.toContain('Rename');
  expect(actions).not.toContain('Edit');
  expect((await visitor.get('/jobs/goods%40main/upload')).words).toContain(
    'which every run of goods@main, goods@outlet reads',
  );
  expect((await visitor.get('/jobs/goods%40main/run')).words).toContain('Run goods@main?');

  const address = '/jobs/goods%40main/adopt';
  const open = await visitor.get(address);
  expect(open.words).toContain('4 pairs to decide, 1 decided');
  const { action, fields } = formOf(open, address);
  const {
    'record.0': mug = '',
    'record.1': jugA = '',
    'record.2': jugB = '',
    'record.3': pot = '',
    ...others
  } = fields;
  const decide = async (which: string, chosen: Readonly<Record<string, string>>) =>
    await visitor.follow(await visitor.post(action, { ...others, ...chosen, which }));
  const twice = await decide('adopt', { 'record.1': jugA, 'record.2': jugB });
  expect([twice.status, twice.words]).toEqual([409, expect.stringContaining('jug is chosen twice')]);
  await decide('adopt', { 'record.0': mug, 'record.2': jugB });
  const done = await decide('new', { 'record.0': pot });
  expect(done.words).toContain('Nothing to decide');
  expect(await readFile(join(own.dir, 'adopted-main-goods@main.csv'), 'utf8')).toBe(
    table
      .replace('1,sku,0.9,', '$&adopt')
      .replace('jug-b,3,title,0.5,', '$&adopt')
      .replace('5,sku,0.9,', '$&new'),
  );
});

it('changes no file of jobs for several stores: each setting in it is that of the other stores too', async () => {
  const store = 'baseUrl: http://127.0.0.1:9, apiKey: "$' + '{KEY}", weightUnit: kg';
  const file =
    'import: products\nstores: [main, { store: outlet, mode: mirror, safety: { maxDeletes: 1% } }]\nsource: { path: goods.csv }\nmapping: shopify-products\nsafety: { maxDeletes: 50% }\n';
  await using own = await makeWorkspace({
    'stores.yaml': `main: { ${store} }\noutlet: { ${store} }\n`,
    'jobs/goods.yaml': file,
    'jobs/alone.yaml': file.replace(/stores: .*/, 'store: main'),
    'goods.csv': 'Handle,Title,Variant Price\nmug,Mug,1\n',
    '.env': 'KEY=a-key-of-nobody\n',
  });
  const visitor = await (await serveDashboard(own)).signedIn('full');
  const form = formOf(await visitor.get('/jobs/alone/edit'), '/jobs/alone/edit');
  const sha256 = hash('sha256', file);
  for (const [page, fields] of [
    ['edit', { ...form.fields, sha256, mode: 'update', match: 'sku' }],
    ['edit', { ...form.fields, sha256, maxDeletes: '90%' }],
    ['columns', { sha256, do: 'save' }],
    ['leave-out', { key: 'mug' }],
  ] as const) {
    const address = `/jobs/goods%40outlet/${page}`;
    const csrf = form.fields;
    for (const answer of [await visitor.get(address), await visitor.post(address, { ...csrf, ...fields })])
      expect([page, answer.status, answer.words]).toEqual([
        page,
        409,
        expect.stringContaining('Change jobs/goods.yaml by hand: it is a job for several stores.'),
      ]);
  }
  expect(await readFile(join(own.dir, 'jobs/goods.yaml'), 'utf8')).toBe(file);
});
