import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newContactKey } from '../../src/model/operation.ts';
import type { ProbedProperties } from '../../src/model/probed-properties.ts';
import type { SandboxOptions } from '../../src/sandbox/start-sandbox.ts';
import { serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { API_KEY, type Client, setup } from '../sandbox/setup.ts';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const JOB =
  'import: contacts\nstore: main\nsource: { path: crm.csv }\nmapping: crm\ncrosswalk: store\nsafety: { maxRejects: off, minRows: off }\n';
const FILES = {
  'stores.yaml': `main: { baseUrl: "\${STORE_URL}", apiKey: "\${STORE_API_KEY}", limits: { concurrency: 8, timeoutSeconds: 2 } }\n`,
  'jobs/crm.yaml': `${JOB}mode: upsert\n`,
  'mappings/crm.yaml':
    'import: contacts\ncolumns: { email: E-mail, phone: Phone }\ncontact: { email: email, phone: phone }\n',
};

interface Scene extends AsyncDisposable {
  readonly store: Client;
  readonly folder: Workspace;
  /** Writes the CRM: the contacts of the store, some of them left as they are, and new ones. */
  crm(options: { known: number; added: number; kept?: number }): Promise<readonly string[]>;
  /** What the probe learns, changed. */
  probe(changes?: Partial<ProbedProperties>): Promise<void>;
}

async function scene(
  options: Partial<SandboxOptions> = {},
  env: Readonly<Record<string, string>> = {},
): Promise<Scene> {
  const store = await setup({ profiles: ['extended'], ...options });
  const folder = await makeWorkspace(FILES, { STORE_URL: store.url, STORE_API_KEY: API_KEY, ...env });
  return {
    store,
    folder,
    async crm({ known, added, kept = 0 }) {
      const contacts = await store.list('/_sandbox/contacts');
      const rows = contacts
        .slice(0, known)
        .map((contact, index) => [
          String(contact.email).toUpperCase(),
          index < kept && 'phone' in contact ? String(contact.phone) : `+44 ${index}`,
        ])
        .map((cells, index) => (index < kept ? [String(contacts[index]?.email), cells[1]] : cells));
      for (let index = 0; index < added; index += 1) rows.push([`new-${index}@mail.example`, `+43 ${index}`]);
      await folder.write('crm.csv', ['E-mail,Phone', ...rows.map((row) => row.join(',')), ''].join('\n'));
      return rows.map(([email = '']) => email.toLowerCase());
    },
    async probe(changes = {}) {
      expect((await folder.storeferry('probe', 'main', '--contact', '1001')).code).toBe(0);
      const probes = join(folder.dir, '.storeferry', 'artifacts', 'probes');
      const [name = ''] = (await readdir(probes)).filter((file) => !file.includes('-open'));
      const probe = JSON.parse(await readFile(join(probes, name), 'utf8'));
      await writeFile(
        join(probes, name),
        JSON.stringify({ ...probe, properties: { ...probe.properties, ...changes } }),
      );
    },
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

async function requestsOf(store: Client): Promise<number> {
  return Number(Reflect.get((await store.send('GET', '/_sandbox/requests')).body, 'total'));
}

async function emailsOf(store: Client): Promise<readonly string[]> {
  return (await store.list('/_sandbox/contacts')).map(({ email }) => String(email).toLowerCase());
}

const BY_UPSERT = { readsContacts: false, searchesContactsByEmail: false };
const BY_LIST = {};
const KILLS = 2;

function suite(env: () => Readonly<Record<string, string>>, most: number) {
  it.each([
    ['by upsert', BY_UPSERT, most],
    ['by list', BY_LIST, 400],
  ])('updates known contacts and creates the others, %s', async (how, properties, known) => {
    const added = known / 4;
    const all = known + added;
    const counts = how === 'by list' ? { new: added, changed: known } : { new: all, changed: 0 };
    await using shop = await scene({ seedSize: { contacts: known } }, env());
    await shop.probe(properties);
    const emails = await shop.crm({ known, added });
    const run = (await shop.folder.storeferry('run', 'crm', '--json')).json();
    expect(run).toMatchObject({ status: 'done', applied: all, requests: all, ...counts });
    expect((await emailsOf(shop.store)).toSorted()).toEqual(emails.toSorted());

    const before = await requestsOf(shop.store);
    expect((await shop.folder.storeferry('run', 'crm', '--json')).json()).toMatchObject({ unchanged: all });
    expect(await requestsOf(shop.store)).toBe(before);
    // In another order it is another source, in which nothing has changed.
    const [header = '', ...rows] = (await readFile(join(shop.folder.dir, 'crm.csv'), 'utf8'))
      .trim()
      .split('\n');
    await shop.folder.write('crm.csv', [header, ...rows.reverse(), ''].join('\n'));
    const again = (await shop.folder.storeferry('run', 'crm', '--json')).json();
    expect(again).toMatchObject({ status: 'done', unchanged: all, requests: 0 });
  });

  it('goes on after kills without a double', async () => {
    await using shop = await scene({ seedSize: { contacts: 100 }, latencyMs: 10 }, env());
    await shop.probe(BY_UPSERT);
    const emails = await shop.crm({ known: 80, added: 120 });
    for (let kills = 0; kills < KILLS; kills += 1) {
      const from = await requestsOf(shop.store);
      let running = shop.folder.start('run', 'crm');
      await until(async () => {
        // In the shared state the lock of a process that was killed stays for its lease.
        if (running.process.exitCode !== null) running = shop.folder.start('run', 'crm');
        return (await requestsOf(shop.store)) >= from + 12;
      });
      running.process.kill('SIGKILL');
      await running.ended;
      // Another source: it is planned anew, with contacts in doubt.
      await shop.folder.write(
        'crm.csv',
        `${await readFile(join(shop.folder.dir, 'crm.csv'), 'utf8')}late-${kills}@mail.example,1\n`,
      );
    }
    await until(async () => (await shop.folder.storeferry('run', 'crm')).code === 0, { everyMs: 500 });
    const held = await emailsOf(shop.store);
    expect(held).toHaveLength(100 + 120 + KILLS);
    expect(new Set(held).size).toBe(held.length);
    expect(emails.every((email) => held.includes(email))).toBe(true);
    const before = await requestsOf(shop.store);
    expect((await shop.folder.storeferry('run', 'crm', '--json')).code).toBe(0);
    expect(await requestsOf(shop.store)).toBe(before);
  });
}

describe('contacts by e-mail address, with the embedded state', () => {
  suite(() => ({}), 4_000);

  it('compares what it has read: only a difference is sent', async () => {
    await using shop = await scene();
    await shop.probe();
    await shop.crm({ known: 320, added: 0, kept: 300 });
    const run = (await shop.folder.storeferry('run', 'crm', '--json')).json();
    expect(run).toMatchObject({ new: 0, changed: 20, unchanged: 300, applied: 20, requests: 20 });
  });

  it('rejects unknown contacts where the job does not create any', async () => {
    await using shop = await scene();
    await shop.folder.write('jobs/crm.yaml', JOB);
    await shop.probe();
    await shop.crm({ known: 10, added: 3 });
    const run = (await shop.folder.storeferry('run', 'crm', '--json')).json();
    expect(run).toMatchObject({ status: 'done-with-rejects', applied: 10, rejected: 3 });
    expect(await emailsOf(shop.store)).toHaveLength(320);
  });

  it('searches for each address once where the store does not list', async () => {
    await using shop = await scene();
    await shop.folder.write('jobs/crm.yaml', JOB);
    await shop.probe({ readsContacts: false });
    await shop.crm({ known: 10, added: 3 });
    const before = await requestsOf(shop.store);
    const run = (await shop.folder.storeferry('run', 'crm', '--json')).json();
    expect(run).toMatchObject({ status: 'done-with-rejects', applied: 10, rejected: 3 });
    expect(await requestsOf(shop.store)).toBe(before + 13 + 10);
  });

  it('searches for an address in both forms that a store may have of it', async () => {
    await using shop = await scene();
    await shop.folder.write('jobs/crm.yaml', JOB);
    await shop.probe({ readsContacts: false });
    await shop.store.send('PUT', '/api/site/contacts/1003', { email: 'rene\u0301@mail.example' });
    await shop.store.send('PUT', '/api/site/contacts/1004', { email: 'zo\u00eb@mail.example' });
    await shop.folder.write('crm.csv', 'E-mail,Phone\nren\u00e9@mail.example,1\nzoe\u0308@mail.example,2\n');
    const run = (await shop.folder.storeferry('run', 'crm', '--json')).json();
    expect(run).toMatchObject({ status: 'done', applied: 2, rejected: 0 });
  });

  it('sends no contact whose address occurs twice, in the source or in the store', async () => {
    await using shop = await scene();
    await shop.probe();
    const [first = '', second = ''] = await emailsOf(shop.store);
    await shop.store.send('PUT', '/api/site/contacts/1003', { email: first });
    await shop.folder.write(
      'crm.csv',
      `E-mail,Phone\n${first},1\n${second},2\nx@mail.example,3\nX@mail.example ,4\n`,
    );
    const run = (await shop.folder.storeferry('run', 'crm', '--json')).json();
    expect(run).toMatchObject({ status: 'done-with-rejects', applied: 1, rejected: 2 });
    expect(await emailsOf(shop.store)).toHaveLength(320);
  });

  it.each([
    ['by upsert', BY_UPSERT],
    ['by list', BY_LIST],
  ])('takes the forms that Unicode has for an address for one contact, %s', async (_, properties) => {
    const [decomposed, composed, wide] = ['rene\u0301', 'ren\u00e9', '\uff52\uff45\uff4e\u00e9'];
    await using shop = await scene();
    await shop.probe(properties);
    const run = async (...rows: readonly string[]) => {
      await shop.folder.write('crm.csv', ['E-mail,Phone', ...rows, ''].join('\n'));
      return (await shop.folder.storeferry('run', 'crm', '--json')).json();
    };
    expect(await run(`${decomposed}@mail.example,+44 1`)).toMatchObject({ status: 'done', new: 1 });
    // As it was sent by a mapping that left the form as it was: it is not sent again for the form alone.
    await shop.folder.write(
      'mappings/crm.yaml',
      FILES['mappings/crm.yaml'].replace('email: email', 'email: [email, email]'),
    );
    expect(await run(`${decomposed}@mail.example,+44 1`)).toMatchObject({ unchanged: 1, requests: 0 });
    expect(await run(`${composed}@mail.example,+44 1`)).toMatchObject({ unchanged: 1, requests: 0 });
    expect(await run(`${wide}@mail.example,+44 2`)).toMatchObject({ new: 0, changed: 1, applied: 1 });
    expect(await run(`${decomposed}@mail.example,3`, `${wide}@mail.example,4`)).toMatchObject({
      ...{ records: 1, rejected: 1, applied: 0 },
    });
    const emails = await emailsOf(shop.store);
    expect([emails.length, emails.at(-1)]).toEqual([321, `${composed}@mail.example`]);
  });

  it.each([
    ['by list', BY_LIST],
    ['by upsert', BY_UPSERT],
  ])(
    'knows a contact that the store has by now under the key that it had as a new one, %s',
    async (_, found) => {
      await using shop = await scene();
      await shop.probe(found);
      await shop.folder.write(
        'mappings/crm.yaml',
        FILES['mappings/crm.yaml']
          .replace('Phone }', 'Phone, optIn: "Opt in" }')
          .replace('phone: phone', 'phone: phone, subscribed: optIn'),
      );
      const crm = (...rows: readonly string[]) =>
        shop.folder.write('crm.csv', ['E-mail,Phone,Opt in', ...rows, ''].join('\n'));
      const json = async (...args: readonly string[]) =>
        (await shop.folder.storeferry(...args, '--json')).json();

      await crm('a@mail.example,1,maybe', 'b@mail.example,2,maybe', 'c@mail.example,4,maybe');
      const first = await json('run', 'crm');
      expect(first).toMatchObject({ rejected: 3 });
      await shop.folder.write(
        'jobs/crm.yaml',
        `${JOB}mode: upsert\nleaveOut: [${newContactKey('a@mail.example')}]\n`,
      );
      // A store that lists no contacts knows them by what another job has sent.
      await shop.folder.write('jobs/other.yaml', `${JOB.replace('crm.csv', 'other.csv')}mode: upsert\n`);
      const [sent, signedUp] = found === BY_LIST ? ['c', ['a', 'b']] : ['a@mail.example,7,\nc', []];
      for (const name of signedUp)
        await shop.store.send('POST', '/api/site/contacts', { email: `${name}@mail.example` });
      await shop.folder.write('other.csv', `E-mail,Phone,Opt in\n${sent}@mail.example,7,\n`);
      expect(await json('run', 'other')).toMatchObject({ status: 'done' });
      const rejects = String(first['rejectsFile']);
      const text = await readFile(join(shop.folder.dir, rejects), 'utf8');
      await shop.folder.write(rejects, text.replaceAll('maybe', 'false'));
      const retried = await json('retry', String(first['run']));
      expect(retried).toMatchObject({ status: 'done', applied: 1, skipped: 2, rejected: 0 });

      await crm('a@mail.example,3,yes', 'b@mail.example,2,false');
      expect(await json('run', 'crm')).toMatchObject({
        status: 'done',
        unchanged: 1,
        skipped: 1,
        applied: 0,
      });
    },
  );

  it('stops where more contacts would be created than the job allows', async () => {
    await using shop = await scene();
    await shop.folder.write(
      'jobs/crm.yaml',
      `${JOB.replace('maxRejects: off', 'maxCreates: 5')}mode: upsert\n`,
    );
    await shop.probe();
    await shop.crm({ known: 10, added: 6 });
    const { code, stderr, stdout } = await shop.folder.storeferry('run', 'crm');
    expect([code, stdout + stderr]).toEqual([4, expect.stringContaining('maxCreates')]);
    expect(await emailsOf(shop.store)).toHaveLength(320);
  });

  it.each([
    ['by list', BY_LIST, '6 contacts would be created and 10 updated.', 'new 6', '(6 new and 10 updated)'],
    [
      ...(['by upsert', BY_UPSERT] as const),
      '16 contacts would be created (or updated, where the store has the address).',
      'without a known id 16',
      '(all created (or updated, where the store has the address))',
    ],
  ])(
    'says how many contacts are created, and that they stay, %s',
    async (how, properties, plans, row, done) => {
      await using shop = await scene();
      await shop.probe(properties);
      await shop.crm({ known: 10, added: 6 });
      const created = how === 'by list' ? 6 : 16;
      const { run, ...figures } = (await shop.folder.storeferry('plan', 'crm', '--json')).json();
      expect(figures).toMatchObject({ created, operations: 16 });
      const planned = (await shop.folder.storeferry('plan', 'crm')).stdout.replaceAll(/\s+/g, ' ');
      expect(planned).toContain(plans);
      expect(planned).toContain(row);
      const visitor = await (await serveDashboard(shop.folder)).signedIn('full');
      const [last] = (await shop.folder.storeferry('runs', '--json')).json()['runs'] as { run: string }[];
      const asked = (await visitor.get(`/runs/${last?.run}/approve`)).words;
      expect(asked).toContain(`Creates ${created} contacts`);
      expect(asked).toContain('An undo cannot take them back');
      const approved = await shop.folder.storeferry('approve', String(last?.run));
      expect([approved.code, approved.stdout]).toEqual([
        0,
        expect.stringContaining(`Done: 16 contacts were sent ${done}.`),
      ]);
      const page = (await visitor.get(`/runs/${last?.run}`)).words;
      expect(page).toContain('To take back what this run sent, except contacts that it created, which stay');
      expect((await visitor.get(`/runs/${last?.run}/undo`)).words).toContain('Contacts that it created stay');
      expect(run).not.toBe(last?.run);
    },
  );

  it.each([
    ['by list', BY_LIST],
    ['by upsert', BY_UPSERT],
  ])(
    'notes a contact that is created beside one that differs in its address alone, %s',
    async (_, properties) => {
      await using shop = await scene();
      await shop.probe(properties);
      const save = (...rows: string[]) =>
        shop.folder.write('crm.csv', ['E-mail,Phone', ...rows, ''].join('\n'));
      const planned = async () =>
        (await shop.folder.storeferry('plan', 'crm')).stdout.replaceAll(/\s+/g, ' ');
      const note = /1 record: no longer in the source, and all but its e-mail address .* \((\d+)\)/;
      await save('ann@mail.example,+43 1', 'bob@mail.example,+43 2');
      expect(await planned()).not.toMatch(note);
      expect((await shop.folder.storeferry('run', 'crm')).code).toBe(0);
      const ids = (await shop.store.list('/_sandbox/contacts')).map(({ id }) => id);
      await save('ann@mail.example,+43 1', 'bob@new.example,+43 3');
      expect(await planned()).not.toMatch(note);
      await save('ann@mail.example,+43 1', 'bob@mail.example,+43 2', 'bob@new.example,+43 2');
      expect(await planned()).not.toMatch(note);
      await save('ann@mail.example,+43 1', 'bob@new.example,+43 2');
      expect(note.exec(await planned())?.[1]).toBe(String(ids.at(-1)));
      expect((await shop.folder.storeferry('run', 'crm', '--json')).json()).toMatchObject({
        applied: 1,
        unchanged: 1,
        created: 1,
      });
      expect(await planned()).not.toMatch(note);
    },
  );

  it('says what to type where nothing is known of the store', async () => {
    await using shop = await scene();
    await shop.crm({ known: 10, added: 6 });
    const { code, stdout } = await shop.folder.storeferry('run', 'crm');
    expect([code, stdout]).toEqual([
      1,
      expect.stringMatching(/never probed\. Type: storeferry .*probe main/s),
    ]);
    await shop.probe({ upsertsContactsByEmail: null });
    const run = await shop.folder.storeferry('run', 'crm');
    expect([run.code, run.stdout]).toEqual([3, expect.stringMatching(/probe\s+main\s+--contact/)]);
  });
});

describeWithRedis('contacts by e-mail address, with the shared state', () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await startRedis({});
  });
  afterAll(() => redis.stop());
  suite(() => ({ REDIS_URL: redis.url, STOREFERRY_LEASE_MS: '5000' }), 400);
});
