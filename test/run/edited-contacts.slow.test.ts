import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { API_KEY, setup } from '../sandbox/setup.ts';
import { readFiles } from '../support/read-files.ts';
import { until } from '../support/until.ts';
import { makeWorkspace } from '../support/workspace.ts';

const JOB = 'import: contacts\nstore: main\nsource: { path: crm.csv }\nmapping: crm\n';

/** A job for contacts of a store, and hands to edit them there. */
async function openCrm(ids: readonly number[], options: Parameters<typeof setup>[0] = {}) {
  const store = await setup(options);
  const folder = await makeWorkspace(
    {
      'stores.yaml': `main: { baseUrl: "${store.url}", apiKey: "\${STORE_API_KEY}", limits: { timeoutSeconds: 2 } }\n`,
      'jobs/crm.yaml': JOB,
      'mappings/crm.yaml':
        'import: contacts\ncolumns: { id: Id, name: Name, phone: Phone }\ncontact: { id: id, name: name, phone: phone }\n',
    },
    { STORE_API_KEY: API_KEY },
  );
  const contacts = () => store.list('/_sandbox/contacts');
  const source = (phone: string, name = 'Ann') =>
    folder.write(
      'crm.csv',
      `Id,Name,Phone\n${ids.map((id) => `${id},${name} ${id},${phone}${id}`).join('\n')}\n`,
    );
  return {
    folder,
    contacts,
    contact: async (id: number) => (await contacts()).find((one) => one.id === id),
    source,
    /** Runs the job with such phones, and kills it once the store has one of them. */
    async killIn(phone: string) {
      await source(phone);
      const { process, ended } = folder.start('run', 'crm');
      const isOver = () => process.exitCode !== null;
      await until(async () => isOver() || JSON.stringify(await contacts()).includes(`"${phone}`));
      process.kill('SIGKILL');
      await ended;
    },
    async run(...words: readonly string[]) {
      const { code, json } = await folder.storeferry(...words, '--json');
      const said: Record<string, unknown> = { ...json(), code };
      return said;
    },
    async edit(id: number, fields: object) {
      expect((await store.send('PUT', `/api/site/contacts/${id}`, fields)).status).toBe(200);
    },
    async [Symbol.asyncDispose]() {
      await folder[Symbol.asyncDispose]();
      await store[Symbol.asyncDispose]();
    },
  };
}

