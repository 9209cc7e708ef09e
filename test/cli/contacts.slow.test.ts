import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { crmExport, crosswalkOf, emailOf, setupCrm } from '../support/contacts.ts';
import { unauthorized } from '../support/store/faults.ts';
import { makeWorkspace } from '../support/workspace.ts';

const NO_LIMIT = { safety: '{ maxRejects: off }' };

function people(count: number) {
  return Array.from({ length: count }, (_, index) => ({
    number: index + 1,
    phone: `0117 ${index}`,
    city: 'Leeds',
  }));
}

describe('an import of contacts', () => {
  it('rejects a contact that the store does not know, with the store’s own message, and sends the others', async () => {
    await using crm = await setupCrm({ rows: people(20) });
    crm.store.shop.contacts.delete(1007);
    const run = await crm.workspace.storeferry('run', 'crm');
    expect(run.code).toBe(3);
    expect(run.stdout).toContain('1 row: Resource not found');
    expect(crm.store.shop.contacts.get(1006)).toMatchObject({ email: emailOf(6), city: 'Leeds' });
    const rejects = /Rejects file: (\S+)/.exec(run.stdout)?.[1] ?? '';
    expect(await readFile(resolve(rejects), 'utf8')).toContain(`${emailOf(7)},Name 7`);
    expect(run.stdout).not.toContain('unmatched.csv');
  });

  it('ends at once when the key is wrong, and rejects nobody', async () => {
    await using crm = await setupCrm({ rows: people(60) });
    crm.store.misbehave({ does: unauthorized, from: 21 });
    const run = await crm.workspace.storeferry('run', 'crm', '--json');
    expect(run.code).toBe(1);
    expect(run.json()).toMatchObject({ status: 'failed', rejected: 0, rejectsFile: null });
    expect(crm.store.figures().requests).toBeLessThanOrEqual(20 + 4 + 1); // one confirms the 401
    expect(run.json()['error']).toContain('401');

    crm.store.behave();
    const again = await crm.workspace.storeferry('run', 'crm', '--json');
    expect(again.json()).toMatchObject({ status: 'done', applied: 60, rejected: 0, run: run.json()['run'] });
  });

  it('never sends what the source has emptied: it is counted, and named in plan, summary and runs', async () => {
    await using crm = await setupCrm({ rows: people(5) });
    await crm.workspace.storeferry('run', 'crm');
    crm.store.forget();
    const emptied = people(5).map((row) =>
      row.number === 1 ? { ...row, phone: '' } : row.number === 2 ? { ...row, phone: '', city: 'York' } : row,
    );
    await crm.workspace.write('crm.csv', crmExport(emptied));

    const printed = /are now empty in the source, but the API cannot clear them: phone \(2\s+contacts\)/;
    const plan = await crm.workspace.storeferry('plan', 'crm');
    expect(plan.stdout).toMatch(printed);
    const run = await crm.workspace.storeferry('run', 'crm');
    expect(run.stdout).toMatch(printed);
    const id = /\(run (\w+)\)/.exec(run.stdout)?.[1] ?? '';
    expect((await crm.workspace.storeferry('runs', id)).stdout).toMatch(printed);

    expect(crm.store.requests.map(({ method, key }) => [method, key])).toEqual([['PUT', '1002']]);
    expect(JSON.parse(crm.store.lastBody('1002') ?? '')).toEqual({ city: 'York' });
    expect(crm.store.shop.contacts.get(1001)).toMatchObject({ phone: '0117 0' });
    const json = (await crm.workspace.storeferry('plan', 'crm', '--json')).json();
    expect(json).toMatchObject({ unchanged: 5, operations: 0, fieldsChanged: {} });
  });

  it('cannot clear a field: check says so, with the place', async () => {
    await using workspace = await makeWorkspace({
      'stores.yaml': `main: { baseUrl: "https://shop.example", apiKey: "\${KEY}" }\n`,
      'jobs/crm.yaml': 'import: contacts\nstore: main\nsource: { path: crm.csv }\nmapping: own\n',
      'mappings/own.yaml':
        'import: contacts\ncolumns: { id: Id, phone: Phone }\ncontact:\n  id: id\n  phone: { value: phone, blank: clear }\n',
    });
    const { code, stdout } = await workspace.storeferry('check');
    expect(code).toBe(2);
    expect(stdout).toMatch(/mappings\/own\.yaml:5:\d+: .*the API cannot clear a field of a contact/);
  });
});

const TWICE = [
  { number: 1, phone: '0117 1', tags: 'a;b', optedOut: 'true' },
  { number: 2 },
  {
    number: 1,
    email: `Contact-1@MAIL.example`,
    first: 'Later',
    city: 'Leeds',
    tags: 'b;c',
    optedOut: 'false',
  },
];

describe('two rows for one contact', () => {
  it('are both rejected, unless the job says otherwise', async () => {
    await using crm = await setupCrm({ rows: TWICE, job: NO_LIMIT });
    const run = await crm.workspace.storeferry('run', 'crm', '--json');
    expect(run.json()).toMatchObject({ rows: 3, records: 2, applied: 1, rejected: 1 });
    expect(crm.store.requestsOf('1001')).toBe(0);
  });

  it.each([
    ['first', { email: emailOf(1), name: 'Name 1', phone: '0117 1', tags: ['a', 'b'], subscribed: false }],
    ['last', { email: emailOf(1), name: 'Later', city: 'Leeds', tags: ['b', 'c'] }],
    [
      'merge',
      {
        email: emailOf(1),
        name: 'Later',
        phone: '0117 1',
        city: 'Leeds',
        tags: ['a', 'b', 'c'],
        // A contact that opted out in one record stays opted out.
        subscribed: false,
      },
    ],
  ])('become one by the policy %s', async (policy, body) => {
    await using crm = await setupCrm({ rows: TWICE, job: { duplicates: policy } });
    const run = await crm.workspace.storeferry('run', 'crm', '--json');
    expect(run.json()).toMatchObject({ rows: 3, records: 2, applied: 2, rejected: 0, requests: 2 });
    expect(JSON.parse(crm.store.lastBody('1001') ?? '')).toEqual(body);
  });
});

describe('contacts that the crosswalk does not know', () => {
  it('are kept apart, with nothing that a spreadsheet would run, and can be retried when the crosswalk is complete', async () => {
    const rows = [
      ...people(3),
      { number: 4, first: '"Smith, Jo"', phone: '+44 117' },
      { number: 5, email: '' },
    ];
    await using crm = await setupCrm({ rows, known: [1, 2, 3], job: NO_LIMIT });
    const run = await crm.workspace.storeferry('run', 'crm', '--json');
    expect(run.json()).toMatchObject({ status: 'done-with-rejects', applied: 3, rejected: 2 });
    const unmatched = String(run.json()['rejectsFile']).replace('rejects.csv', 'unmatched.csv');
    expect(await readFile(join(crm.workspace.dir, unmatched), 'utf8')).toBe(
      `\ufeff${crmExport(rows.slice(3)).replace('+44', "'+44")}`,
    );

    await crm.workspace.write('ids.csv', crosswalkOf([1, 2, 3, 4]));
    const retried = await crm.workspace.storeferry('retry', String(run.json()['run']), '--json');
    expect(retried.json()).toMatchObject({ rows: 2, applied: 1, rejected: 1, requests: 1 });
    expect(crm.store.shop.contacts.get(1004)).toMatchObject({ name: 'Smith, Jo', phone: '+44 117' });
    expect(retried.stdout + retried.stderr + run.stdout + run.stderr).not.toMatch(/@|Smith/);
  });
});
