import { readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Nightly, setupNightly } from '../../support/nightly.ts';
import { type Store, startStore } from '../../support/store.ts';
import { until } from '../../support/until.ts';
import type { HttpClient } from './http-client.ts';
import { type ServedDashboard, serveDashboard } from './running-dashboard.ts';

const EDIT = '/stores/main/edit';
const STORES = `# our stores\nmain:\n  baseUrl: \${STORE_URL}\n  apiKey: \${SHOP_KEY}\n`;
const NEW_KEY = 'a-new-key-of-the-store';

let nightly: Nightly;
let other: Store;
let dashboard: ServedDashboard;
let client: HttpClient;

const read = async (name: string) =>
  await readFile(join(nightly.workspace.dir, name), 'utf8').catch(() => '');
const errorOf = ({ document }: Awaited<ReturnType<HttpClient['get']>>, field: string) =>
  document.querySelector(`[id="about-${field}"] .field-error`)?.textContent ?? '';
const save = async (fields: Readonly<Record<string, string>>, path = EDIT) =>
  await client.submit(await client.get(path), path, { weightUnit: 'kg', ...fields });

beforeAll(async () => {
  [nightly, other] = await Promise.all([setupNightly(3), startStore({ seed: 2, apiKey: NEW_KEY })]);
  await nightly.workspace.write('stores.yaml', STORES);
  const { store, workspace } = nightly;
  await workspace.write('.env', `# keys\nexport SHOP_KEY=${store.apiKey}\nSTORE_URL=${store.baseUrl}\n`);
  dashboard = await serveDashboard(workspace);
  client = await dashboard.signedIn('full');
});
afterAll(async () => {
  await nightly?.[Symbol.asyncDispose]();
  await other?.close();
});

it('tests a store, and changes it only where the store takes the key', async () => {
  const page = await client.get('/stores');
  expect(page.words).toContain(nightly.store.baseUrl);
  expect((await client.submit(page, '/stores/main/test')).words).toContain('takes the key');
  const before = await read('.env');
  const refused = await save({ apiKey: 'wrong-key-of-nobody' });
  expect([refused.status, errorOf(refused, 'apiKey')]).toEqual([
    422,
    expect.stringContaining('refuses the key'),
  ]);
  expect(refused.body).not.toContain('wrong-key-of-nobody');
  const elsewhere = await save({ address: other.baseUrl });
  expect(errorOf(elsewhere, 'apiKey')).toContain('Give the key of this server');
  expect(other.requests).toHaveLength(0);
  expect(errorOf(await save({ currency: 'EUR\n  id: x' }), 'currency')).toContain('three letters');
  expect([await read('.env'), await read('stores.yaml')]).toEqual([before, STORES]);

  expect((await save({ address: `${other.baseUrl}/`, apiKey: NEW_KEY, currency: 'EUR' })).words).toContain(
    'EUR',
  );
  expect(await read('.env')).toBe(`# keys\nSHOP_KEY=${NEW_KEY}\nSTORE_URL=${other.baseUrl}\n`);
  expect(await read('stores.yaml')).toBe(`${STORES}  currency: EUR\n`);
  expect((await client.get(EDIT)).body).not.toContain(NEW_KEY);
  expect(dashboard.command.stderr()).not.toContain(NEW_KEY);
  expect((await nightly.workspace.storeferry('runs', '--audit')).stdout).toContain(
    'added or changed a store',
  );
});

it('adds a store whose key is in .env only, and names no variable that is there', async () => {
  const NEW = '/stores/new';
  await nightly.workspace.write('.env', `${await read('.env')}STORE_OUTLET_API_KEY=of-something-else\n`);
  const fields = { name: 'outlet', address: other.baseUrl, apiKey: NEW_KEY, weightUnit: 'g' };
  expect(errorOf(await save({ ...fields, name: '../x' }, NEW), 'name')).toContain('Give letters');
  expect(errorOf(await save({ ...fields, name: 'main' }, NEW), 'name')).toContain('already');
  expect(errorOf(await save({ ...fields, address: 'http://127.0.0.1:9' }, NEW), 'address')).toContain(
    'no server',
  );
  expect((await save(fields, NEW)).words).toContain('outlet');
  expect(await read('stores.yaml')).toContain(
    `outlet: { baseUrl: "${other.baseUrl}", apiKey: "\${STORE_OUTLET_API_KEY_2}", weightUnit: g }\n`,
  );
  expect(await read('.env')).toContain(`STORE_OUTLET_API_KEY_2=${NEW_KEY}\n`);
  expect((await client.submit(await client.get('/stores'), '/stores/outlet/test')).words).toContain(
    'takes the key',
  );
});