describe('a contact of a store that was not probed', () => {
  it.each<readonly [string, Parameters<typeof setup>[0]]>([
    ['the document alone', {}],
    ['more', { profiles: ['extended', 'replace-whole', 'clears-lists', 'refuses-empty-put'] }],
  ])('stays unsubscribed when something else changes, where the store has %s', async (_, options) => {
    await using crm = await openCrm([1002], options);
    const { folder, contact, run, edit } = crm;
    await folder.write(
      'mappings/crm.yaml',
      'import: contacts\ncolumns: { id: Id, phone: Phone, news: News, lists: Lists }\ncontact: { id: id, phone: phone, subscribed: [news, boolean], subscriberLists: [lists, { split: ";" }, integer] }\n',
    );
    const source = (phone: string, news = 'yes') =>
      folder.write('crm.csv', `Id,Phone,News,Lists\n1002,${phone},${news},1;2\n`);
    await source('+44 1');
    expect(await run('run', 'crm')).toMatchObject({ code: 0, applied: 1 });
    expect(await contact(1002)).toMatchObject({ subscribed: true, subscriberLists: [1, 2] });
    await edit(1002, { subscribed: false, subscriberLists: [9] });
    await source('+45 1');
    const changed = await run('run', 'crm');
    expect(changed).toMatchObject({ code: 0, applied: 1, fieldsChanged: { phone: 1 } });
    const left = { subscribed: false, subscriberLists: [9] };
    expect(await contact(1002)).toMatchObject({ phone: '+45 1', ...left });
    expect(await run('run', 'crm')).toMatchObject({ code: 0, unchanged: 1, requests: 0 });
    const undone = await run('undo', String(changed['run']));
    expect(await run('approve', String(undone['run']))).toMatchObject({ code: 0, applied: 1 });
    expect(await contact(1002)).toMatchObject({ phone: '+44 1', ...left });
    // What the source changes is sent, and a resend is of all.
    await source('+44 1', 'no');
    expect(await run('run', 'crm')).toMatchObject({ fieldsChanged: { subscribed: 1 } });
    expect(await contact(1002)).toMatchObject({ subscribed: false, subscriberLists: [9] });
    expect(await run('run', 'crm', '--resend')).toMatchObject({ applied: 1 });
    expect(await contact(1002)).toMatchObject({ subscriberLists: [1, 2] });
  });

  it('gets all of it again after a kill that left it in doubt before it was acknowledged', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => 1002 + index);
    await using crm = await openCrm(ids, { latencyMs: 15, profiles: ['refuses-empty-put'] });
    const { folder, contacts, source, run, edit, killIn } = crm;
    await killIn('+44 ');
    await source('+45 ');
    expect(await run('run', 'crm')).toMatchObject({ code: 0, unsent: 0 });
    const known = (await contacts()).filter(({ id }) => ids.includes(Number(id)));
    expect(known).toMatchObject(ids.map((id) => ({ id, name: `Ann ${id}`, phone: `+45 ${id}` })));
    for (const id of ids) await edit(id, { name: `By hand ${id}` });
    await killIn('+46 ');
    // The phone is in doubt, and the source no longer has it.
    await folder.write('crm.csv', `Id,Name,Phone\n${ids.map((id) => `${id},Ann ${id},`).join('\n')}\n`);
    expect(await run('run', 'crm')).toMatchObject({ code: 0, unsent: 0, rejected: 0 });
    expect(await run('run', 'crm')).toMatchObject({ code: 0, unchanged: 30, requests: 0 });
  });

  it('keeps edits that are known when what a kill left in doubt is gone from the source', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => 1002 + index);
    await using crm = await openCrm(ids, { latencyMs: 15 });
    const { folder, contacts, source, run, edit, killIn } = crm;
    await source('+44 ');
    await run('run', 'crm');
    expect((await folder.storeferry('probe', 'main', '--contact', '1001')).code).toBe(0);
    for (const id of ids) await edit(id, { name: `By hand ${id}` });
    expect(await run('drift', 'crm')).toMatchObject({ edited: 30 });
    await killIn('+45 ');
    await folder.write('crm.csv', `Id,Name,Phone\n${ids.map((id) => `${id},Ann ${id},`).join('\n')}\n`);
    expect(await run('run', 'crm')).toMatchObject({ code: 0, unsent: 0, rejected: 0 });
    const known = (await contacts()).filter(({ id }) => ids.includes(Number(id)));
    expect(known).toMatchObject(ids.map((id) => ({ name: `By hand ${id}` })));
    expect(await run('run', 'crm')).toMatchObject({ code: 0, unchanged: 30, requests: 0 });
  });
});

