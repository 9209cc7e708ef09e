import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type FileServer, startFileServer } from '../support/file-server.ts';
import { readFiles } from '../support/read-files.ts';
import { type Store, startStore } from '../support/store.ts';
import { until } from '../support/until.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { makeXlsx } from '../tables/workbooks.ts';

const BRANDS = (...names: readonly string[]) =>
  makeXlsx([
    { name: 'Old', rows: [['code', 'name']] },
    {
      name: 'Brands',
      rows: [['as of May'], ['code', 'name'], ...names.map((name, index) => [`b${index}`, name])],
    },
  ]);

const MAPPING = `import: products
columns: { name: Name, brand: Brand, price: Price }
lookups:
  brands:
    url: { address: "\${FEED}/brands.xlsx?token=\${FEED_TOKEN}", allowPrivateAddresses: true }
    sheet: Brands
    headerRow: 2
    match: code
product: { url: name, title: [brand, { table: brands, column: name }] }
variants: { pricing: { price: [price, { number: { decimal: "." } }] } }
`;

/** A store, a web server with a source and a lookup, and a job that uses both. */
async function setup(mapping = MAPPING) {
  const store = await startStore({ seed: 1, apiKey: 'key-of-the-store' });
  const server = await startFileServer({
    '/goods.csv': 'Name,Brand,Price\ncup,b0,1\nmug,B1,2\n',
    '/brands.xlsx': Buffer.from(BRANDS('Ann', 'Bob')),
  });
  const workspace = await makeWorkspace(
    {
      'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}" }\n`,
      'jobs/goods.yaml': `import: products\nstore: main\nmapping: goods\nsource: { url: { address: "\${FEED}/goods.csv", allowPrivateAddresses: true } }\n`,
      'mappings/goods.yaml': mapping,
    },
    { STORE_API_KEY: 'key-of-the-store', FEED: server.url, FEED_TOKEN: 'MARKED-token' },
  );
  return {
    ...{ store, server, workspace },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

function asked({ requests }: FileServer): string[] {
  return requests.map(({ path, headers }) => `${path.split('?')[0]} ${headers['if-none-match'] ? 'if' : ''}`);
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ');
}

function titles({ shop }: Store): unknown[] {
  return [...shop.products.values()].map(({ title }) => title);
}

async function textOf(dir: string): Promise<string> {
  return [...(await readFiles(dir)).values()].join('\n');
}

describe('a lookup on the web', () => {
  it('is read with the source, and again only when one of the two has changed', async () => {
    await using scene = await setup();
    const { server, workspace, store } = scene;
    const run = async () => (await workspace.storeferry('run', 'goods', '--json')).json();
    expect(await run()).toMatchObject({ status: 'done', applied: 2 });
    expect(titles(store)).toEqual(['Ann', 'Bob']);
    expect(await run()).toMatchObject({ status: 'done', unchanged: 2, requests: 0 });
    expect(asked(server).slice(2)).toEqual(['/brands.xlsx if', '/goods.csv if']);

    server.files.set('/brands.xlsx', Buffer.from(BRANDS('Ann', 'Bill')));
    expect(await run()).toMatchObject({ status: 'done', applied: 1, unchanged: 1 });
    expect(titles(store)).toEqual(['Ann', 'Bill']);

    server.files.set('/goods.csv', Buffer.from('Name,Brand,Price\ncup,b1,1\nmug,b1,2\n'));
    expect(await run()).toMatchObject({ status: 'done', applied: 1, unchanged: 1 });
    expect(await textOf(workspace.dir)).not.toContain('MARKED');
  });

  it('is applied as it was when the plan was made', async () => {
    await using scene = await setup();
    const { server, workspace, store } = scene;
    const planned = (await workspace.storeferry('plan', 'goods', '--json')).json();
    server.files.set('/brands.xlsx', Buffer.from(BRANDS('Other', 'Another')));
    const approved = await workspace.storeferry('approve', String(planned['run']), '--json');
    expect(approved.json()).toMatchObject({ status: 'done', applied: 2 });
    expect(titles(store)).toEqual(['Ann', 'Bob']);
    expect(asked(server)).toHaveLength(2);
  });

  it.each([
    ['continues while it is the same', 'Ann', 'Ann'],
    ['is planned again once it is another', 'Ann', 'Bob'],
  ])('lets a run that was interrupted go on: %s', async (_what, before, after) => {
    await using scene = await setup();
    const { server, workspace, store } = scene;
    const goods = Array.from({ length: 60 }, (_, number) => `good-${number},b0,1`).join('\n');
    server.files.set('/goods.csv', Buffer.from(`Name,Brand,Price\n${goods}\n`));
    server.files.set('/brands.xlsx', Buffer.from(BRANDS(before)));
    store.misbehave({ does: { kind: 'delay', ms: 100 } });
    const running = workspace.start('run', 'goods', '--json');
    await until(() => store.figures().requests >= 5);
    running.process.kill('SIGINT');
    const interrupted = await running.ended;
    expect(interrupted.code).toBe(130);
    store.behave();
    server.files.set('/brands.xlsx', Buffer.from(BRANDS(after)));
    const run = (await workspace.storeferry('run', 'goods', '--json')).json();
    expect(run).toMatchObject({ status: 'done', records: 60 });
    expect(run['run'] === interrupted.json()['run']).toBe(before === after);
    expect(new Set(titles(store))).toEqual(new Set([after]));
  });

  it('is named in messages, and known to the checks', async () => {
    await using scene = await setup();
    const { server, workspace } = scene;
    const checked = await workspace.storeferry('check', '--online');
    expect(checked.stdout).toContain(`its lookup 'brands' \${FEED}/brands.xlsx`);
    server.files.set('/brands.xlsx', Buffer.from(makeXlsx([{ name: 'New', rows: [['code', 'name']] }])));
    const other = await workspace.storeferry('run', 'goods');
    expect(other.code).toBe(1);
    expect(oneLine(other.stdout)).toContain("Correct `sheet` in the lookup 'brands' of the mapping");
    server.files.delete('/brands.xlsx');
    const gone = await workspace.storeferry('plan', 'goods', '--json');
    expect(gone.json()).toMatchObject({
      status: 'failed',
      error: expect.stringContaining("lookup 'brands'"),
    });
  });

  it('must not lead into a private network, nor contain a secret', async () => {
    await using scene = await setup(MAPPING.replace(', allowPrivateAddresses: true', ''));
    const ended = await scene.workspace.storeferry('run', 'goods');
    expect(ended.code).toBe(1);
    expect(ended.stderr + ended.stdout).toContain('private');
    await scene.workspace.write('mappings/goods.yaml', MAPPING.replace(`\${FEED_TOKEN}`, 'MARKED'));
    const checked = await scene.workspace.storeferry('check');
    expect(checked.code).toBe(2);
    expect(checked.stdout + checked.stderr).toMatch(
      /mappings\/goods\.yaml:5:\d+: .*a secret must not be in a file/,
    );
  });
});

describe('a crosswalk on the web', () => {
  it('finds the contacts', async () => {
    await using store = await startStore({ seed: 1, apiKey: 'key-of-the-store' });
    await using server = await startFileServer({ '/ids.json': '[{ "id": 7, "email": "ann@mail.example" }]' });
    await using workspace = await makeWorkspace(
      {
        'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}" }\n`,
        'jobs/crm.yaml': `import: contacts\nstore: main\nsource: { path: crm.csv }\nmapping: people\ncrosswalk: { url: { address: "${server.url}/ids.json", allowPrivateAddresses: true }, match: email }\n`,
        'mappings/people.yaml':
          'import: contacts\ncolumns: { email: email, note: note }\ncontact: { email: email, note: note }\n',
      },
      { STORE_API_KEY: 'key-of-the-store' },
    );
    await writeFile(join(workspace.dir, 'crm.csv'), 'email,note\nann@mail.example,1\nbob@mail.example,2\n');
    const planned = (await workspace.storeferry('plan', 'crm', '--json')).json();
    expect(planned).toMatchObject({ new: 1, rejected: 1 });
    const checked = await workspace.storeferry('check', '--online');
    expect(checked.stdout).toContain(`its crosswalk ${server.url}/ids.json can be read`);
  });
});