it('overwrites no address that somebody has saved since the form was shown, also while the store is asked', async () => {
  const { baseUrl, apiKey } = nightly.store;
  const [early, late] = [await client.get(EDIT), await client.get(EDIT)];
  await client.submit(early, EDIT, { weightUnit: 'kg', address: baseUrl, apiKey });
  expect(await read('.env')).toContain(`STORE_URL=${baseUrl}\n`);
  const refused = await client.submit(late, EDIT, { weightUnit: 'kg', apiKey: NEW_KEY });
  expect([refused.status, refused.words]).toEqual([422, expect.stringContaining('changed after this form')]);

  other.forget();
  other.misbehave({ does: { kind: 'delay', ms: 60_000 } });
  const asking = save({ address: other.baseUrl, apiKey: NEW_KEY });
  await until(() => other.requests.length > 0, { everyMs: 5 });
  await nightly.workspace.write('.env', (await read('.env')).replace(baseUrl, `${baseUrl}/site`));
  other.behave();
  expect((await asking).words).toContain('changed after this form');
  expect(await read('.env')).toContain(`STORE_URL=${baseUrl}/site\n`);
  await nightly.workspace.write('.env', (await read('.env')).replace(`${baseUrl}/site`, baseUrl));
});

it('changes no variable that another store uses, nor the key of an address before the address', async () => {
  const { baseUrl, apiKey } = nightly.store;
  const stores = await read('stores.yaml');
  await nightly.workspace.write(
    'stores.yaml',
    `${stores}twin: { baseUrl: "\${STORE_URL}", apiKey: "\${SHOP_KEY}" }\n`,
  );
  await save({ address: other.baseUrl, apiKey: NEW_KEY });
  expect(await read('.env')).toContain(`SHOP_KEY=${apiKey}\nSTORE_URL=${baseUrl}\n`);
  expect(await read('.env')).toContain(`STORE_MAIN_API_KEY=${NEW_KEY}\n`);
  expect((await client.submit(await client.get('/stores'), '/stores/twin/test')).words).toContain(
    'takes the key',
  );
  expect((await client.submit(await client.get('/stores'), '/stores/main/test')).words).toContain(
    'takes the key',
  );

  const OUTLET = '/stores/outlet/edit';
  await save({ address: baseUrl, apiKey }, OUTLET);
  expect(await read('.env')).toContain(`STORE_OUTLET_API_KEY_2=${NEW_KEY}\n`);
  expect(await read('.env')).toContain(`STORE_OUTLET_API_KEY_3=${apiKey}\n`);
  expect((await client.submit(await client.get('/stores'), '/stores/outlet/test')).words).toContain(
    'takes the key',
  );
});

it('finds out in the background what a store does', async () => {
  await client.submit(await client.get('/stores/outlet/probe'), '/stores/outlet/probe');
  await until(async () => (await client.get('/stores')).words.includes('Found out what outlet does'), {
    everyMs: 50,
  });
  expect((await client.get('/stores')).words).toContain(
    'keeps the fields that an update of a product does not have: ',
  );
});

it('leaves no key of a store that could not be written', async () => {
  const stores = join(nightly.workspace.dir, 'stores.yaml');
  const [before, env] = [await read('stores.yaml'), await read('.env')];
  await rm(stores);
  await nightly.workspace.write('.env', '');
  // There is no file, and none can be made in its place.
  await symlink(join(nightly.workspace.dir, 'nowhere', 'stores.yaml'), stores);
  const { baseUrl, apiKey } = nightly.store;
  await save({ name: 'shop', weightUnit: 'kg', address: baseUrl, apiKey }, '/stores/new');
  expect(await read('.env')).toBe('');
  await rm(stores);
  await nightly.workspace.write('stores.yaml', before);

  const variables = join(nightly.workspace.dir, '.env');
  await rm(variables);
  await symlink(join(nightly.workspace.dir, 'nowhere', '.env'), variables);
  await save({ name: 'third', address: baseUrl, apiKey }, '/stores/new');
  expect(await read('stores.yaml')).toBe(before);
  await rm(variables);
  await nightly.workspace.write('.env', env);
});

it('makes the first store of a workspace, and is for full access', async () => {
  await rm(join(nightly.workspace.dir, 'stores.yaml'));
  await nightly.workspace.write('.env', '');
  const { baseUrl, apiKey } = nightly.store;
  const fields = { name: 'shop', weightUnit: 'lb', address: baseUrl, apiKey };
  const overridden = await save({ ...fields, address: other.baseUrl, apiKey: NEW_KEY }, '/stores/new');
  expect(overridden.words).toContain('STORE_API_KEY has another value in the environment');
  expect(await read('.env')).toBe('');
  await save(fields, '/stores/new');
  expect(await read('.env')).toBe(`STORE_API_KEY=${apiKey}\nSTORE_URL=${baseUrl}\n`);
  expect(await read('stores.yaml')).toContain(`shop:\n  baseUrl: \${STORE_URL}`);
  const reader = await dashboard.signedIn('readOnly');
  expect((await reader.get('/stores')).words).not.toContain('Change');
  for (const path of [EDIT, '/stores/new', '/stores/main/probe', '/stores/main/contacts'])
    expect((await reader.get(path)).status).toBe(403);
});