describe('contacts that were edited in the store', () => {
  it('are kept or held like products, once an answer has shown it, without their values in a report', async () => {
    await using crm = await openCrm([1002, 1003, 1004, 1005, 1006, 1007]);
    const { folder, contact, source, run, edit } = crm;
    await source('+44 ');
    await run('run', 'crm');
    await edit(1007, { name: 'By hand' });
    await source('+45 ');
    // Nothing was probed, but by the document a contact keeps what an update does not have.
    expect(await run('run', 'crm')).toMatchObject({ code: 0, applied: 6 });
    expect(await contact(1007)).toMatchObject({ name: 'By hand', phone: '+45 1007' });

    expect((await folder.storeferry('probe', 'main', '--contact', '1001')).code).toBe(0);
    await source('+46 ');
    expect(await run('run', 'crm')).toMatchObject({ code: 0, applied: 6 });
    await edit(1002, { name: 'By hand' });
    await edit(1003, { phone: '+1 hand' });
    expect(await run('drift', 'crm')).toMatchObject({ code: 3, edited: 2 });
    await edit(1004, { name: 'By hand' });
    await source('+47 ');
    expect(await run('plan', 'crm')).toMatchObject({ changed: 5, held: 1, edited: 2 });
    const held = await run('run', 'crm');
    expect(held).toMatchObject({ code: 3, applied: 5, held: 1 });
    expect(await contact(1002)).toMatchObject({ name: 'By hand', phone: '+47 1002' });
    expect(await contact(1003)).toMatchObject({ phone: '+1 hand' });
    // The answer has shown this edit.
    expect(await contact(1004)).toMatchObject({ name: 'By hand', phone: '+47 1004' });
    const report = await folder.storeferry('runs', String(held['run']));
    expect(report.stdout).toContain('held: 1003');
    const records = await folder.storeferry('runs', String(held['run']), '--records');
    expect(report.stdout + records.stdout).not.toMatch(/\+1 hand|\+47 1003/);

    const keep = ['release', String(held['run']), '1003', '--conflicts', 'store'];
    expect(await run(...keep)).toMatchObject({ code: 0, held: 0 });
    expect(await contact(1003)).toMatchObject({ phone: '+1 hand' });
    await source('+47 ', 'Bea');
    expect(await run('run', 'crm')).toMatchObject({ code: 3, applied: 4, held: 2 });
    expect(await contact(1003)).toMatchObject({ name: 'Bea 1003', phone: '+1 hand' });
    await folder.write('jobs/crm.yaml', `${JOB}conflicts: source\n`);
    expect(await run('run', 'crm')).toMatchObject({ code: 0, applied: 3, held: 0 });
    expect(await contact(1003)).toMatchObject({ phone: '+47 1003' });
    expect(await contact(1004)).toMatchObject({ name: 'Bea 1004' });
  });

  it.each([
    { id: 'short', first: 1001 },
    { id: 'so long that the examples of the plan name the contact', first: 1_000_001 },
  ])('can be released after one of them was forgotten whose id is $id', async ({ first }) => {
    await using data = await mkdtempDisposable(join(tmpdir(), 'storeferry-sandbox-'));
    await (await setup({ dataDir: data.path }))[Symbol.asyncDispose]();
    const database = new DatabaseSync(join(data.path, 'sandbox.db'));
    database.exec(
      `UPDATE contacts SET id = id + ${first - 1001}, body = json_set(body, '$.id', id + ${first - 1001})`,
    );
    database.close();
    await using crm = await openCrm([first + 1, first + 2, first + 3], { dataDir: data.path });
    const { folder, contact, source, run, edit } = crm;
    expect((await folder.storeferry('probe', 'main', '--contact', String(first))).code).toBe(0);
    await source('+44 ');
    expect(await run('run', 'crm')).toMatchObject({ code: 0, applied: 3 });
    for (const id of [1, 2, 3]) await edit(first + id, { phone: '+1 hand' });
    expect(await run('drift', 'crm')).toMatchObject({ edited: 3 });
    await source('+47 ');
    const held = String((await run('run', 'crm'))['run']);
    expect(await run('forget', `${first + 2}`, '--yes')).toMatchObject({ code: 0 });
    const files = await readFiles(join(folder.dir, '.storeferry', 'artifacts', held));
    for (const [path, text] of files)
      expect([path, text.includes(`Ann ${first + 2}`)]).toEqual([path, false]);
    expect(await run('release', held, '--conflicts', 'source')).toMatchObject({ code: 0, applied: 2 });
    expect(await contact(first + 1)).toMatchObject({ phone: `+47 ${first + 1}` });
    expect(await contact(first + 2)).toMatchObject({ phone: '+1 hand' });
    expect(await contact(first + 3)).toMatchObject({ phone: `+47 ${first + 3}` });
  });

  it('are restored in the fields that differ alone', async () => {
    await using crm = await openCrm([1002, 1003]);
    const { folder, contact, source, run, edit } = crm;
    await source('+44 ');
    await run('run', 'crm');
    expect((await folder.storeferry('probe', 'main', '--contact', '1001')).code).toBe(0);
    await edit(1002, { name: 'Ann Fox' });
    expect(await run('drift', 'crm', '--accept')).toMatchObject({ edited: 1 });
    await edit(1002, { phone: '+1', subscribed: false });
    expect(await run('drift', 'crm')).toMatchObject({ edited: 1, fields: 1 });
    const planned = await run('drift', 'crm', '--restore');
    expect(planned).toMatchObject({ changed: 1, fieldsChanged: { phone: 1 } });
    expect(await run('approve', String(planned['run']))).toMatchObject({ code: 0, applied: 1 });
    expect(await contact(1002)).toMatchObject({ name: 'Ann Fox', phone: '+44 1002', subscribed: false });
    expect(await run('drift', 'crm')).toMatchObject({ code: 0, edited: 0 });
    expect(await run('run', 'crm')).toMatchObject({ unchanged: 2, requests: 0 });
  });

  it('keep their edits through kills, also where the source is another one afterwards', async () => {
    const ids = Array.from({ length: 60 }, (_, index) => 1002 + index);
    await using crm = await openCrm(ids, { latencyMs: 15 });
    const { folder, contacts, source, run, edit, killIn } = crm;
    expect((await folder.storeferry('probe', 'main', '--contact', '1001')).code).toBe(0);
    await source('+44 ');
    expect(await run('run', 'crm')).toMatchObject({ code: 0, applied: 60 });
    for (const id of ids.slice(0, 20)) await edit(id, { name: `By hand ${id}` });
    for (const phone of ['+45 ', '+46 ', '+47 ']) await killIn(phone);
    expect(await run('run', 'crm')).toMatchObject({ code: 0, unsent: 0, held: 0 });
    const held = (await contacts()).filter(({ id }) => ids.includes(Number(id)));
    const byHand = held.filter(({ id }) => Number(id) < 1022);
    expect(byHand).toMatchObject(byHand.map(({ id }) => ({ name: `By hand ${id}`, phone: `+47 ${id}` })));
    expect(held.slice(20)).toMatchObject(
      ids.slice(20).map((id) => ({ id, name: `Ann ${id}`, phone: `+47 ${id}` })),
    );
    // The answers have shown the edits: a source that changes these fields does not overwrite them.
    await source('+47 ', 'Bea');
    expect(await run('run', 'crm')).toMatchObject({ code: 3, applied: 40, held: 20 });
  });
});

