import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { storeIdentity } from '../../src/model/remote-address.ts';
import type { SandboxOptions } from '../../src/sandbox/start-sandbox.ts';
import { API_KEY, type Client, setup } from '../sandbox/setup.ts';
import { lyingStore } from '../support/lying-store.ts';
import { makeWorkspace } from '../support/workspace.ts';

const FILES = {
  'stores.yaml': `main: { baseUrl: "\${STORE_URL}", apiKey: "\${STORE_API_KEY}", limits: { concurrency: 4 } }\n`,
  'jobs/crm.yaml':
    'import: contacts\nstore: main\nsource: { path: crm.csv }\nmapping: crm\ncrosswalk: store\nsafety: { maxRejects: off }\n',
  'mappings/crm.yaml':
    'import: contacts\ncolumns: { email: E-mail, phone: Phone }\ncontact: { email: email, phone: phone }\n',
};

async function scene(options: Partial<SandboxOptions>) {
  const store = await setup(options);
  const folder = await makeWorkspace(FILES, { STORE_URL: store.url, STORE_API_KEY: API_KEY });
  return {
    store,
    folder,
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

async function requestsOf(store: Client): Promise<unknown> {
  return (await store.send('GET', '/_sandbox/requests')).body;
}

it('asks for each id once, changes nothing, and finds no contact by a doubled address', async () => {
  await using shop = await scene({});
  const { store, folder } = shop;
  const emails = (await store.list('/_sandbox/contacts')).map(({ email }) => String(email));
  for (let index = 0; index < 5; index += 1) {
    await store.send('PUT', `/api/site/contacts/${1100 + index}`, { email: emails[index] });
  }
  const before = await store.list('/_sandbox/contacts');
  const scan = (
    await folder.storeferry('contacts', 'scan', '--store', 'main', '--ids', '1000-1400', '--json')
  ).json();
  expect(scan).toEqual({ requests: 401, found: 320, absent: 81, ambiguous: 5 });
  expect(await store.list('/_sandbox/contacts')).toEqual(before);

  const rows = emails.map((email, index) => `${email},+44 20 7946 0${100 + (index % 100)}`);
  await writeFile(
    join(folder.dir, 'crm.csv'),
    ['E-mail,Phone', ...rows, 'nobody@mail.example,1', ''].join('\n'),
  );
  const run = (await folder.storeferry('run', 'crm', '--json')).json();
  // The five doubled addresses, and nobody's; the former addresses of 1100 to 1104 are of nobody now.
  expect(run).toMatchObject({ status: 'done-with-rejects', applied: 310, rejected: 11 });
});

it('keeps what an earlier scan has found of other ids, and says which ids were asked for', async () => {
  await using shop = await scene({});
  const { store, folder } = shop;
  const table = async () => await readFile(join(folder.dir, 'contacts-of-main.csv'), 'utf8');
  const idsOf = async () => [...(await table()).matchAll(/^\d+/gm)].map(([id]) => Number(id)).sort();
  await store.send('PUT', '/api/site/contacts/1003', { email: 'odd,"name"@mail.example' });
  await folder.storeferry('contacts', 'scan', '--ids', '1001-1005');
  const { stdout } = await folder.storeferry('contacts', 'scan', '--ids', '1009-1010,1006,1400');
  expect(stdout).toContain('Asked for so far: ids 1001-1006, 1009-1010, 1400.');
  expect(await idsOf()).toEqual([1001, 1002, 1003, 1004, 1005, 1006, 1009, 1010]);
  expect(await table()).toContain('1003,"odd,""name""@mail.example"');

  // An id that is asked for again is as the store has it now; an address of both scans is of several contacts.
  await store.send('PUT', '/api/site/contacts/1002', { email: 'new@mail.example' });
  await store.send('PUT', '/api/site/contacts/1020', { email: 'new@mail.example' });
  await store.send('PUT', '/api/site/contacts/1021', { email: '\uff4eew@mail.example' });
  const again = ['contacts', 'scan', '--ids', '1002,1020-1021', '--json'];
  expect((await folder.storeferry(...again)).json()).toEqual({
    requests: 3,
    found: 3,
    absent: 0,
    ambiguous: 1,
  });
  expect(await table()).toContain('several: 1002 1020 1021,new@mail.example');
  await store.send('PUT', '/api/site/contacts/1002', { email: 'own@mail.example' });
  await store.send('PUT', '/api/site/contacts/1021', { email: 'also@mail.example' });
  await folder.storeferry('contacts', 'scan', '--ids', '1002,1021');
  expect((await table()).split('\n')).toEqual(
    expect.arrayContaining(['1002,own@mail.example', '1020,new@mail.example']),
  );
});

it('keeps a table that a spreadsheet has saved, with the columns that people have added', async () => {
  await using shop = await scene({});
  const { store, folder } = shop;
  const table = async () => await readFile(join(folder.dir, 'contacts-of-main.csv'), 'utf8');
  const scan = (...ids: readonly string[]) => folder.storeferry('contacts', 'scan', ...ids);
  await store.send('PUT', '/api/site/contacts/1003', { email: 'odd;name@mail.example' });
  await scan('--ids', '1001-1003');
  const [, first, second] = (await table())
    .trim()
    .split('\n')
    .map((line) => line.split(','));
  const saved = `\ufeffE-Mail;Note;ID\r\n${first?.[1]};"a, b";1001\r\n${second?.[1]};;1002\r\n"odd;name@mail.example";c;1003\r\n`;
  await folder.write('contacts-of-main.csv', saved);
  expect((await scan('--ids', '1004,1400')).code).toBe(0);
  expect((await table()).split('\n')).toEqual([
    'id,email,Note',
    `1001,${first?.[1]},"a, b"`,
    `1002,${second?.[1]},`,
    '1003,"odd;name@mail.example",c',
    expect.stringMatching(/^1004,[^,]+,$/),
    '',
  ]);

  // A scan without ids begins around those of the table, however it is written.
  await folder.write('contacts-of-main.csv', saved.replaceAll(';', '\t'));
  expect((await scan('--json')).json()).toMatchObject({ found: 320 });
  expect(await table()).toContain(`1001,${first?.[1]},"a, b"\n`);
});

it.each([
  ['the header is another', 'Nr;Adresse\n1001;ann@mail.example\n', "There is no column 'email'"],
  ['a row has shifted', 'id;email\n1001;ann@mail.example;x\n', '3 cells under 2 headers'],
])('writes nothing and asks nothing where %s', async (_, content, problem) => {
  await using shop = await scene({});
  const { store, folder } = shop;
  await folder.storeferry('contacts', 'scan', '--ids', '1001-1003');
  await folder.write('contacts-of-main.csv', content);
  const before = JSON.stringify(await requestsOf(store));
  const { code, stderr } = await folder.storeferry('contacts', 'scan', '--ids', '1400');
  expect(code).not.toBe(0);
  expect(stderr).toContain(problem);
  expect(stderr).toMatch(/contacts-of-main\.csv/);
  expect(await readFile(join(folder.dir, 'contacts-of-main.csv'), 'utf8')).toBe(content);
  expect(JSON.stringify(await requestsOf(store))).toBe(before);
});

it('goes on after kills, and asks again only for what was under way', async () => {
  await using shop = await scene({ latencyMs: 5 });
  const { store, folder } = shop;
  for (let kills = 0; kills < 10; kills += 1) {
    const scanning = folder.start('contacts', 'scan', '--ids', '1000-1400');
    const from = JSON.stringify(await requestsOf(store));
    while (JSON.stringify(await requestsOf(store)) === from)
      await new Promise((resolve) => setTimeout(resolve, 5));
    scanning.process.kill('SIGKILL');
    await scanning.ended;
  }
  const { code } = await folder.storeferry('contacts', 'scan', '--ids', '1000-1400');
  expect(code).toBe(0);
  const table = await readFile(join(folder.dir, 'contacts-of-main.csv'), 'utf8');
  expect(table.trim().split('\n')).toHaveLength(321);
  expect(await requestsOf(store)).toMatchObject({
    total: expect.toSatisfy((total: number) => total <= 401 + 10 * 4),
  });
});

it('stops after one try where the store refuses', async () => {
  await using shop = await scene({ profiles: ['refuses-empty-put'] });
  const { code, stderr } = await shop.folder.storeferry('contacts', 'scan', '--ids', '1001-1400');
  expect([code, stderr]).toEqual([1, expect.stringContaining('refuses to answer contact 1001')]);
  expect(await requestsOf(shop.store)).toMatchObject({ total: 1 });
});

it('grows from the contacts of orders, and reads a store that lists contacts', async () => {
  await using alone = await scene({});
  expect((await alone.folder.storeferry('contacts', 'scan', '--json')).json()).toMatchObject({ found: 320 });
  await using extended = await scene({ profiles: ['extended'] });
  expect((await extended.folder.storeferry('probe')).code).toBe(0);
  // An interrupted scan has found a contact that was deleted since.
  await extended.folder.write(
    '.storeferry/contacts-scan-main.jsonl',
    `${journalOf(extended.store.url)}\n[5,"gone@shop.example"]\n`,
  );
  const scan = (await extended.folder.storeferry('contacts', 'scan', '--json')).json();
  expect(scan).toMatchObject({ found: 320, absent: 0, ambiguous: 0 });
  expect(Number(scan['requests'])).toBeLessThan(20);
});

/** A store with these contacts, whose orders name one of an id. */
async function storeOf(contactId: number, isThere: (id: number) => boolean) {
  return await lyingStore((_, path) => {
    if (path.startsWith('/api/site/orders')) return [{ id: 1, contactId }];
    const id = Number(/contacts\/(\d+)$/.exec(path)?.[1]);
    return isThere(id) ? { id, email: `${id}@shop.example` } : undefined;
  });
}

/** The first line of the journal of a scan. */
const journalOf = (baseUrl: string) => JSON.stringify({ store: storeIdentity({ baseUrl }) });

it('takes no id of a store for another one that has its name now', async () => {
  await using shop = await scene({});
  await using other = await setup({});
  const { store, folder } = shop;
  const [found] = await store.list('/_sandbox/contacts');
  await other.send('PUT', '/api/site/contacts/1001', { email: 'somebody@else.example' });
  await folder.storeferry('contacts', 'scan', '--ids', '1001-1003');
  await folder.write('stores.yaml', FILES['stores.yaml'].replace(`\${STORE_URL}`, other.url));
  await folder.write('crm.csv', `E-mail,Phone\n${found?.email},1\n`);
  const before = await other.list('/_sandbox/contacts');
  const run = (await folder.storeferry('run', 'crm', '--json')).json();
  expect(run).toMatchObject({ status: 'failed', error: expect.stringContaining('those of other contacts') });
  expect(await other.list('/_sandbox/contacts')).toEqual(before);
  const journal = [journalOf(store.url), JSON.stringify([1001, found?.email]), ''];
  await folder.write('.storeferry/contacts-scan-main.jsonl', journal.join('\n'));
  await folder.storeferry('contacts', 'scan', '--ids', '1001-1001');
  expect(await readFile(join(folder.dir, 'contacts-of-main.csv'), 'utf8')).toContain(
    '1001,somebody@else.example',
  );
  expect((await folder.storeferry('run', 'crm', '--json')).json()).toMatchObject({
    rejected: 1,
    requests: 0,
  });
});

it('grows beyond what an interrupted scan has asked for', async () => {
  await using store = await storeOf(1_000, (id) => id >= 1_000 && id < 1_300);
  await using folder = await makeWorkspace(FILES, { STORE_URL: store.url, STORE_API_KEY: API_KEY });
  const asked = Array.from({ length: 401 }, (_, index) => 800 + index);
  const journal = asked.map((id) => JSON.stringify([id, id < 1_000 ? null : `${id}@shop.example`]));
  await folder.write(
    '.storeferry/contacts-scan-main.jsonl',
    [journalOf(store.url), ...journal, ''].join('\n'),
  );
  // A slow machine also prints how far it is.
  expect((await folder.storeferry('contacts', 'scan')).code).toBe(0);
  const table = await readFile(join(folder.dir, 'contacts-of-main.csv'), 'utf8');
  expect(table.trim().split('\n')).toHaveLength(301);
});

it('ends, whatever ids the orders of a store name', async () => {
  await using store = await storeOf(Number.MAX_SAFE_INTEGER, () => false);
  await using folder = await makeWorkspace(FILES, { STORE_URL: store.url, STORE_API_KEY: API_KEY });
  const { code, stderr } = await folder.storeferry('contacts', 'scan');
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('No order and no earlier scan names a contact'),
  ]);
});

it.each([
  [['sync'], 'contacts sync is not a command'],
  [['scan', '--ids', '9-3'], 'Expected ids such as'],
  [['scan', '--ids', '1-2000000'], 'at most 1000000'],
])('refuses `contacts %s`', async (words, message) => {
  await using shop = await scene({});
  const { code, stderr } = await shop.folder.storeferry('contacts', ...words);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});
