import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { setupCrm } from '../support/contacts.ts';
import { errorAnswer } from '../support/store/faults.ts';
import { startWebhook } from '../support/webhook.ts';

const QUOTING =
  'Anna Grunewald (contact-1@mail.example, +44 20 7946 0958) in Tromso exists; it is used by Peter van Miller';
const PEOPLE = /grunewald|contact-1@|7946|tromso|peter|miller/i;

/** Texts of the workspace that may leave it: what is no row of the source, nor the state itself. */
async function textsOf(dir: string): Promise<string[]> {
  const entries = await readdir(join(dir, '.storeferry'), { recursive: true, withFileTypes: true });
  const files = entries.filter(
    (entry) => entry.isFile() && !/^(source-|shard-|state\.|snapshot)/.test(entry.name),
  );
  return await Promise.all(files.map((file) => readFile(join(file.parentPath, file.name), 'utf8')));
}

async function scene() {
  const webhook = await startWebhook();
  const crm = await setupCrm({
    rows: [{ number: 1, first: 'Anna Grunewald', phone: '+44 20 7946 0958', city: 'Tromso' }, { number: 2 }],
    job: {
      notify: `{ url: "\${HOOK}", on: [failed, stopped, rejects, done] }`,
      safety: '{ maxRejects: off }',
    },
    env: { HOOK: webhook.url },
  });
  return {
    ...crm,
    webhook,
    async [Symbol.asyncDispose]() {
      await crm[Symbol.asyncDispose]();
      await webhook[Symbol.asyncDispose]();
    },
  };
}

it('a refusal that quotes a contact names nobody in terminal, report, webhook and state', async () => {
  await using s = await scene();
  s.store.misbehave({ does: errorAnswer(422, QUOTING), keys: ['1001'] });
  const ended = await s.workspace.storeferry('run', 'crm');
  expect(ended.code).toBe(3);
  const shown = await s.workspace.storeferry('runs', /\(run (\w+)\)/.exec(ended.stdout)?.[1] ?? '');
  const webhook = JSON.stringify(s.webhook.calls.map(({ body }) => body));
  // A store's own words about a contact stay here: status and field are enough elsewhere.
  expect(webhook).toContain('the store answered 4');
  expect(webhook).not.toContain('exists; it is used by');
  const all = await textsOf(s.workspace.dir);
  const reports = all.filter((text) => text.includes('<html') || text.includes('"refusals"'));
  expect(reports.length).toBeGreaterThan(0);
  for (const text of [ended.stdout, ended.stderr, shown.stdout, webhook, ...reports])
    expect(text).not.toMatch(PEOPLE);
  // The rejects file has the row itself; its reason quotes nobody.
  const [rejects = ''] = all.filter((text) => text.includes('storeferry_reason'));
  expect(rejects).toContain('contact-1@mail.example');
  expect(rejects).not.toMatch(/peter|miller/i);
});

it('so does a 401 that ends the run', async () => {
  await using s = await scene();
  s.store.misbehave({ does: errorAnswer(401, QUOTING) });
  const ended = await s.workspace.storeferry('run', 'crm', '--json');
  expect(ended.code).toBe(1);
  const webhook = JSON.stringify(s.webhook.calls.map(({ body }) => body));
  expect(webhook).toContain('does not accept the API key');
  const reports = (await textsOf(s.workspace.dir)).filter((text) => text.includes('<html'));
  expect(reports).toHaveLength(1);
  for (const text of [ended.stdout, ended.stderr, webhook, ...reports]) expect(text).not.toMatch(PEOPLE);
});

it('nor does the error of a run repeat a name that no mask knows', async () => {
  await using s = await scene();
  s.store.misbehave({ does: errorAnswer(401, 'the token of zebedee is stale') });
  const ended = await s.workspace.storeferry('run', 'crm', '--json');
  const webhook = JSON.stringify(s.webhook.calls.map(({ body }) => body));
  expect(webhook).toContain('does not accept the API key (401)');
  const all = (await textsOf(s.workspace.dir)).filter((text) => text.includes('<html'));
  for (const text of [ended.stdout, ended.stderr, webhook, ...all]) expect(text).not.toContain('zebedee');
});

it('columns not used are named only where some mapping for contacts knows them', async () => {
  await using s = await scene();
  const csv = await readFile(join(s.workspace.dir, 'crm.csv'), 'utf8');
  await s.workspace.write('crm.csv', csv.replace(',City,Tags', ',Peter van Miller,Grunewald'));
  await s.workspace.write(
    'mappings/plain.yaml',
    'import: contacts\ncolumns: { email: Email, name: First Name }\ncontact: { email: email, name: name }\n',
  );
  const job = await readFile(join(s.workspace.dir, 'jobs/crm.yaml'), 'utf8');
  await s.workspace.write('jobs/crm.yaml', job.replace('hubspot-contacts', 'plain'));
  const planned = await s.workspace.storeferry('plan', 'crm');
  expect(planned.stdout).toMatch(/Columns not used.*2 columns that no mapping knows.*Phone Number/s);
  const ended = await s.workspace.storeferry('run', 'crm', '--json');
  const webhook = JSON.stringify(s.webhook.calls.map(({ body }) => body));
  const all = await textsOf(s.workspace.dir);
  expect(all.filter((text) => text.includes('<html'))).toHaveLength(2);
  for (const text of [planned.stdout, ended.stdout, webhook, ...all])
    expect(text).not.toMatch(/miller|grunewald/i);
});