describe('a field of a contact that is sent for the first time', () => {
  it('is a conflict where the store has another value', async () => {
    const profiles = ['extended', 'clears-lists'] as const;
    await using crm = await openCrm([1002, 1003, 1004, 1005, 1006, 1007], { profiles });
    const { folder, contact, run, edit } = crm;
    await folder.write('jobs/crm.yaml', `${JOB}crosswalk: store\n`);
    const mapping = (more = '') =>
      folder.write(
        'mappings/crm.yaml',
        `import: contacts\ncolumns: { email: Email, name: Name, news: News }\ncontact: { email: email, name: name, subscribed: [news, boolean]${more} }\n`,
      );
    await mapping();
    const emails = new Map<number, unknown>();
    for (const id of [1002, 1003, 1004, 1005, 1006, 1007]) {
      await edit(id, { subscribed: id !== 1005, subscriberLists: [], tags: id === 1002 ? ['gold'] : [] });
      emails.set(id, (await contact(id))?.email);
    }
    const source = (news: string) =>
      folder.write(
        'crm.csv',
        `Email,Name,News\n${[...emails].map(([id, email]) => `${email},Ann ${id},${news}`).join('\n')}\n`,
      );
    expect((await folder.storeferry('probe', 'main', '--contact', '1001')).code).toBe(0);
    await source('');
    expect(await run('run', 'crm')).toMatchObject({ code: 0, applied: 6 });
    // One unsubscribes; 1005 never was subscribed.
    await edit(1003, { subscribed: false });
    await source('yes');
    const held = await run('run', 'crm');
    expect(held).toMatchObject({ code: 3, applied: 5, held: 1, edited: 1 });
    expect((await folder.storeferry('runs', String(held['run']))).stdout).toContain('held: 1003');
    expect(await contact(1003)).toMatchObject({ subscribed: false });
    expect(await contact(1005)).toMatchObject({ subscribed: true });
    await run('release', String(held['run']), '1003', '--conflicts', 'store');
    expect(await run('run', 'crm')).toMatchObject({ code: 0, unchanged: 6, requests: 0 });
    expect(await contact(1003)).toMatchObject({ subscribed: false });

    await edit(1004, { subscriberLists: [1, 2] });
    await mapping(
      ', tags: [{ const: VIP }, { split: "|" }], subscriberLists: [{ const: "0" }, { split: "|" }, integer]',
    );
    const later = await run('run', 'crm');
    expect(later).toMatchObject({ code: 3, held: 2, edited: expect.any(Number) });
    expect(await contact(1002)).toMatchObject({ tags: ['gold'] });
    expect(await contact(1004)).toMatchObject({ subscriberLists: [1, 2] });
    expect(await contact(1006)).toMatchObject({ tags: ['VIP'], subscriberLists: [0] });
    await folder.write('jobs/crm.yaml', `${JOB}crosswalk: store\nconflicts: source\n`);
    expect((await folder.storeferry('plan', 'crm')).stdout).toContain('1002: ["gold"] → ["VIP"]');
  });

  it('stays as the store has it where that is decided about an approved plan', async () => {
    await using crm = await openCrm([1002, 1003], { profiles: ['extended'] });
    const { folder, contact, run, edit } = crm;
    await folder.write('jobs/crm.yaml', `${JOB}crosswalk: store\n`);
    const mapping = (more = '') =>
      folder.write(
        'mappings/crm.yaml',
        `import: contacts\ncolumns: { email: Email }\ncontact: { email: email, name: [{ const: Ann }]${more} }\n`,
      );
    await mapping();
    const emails = [(await contact(1002))?.email, (await contact(1003))?.email];
    await folder.write('crm.csv', `Email\n${emails.join('\n')}\n`);
    expect((await folder.storeferry('probe', 'main', '--contact', '1001')).code).toBe(0);
    expect(await run('run', 'crm')).toMatchObject({ code: 0, applied: 2 });
    await edit(1002, { companyName: 'By hand' });
    await mapping(', companyName: [{ const: CRM }]');
    const planned = await run('plan', 'crm');
    expect(planned).toMatchObject({ changed: expect.any(Number), held: 1 });
    const sent = await run('approve', String(planned['run']));
    expect(sent).toMatchObject({ code: 3, held: 1 });
    await run('release', String(sent['run']), '1002', '--conflicts', 'store');
    expect(await contact(1002)).toMatchObject({ companyName: 'By hand' });
    expect(await run('run', 'crm')).toMatchObject({ code: 0, held: 0, applied: 0 });
  });

  it('is sent where it unsubscribes', async () => {
    await using crm = await openCrm([1002], { profiles: ['extended'] });
    const { folder, contact, run, edit } = crm;
    await folder.write('jobs/crm.yaml', `${JOB}crosswalk: store\n`);
    await folder.write(
      'mappings/crm.yaml',
      'import: contacts\ncolumns: { email: Email, news: News }\ncontact: { email: email, name: [{ const: Ann }], subscribed: [news, boolean] }\n',
    );
    await edit(1002, { subscribed: true });
    const { email } = (await contact(1002)) ?? {};
    expect((await folder.storeferry('probe', 'main', '--contact', '1001')).code).toBe(0);
    await folder.write('crm.csv', `Email,News\n${email},\n`);
    await run('run', 'crm');
    await folder.write('crm.csv', `Email,News\n${email},no\n`);
    expect(await run('run', 'crm')).toMatchObject({ code: 0, applied: 1, held: 0 });
    expect(await contact(1002)).toMatchObject({ subscribed: false });
  });
});
