import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, it } from 'vitest';
import { client, API_KEY as SANDBOX_KEY, setup } from '../sandbox/setup.ts';
import { crmContact, emptyValuesIn, filled } from '../support/crm-contact.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

const ROOT = join(import.meta.dirname, '..', '..');

/** The files of the repository's own job, for a store elsewhere. */
async function sampleFiles(baseUrl: string): Promise<Record<string, string>> {
  const names = ['jobs/bulk-contacts.yaml', 'jobs/samples/crm-export.csv', 'jobs/samples/contact-ids.csv'];
  const contents = await Promise.all(names.map((name) => readFile(join(ROOT, name), 'utf8')));
  return {
    'stores.yaml': `main: { baseUrl: "${baseUrl}", apiKey: "\${STORE_API_KEY}" }\n`,
    ...Object.fromEntries(names.map((name, index) => [name, contents[index] ?? ''])),
  };
}

type Cells = Readonly<Record<string, string>>;

function rowsOf(text: string): Cells[] {
  return parse(text, { columns: true, bom: true });
}

describe('the bulk contacts of the samples', () => {
  it('bring 290 of 300 contacts into the store exactly, keep the 10 it does not know apart, and are sent once', async () => {
    await using sandbox = await setup();
    const files = await sampleFiles(sandbox.url);
    await using workspace = await makeWorkspace(files, { STORE_API_KEY: SANDBOX_KEY });
    const store = client(sandbox.url);
    const before = new Map((await store.list('/_sandbox/contacts')).map((contact) => [contact.id, contact]));
    const ids = new Map(
      rowsOf(files['jobs/samples/contact-ids.csv'] ?? '').map(({ id, email }) => [email, Number(id)]),
    );
    const rows = rowsOf(files['jobs/samples/crm-export.csv'] ?? '');
    const idOf = (row: Cells) => ids.get((row['Email'] ?? '').trim().toLowerCase());
    const unknown = rows.filter((row) => idOf(row) === undefined);

    const first = await workspace.storeferry('run', 'bulk-contacts', '--json');
    expect(first.code).toBe(3);
    expect(first.json()).toMatchObject({
      status: 'done-with-rejects',
      rows: 300,
      records: 300,
      applied: 290,
      rejected: 10,
      requests: 290,
      unsent: 0,
      error: null,
    });
    const expected = new Map(before);
    for (const row of rows) {
      const id = idOf(row);
      if (id !== undefined) expected.set(id, { ...before.get(id), ...filled(crmContact(row)) });
    }
    const after = await store.list('/_sandbox/contacts');
    expect(after).toEqual([...expected.values()]);

    const rejects = join(workspace.dir, String(first.json()['rejectsFile']));
    expect(rowsOf(await readFile(rejects.replace('rejects.csv', 'unmatched.csv'), 'utf8'))).toEqual(unknown);
    expect(rowsOf(await readFile(rejects, 'utf8')).map(({ Email }) => Email)).toEqual(
      unknown.map(({ Email }) => Email),
    );

    const second = await workspace.storeferry('run', 'bulk-contacts', '--json');
    expect(second.code).toBe(3);
    expect(second.json()).toMatchObject({ unchanged: 290, rejected: 10, requests: 0, operations: 0 });
    const printed = [first, second].map(({ stdout, stderr }) => stdout + stderr).join('\n');
    expect(printed).not.toContain('@');
  });

  it('never send an empty field, and ask the store for nothing else', async () => {
    await using store = await startStore({
      seed: 1,
      contacts: Array.from({ length: 320 }, (_, n) => 1001 + n),
    });
    await using workspace = await makeWorkspace(await sampleFiles(store.baseUrl), {
      STORE_API_KEY: store.apiKey,
    });
    const planned = await workspace.storeferry('plan', 'bulk-contacts');
    expect(planned.code).toBe(3);
    expect(planned.stdout).toContain('10 rows: no contact in jobs/samples/contact-ids.csv has this email');
    expect(planned.stdout).toMatch(/Contacts without a match:\s+\S*\.storeferry\S+unmatched\.csv/);
    expect(store.figures().requests).toBe(0);

    await workspace.storeferry('run', 'bulk-contacts');
    expect(store.figures()).toMatchObject({ requests: 290, byStatus: { 200: 290 }, maxOverlap: 1 });
    expect(store.requests.filter(({ method }) => method !== 'PUT')).toEqual([]);
    expect(store.violations).toEqual([]);
    const bodies = store.requests.map(({ key }) => JSON.parse(store.lastBody(key ?? '') ?? 'null'));
    expect(bodies.flatMap(emptyValuesIn)).toEqual([]);
    expect(bodies.every((body) => Object.keys(body).length > 0)).toBe(true);
  });

  it('pass the check of the repository itself', async () => {
    await using workspace = await makeWorkspace(await sampleFiles('https://shop.example'), {
      STORE_API_KEY: 'k',
    });
    const { code, stdout } = await workspace.storeferry('check');
    expect(stdout).toContain('No problems found');
    expect(code).toBe(0);
  });
});
