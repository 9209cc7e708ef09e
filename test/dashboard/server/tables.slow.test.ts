import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startStore } from '../../support/store.ts';
import { makeWorkspace } from '../../support/workspace.ts';
import { type Answer, type HttpClient, multipart } from './http-client.ts';
import { serveDashboard } from './running-dashboard.ts';

const MAPPING = `import: contacts
columns: { mail: Mail, city: City }
required: [mail]
lookups:
  cities: { path: tables/cities.csv, match: code }
contact: { email: [mail, email], city: [city, { table: cities, column: name }] }
`;

async function setup() {
  const store = await startStore({ seed: 1 });
  const workspace = await makeWorkspace(
    {
      'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}", weightUnit: kg }\n`,
      'jobs/people.yaml':
        'import: contacts\nstore: main\nsource: { path: people.csv }\nmapping: people\ncrosswalk: { path: contact-ids.csv, match: email, id: id }\n',
      'mappings/people.yaml': MAPPING,
      'people.csv': 'Mail,City\na@shop.example,B\n',
    },
    { STORE_API_KEY: store.apiKey },
  );
  return {
    workspace,
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

async function upload(client: HttpClient, file: string, content: string): Promise<Answer> {
  const address = `/jobs/people/upload?file=${encodeURIComponent(file)}`;
  const page = await client.get(address);
  const token = page.document.querySelector('form.upload input[type=hidden]')?.getAttribute('value') ?? '';
  const { body, type } = multipart({ csrfToken: token }, { name: 'x.csv', content });
  return await client.post(address, body, { 'content-type': type });
}

describe('tables beside the source, uploaded in the dashboard', () => {
  it('takes a crosswalk and a lookup table with their columns, and says which are missing', async () => {
    await using shop = await setup();
    const dashboard = await serveDashboard(shop.workspace);
    const client = await dashboard.signedIn('full');
    const read = (name: string) => readFile(join(shop.workspace.dir, name), 'utf8');
    const before = await client.get('/jobs/people');
    expect(before.words).toContain('The crosswalk contact-ids.csv is not there yet: upload it below');
    expect(before.words).toContain('The lookup table cities tables/cities.csv is not there yet');

    const wrong = await upload(client, 'crosswalk', 'mail,number\na@shop.example,7\n');
    expect(wrong.status).toBe(422);
    expect(wrong.words).toContain(
      "The file has no column 'email'. Columns found: 2, which are not named here",
    );
    const ids = 'Id;E-Mail\n7;a@shop.example\n';
    expect((await upload(client, 'crosswalk', ids)).headers.location).toBe('/jobs/people/plan');
    expect(await read('contact-ids.csv')).toBe(ids);
    const cities = 'code,name\nB,Bern\n';
    expect((await upload(client, 'lookup:cities', cities)).status).toBe(303);
    expect(await read('tables/cities.csv')).toBe(cities);
    const planned = (await shop.workspace.storeferry('plan', 'people', '--json')).json();
    expect(planned).toMatchObject({ status: 'planned', rejected: 0, operations: 1 });
    expect((await client.get('/jobs/people')).words).not.toContain('not there yet');
    expect((await client.get('/audit')).words).toContain('replaced a crosswalk or a lookup table');
    // Other files belong to what writes them.
    for (const file of ['source', 'lookup:other', '../stores.yaml'])
      expect((await client.get(`/jobs/people/upload?file=${encodeURIComponent(file)}`)).status).toBe(404);
    const looking = await dashboard.signedIn('readOnly');
    expect((await looking.get('/jobs/people/upload?file=crosswalk')).status).toBe(403);
    expect((await upload(looking, 'crosswalk', ids)).status).toBe(403);
  });

  it('writes nothing through a link that leads out of the workspace', async () => {
    await using shop = await setup();
    const outside = await mkdtemp(join(tmpdir(), 'storeferry-outside-'));
    onTestFinished(() => rm(outside, { recursive: true }));
    await symlink(outside, join(shop.workspace.dir, 'tables'));
    const dashboard = await serveDashboard(shop.workspace);
    const client = await dashboard.signedIn('full');
    const refused = await upload(client, 'lookup:cities', 'code,name\nB,Bern\n');
    expect(refused.status).toBe(422);
    expect(refused.words).toContain('leads outside the workspace');
    await expect(readFile(join(outside, 'cities.csv'))).rejects.toThrow('ENOENT');
  });
});
