import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { s3Client } from '../../src/remote/s3-client.ts';
import { put as send } from '../remote/trials.ts';
import { startFileServer } from '../support/file-server.ts';
import { startProcess, succeeds } from '../support/processes.ts';
import { s3Address } from '../support/s3-address.ts';
import { S3_KEYS, startS3 } from '../support/s3-server.ts';
import { describeWithSshd, startSshd } from '../support/sshd.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { makeXlsx } from '../tables/workbooks.ts';

const oneLine = (words: string) => words.replaceAll(/\s+/g, ' ');

const MAPPING = `import: products
columns: { code: Code, price: Price }
lookups:
  stock:
    url: { address: "\${FEED}/stock.csv", allowPrivateAddresses: true }
    match: Article
    join: { on: code, columns: { qty: { sum: Quantity } } }
product: { url: code, title: code }
variants:
  sku: code
  pricing: { price: price, rule: [{ convert: { rates: rates.csv, from: USD, to: EUR } }] }
  quantity: stock.qty
`;

const JOB = 'import: products\nstore: main\nmapping: goods\nsource: { path: goods.csv }\n';

const CODES = Array.from({ length: 20 }, (_, index) => `a-${index + 1}`);
/** Of the first 18 codes and of two others. */
const STOCK = `Article,Quantity\n${[...CODES.slice(0, 18), 'x-1', 'x-2'].map((code) => `${code},5\n`).join('')}`;

/** A job whose stock is on the web, and whose rates are beside the mapping. */
async function setup() {
  const store = await startStore({ seed: 1, apiKey: 'key-of-the-store' });
  const server = await startFileServer({ '/stock.csv': STOCK });
  const workspace = await makeWorkspace(
    {
      'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}" }\n`,
      'jobs/goods.yaml': `${JOB}safety: { maxChanges: 50% }\n`,
      'mappings/goods.yaml': MAPPING,
      'goods.csv': `Code,Price\n${CODES.map((code) => `${code},10\n`).join('')}`,
      'rates.csv': 'from,to,rate\nUSD,EUR,0.92\n',
    },
    { STORE_API_KEY: 'key-of-the-store', FEED: server.url },
  );
  const run = async (...args: readonly string[]) => await workspace.storeferry(...args);
  return {
    ...{ store, server, workspace, run },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

describe('a job with a joined table and rates', () => {
  it('says what matched, and sends what a change of the second tables changes', async () => {
    await using scene = await setup();
    const { server, run, store, workspace } = scene;
    const plan = await run('plan', 'goods');
    expect(plan.stdout.replaceAll(/\s+/g, ' ')).toContain('stock: 18 of 20 products matched in ');
    expect(plan.stdout.replaceAll(/\s+/g, ' ')).toContain(
      '(not found: a-19, a-20); 2 of its 20 keys were not used',
    );
    expect((await run('run', 'goods', '--json')).json()).toMatchObject({ status: 'done', applied: 20 });
    expect([...store.shop.products.values()][0]).toMatchObject({ variants: [{ price: 9.2, quantity: 5 }] });

    server.files.set('/stock.csv', Buffer.from(`${STOCK}a-3,4\n`));
    expect((await run('run', 'goods', '--json')).json()).toMatchObject({
      ...{ status: 'done', applied: 1, unchanged: 19 },
      fieldsChanged: { 'variants.quantity': 1 },
    });

    await workspace.write('rates.csv', 'from,to,rate\nUSD,EUR,0.95\n');
    const stopped = await run('run', 'goods', '--json');
    expect(stopped.json()).toMatchObject({ status: 'stopped', changed: 20 });
    expect(stopped.code).toBe(4);
  });

  it('stops where the second table is emptied or cut off, also after runs that found it unchanged', async () => {
    await using scene = await setup();
    const { server, run, workspace } = scene;
    await workspace.write('jobs/goods.yaml', JOB);
    const rows = (count: number) =>
      `Article,Quantity\n${CODES.slice(0, count)
        .map((code) => `${code},5\n`)
        .join('')}`;
    const runWith = async (count: number) => {
      server.files.set('/stock.csv', Buffer.from(rows(count)));
      return await run('run', 'goods');
    };
    expect((await runWith(20)).code).toBe(0);
    expect(oneLine((await runWith(20)).stdout)).toContain('The source has not changed');
    const cut = await runWith(9);
    expect(cut.code).toBe(4);
    expect(oneLine(cut.stdout)).toContain(
      "too few rows in the joined table 'stock': 9, minimum 10 (50% of the last run)",
    );
    const emptied = await runWith(0);
    expect(emptied.code).toBe(4);
    expect(oneLine(emptied.stdout)).toContain("the joined table 'stock' has no rows");
    expect((await run('plan', 'goods', '--only', 'a-1')).code, 'a part').not.toBe(4);
    expect((await runWith(10)).code).toBe(0);
    expect((await runWith(5)).code, 'of the last completed run').toBe(0);
    await runWith(0);
    const [{ run: id }] = (await run('runs', '--json')).json()['runs'] as [{ run: string }];
    expect((await run('approve', id)).code).toBe(0);
    expect((await run('run', 'goods', '--resend')).code, 'approved before').toBe(0);
  });

  it('does not begin without a rate, and warns where nothing matches', async () => {
    await using scene = await setup();
    const { server, run, workspace } = scene;
    server.files.set('/stock.csv', Buffer.from('Article,Quantity\n00001,5\n'));
    expect((await run('plan', 'goods')).stdout.replaceAll(/\s+/g, ' ')).toContain(
      'none of 20 has a key that the file has',
    );
    await workspace.write('rates.csv', 'from,to,rate\nCAD,EUR,0.68\n');
    const failed = await run('plan', 'goods', '--json');
    expect(failed.code).toBe(1);
    expect(failed.json()['error']).toContain('rates.csv has no rate from USD to EUR');
  });
});

describe('a second table', () => {
  it('may be in any encoding that can be recognised, and have no rows', async () => {
    await using scene = await setup();
    const { server, run } = scene;
    const put = async (bytes: Buffer) => {
      server.files.set('/stock.csv', bytes);
      return await run('plan', 'goods', '--json');
    };
    const utf16 = Buffer.from(`\ufeff${STOCK.replaceAll(',', ';').replaceAll('\n', '\r\n')}`, 'utf16le');
    expect((await put(utf16)).json()).toMatchObject({ status: 'planned', new: 20, rejected: 0 });
    expect((await put(Buffer.from('Article,Quantity\n'))).json()).toMatchObject({ new: 20, rejected: 0 });

    const empty = await put(Buffer.from(''));
    expect([empty.code, oneLine(empty.stderr)]).toEqual([1, expect.stringContaining("The lookup 'stock'")]);
    expect(oneLine(empty.stderr)).toContain('is empty: it has 0 bytes.');
    const latin = await put(Buffer.from('Article,Quantity\nM\xfchle,5\n', 'latin1'));
    expect([latin.code, oneLine(latin.stderr)]).toEqual([1, expect.stringContaining('UTF-8')]);
    const page = await put(Buffer.from('<!doctype html><html><body>Log in</body></html>'));
    expect([page.code, oneLine(page.stderr)]).toEqual([1, expect.stringContaining('an HTML page')]);
  });
});

describeWithSshd('second tables', () => {
  it('may be on an SSH server and in S3, as lookup, join and rates', async () => {
    await using sshd = await startSshd();
    await using s3 = await startS3();
    await using store = await startStore({ seed: 1, apiKey: 'key-of-the-store' });
    const bucket = (name: string) =>
      `{ address: "s3://bucket/${name}", endpoint: "${s3.endpoint}", accessKeyId: "\${S3_KEY}", secretAccessKey: "\${S3_SECRET}", allowPrivateAddresses: true }`;
    await using workspace = await makeWorkspace(
      {
        'stores.yaml': `main: { baseUrl: "${store.baseUrl}", apiKey: "\${STORE_API_KEY}" }\n`,
        'jobs/goods.yaml': 'import: products\nstore: main\nmapping: goods\nsource: { path: goods.csv }\n',
        'goods.csv': 'Code,Price,Brand\na-1,10,b1\na-2,10,b2\n',
        'mappings/goods.yaml': `import: products
columns: { code: Code, price: Price, brand: Brand }
lookups:
  stock:
    sftp: { address: "${sshd.address('stock.xlsx')}", hostKey: "${sshd.hostKey}", privateKey: "\${SFTP_KEY}", allowPrivateAddresses: true }
    match: Article
    join: { on: code, columns: { qty: { sum: Quantity } } }
  brands: { s3: ${bucket('brands.json')}, match: code }
  rates: { s3: ${bucket('rates.csv')}, match: from }
product: { url: code, title: [brand, { table: brands, column: name }] }
variants:
  pricing: { price: price, rule: [{ convert: { rates: rates, from: USD, to: EUR } }] }
  quantity: stock.qty
`,
      },
      {
        ...{ STORE_API_KEY: 'key-of-the-store', SFTP_KEY: sshd.privateKey.replaceAll('\n', '\\n') },
        ...{ S3_KEY: S3_KEYS.accessKeyId, S3_SECRET: S3_KEYS.secretAccessKey },
      },
    );
    const rows = [
      ['Article', 'Quantity'],
      ['a-1', 3],
      ['A-1', 4],
    ];
    await writeFile(join(sshd.folder, 'stock.xlsx'), makeXlsx([{ name: 'Stock', rows }]));
    const put = (key: string, text: string) => send(s3Client(s3Address(s3, key)), text);
    await put('brands.json', '[{"code":"b1","name":"Ann"},{"code":"B2","name":"Bob"}]');
    await put('rates.csv', 'from,to,rate\nUSD,EUR,0.9\n');
    const ended = await workspace.storeferry('run', 'goods', '--json');
    expect(ended.json()).toMatchObject({ status: 'done', applied: 2 });
    expect([...store.shop.products.values()]).toMatchObject([
      { title: 'Ann', variants: [{ price: 9, quantity: 7 }] },
      { title: 'Bob', variants: [{ price: 9 }] },
    ]);
    const checked = await workspace.storeferry('check', '--online');
    expect(oneLine(checked.stdout)).toMatch(
      /its lookup 'stock' sftp:.* can be read.* its lookup 'rates' s3:.* can be read/,
    );
  });
});

/** A network of its own, in which loopback has a public address, and a private one that a redirect leads to. */
const NETWORK = ['unshare', '--user', '--map-root-user', '--net', 'sh', '-c'] as const;
const PUBLIC = '93.184.216.34';
const PRIVATE = '10.1.2.3';
const ADDRESSES = `ip link set lo up && ip addr add ${PUBLIC}/32 dev lo && ip addr add ${PRIVATE}/32 dev lo`;

it('no table is read from a private address that a redirect leads to', async (context) => {
  const [command, ...args] = NETWORK;
  if (!succeeds(command, ...args, ADDRESSES)) {
    process.stdout.write('skipped, no network of its own: it takes unshare and ip\n');
    context.skip();
  }
  const at = (name: string) => `url: "http://${PUBLIC}:8080/${name}", match: code`;
  const mapping = (lookup: string, title: string) =>
    `import: products\ncolumns: { code: Code, price: Price }\nlookups: { t: { ${lookup} } }\nproduct: { url: code, title: ${title} }\nvariants: { pricing: { price: price } }\n`;
  const contacts =
    'import: contacts\ncolumns: { email: Email }\ncontact: { email: email, name: { const: Ann } }\n';
  const job = (what: string, mapped: string) =>
    `import: ${what}\nstore: main\nmapping: ${mapped}\nsource: { path: goods.csv }\n`;
  await using workspace = await makeWorkspace({
    'stores.yaml': `main: { baseUrl: "http://${PUBLIC}:1", apiKey: "\${STORE_API_KEY:key}" }\n`,
    'goods.csv': 'Code,Price,Email\na,1,ann@mail.example\n',
    'mappings/looked-up.yaml': mapping(at('lookup.csv'), '[code, { table: t, column: name }]'),
    'mappings/joined.yaml': mapping(
      `${at('join.csv')}, join: { on: code, columns: { name: name } }`,
      't.name',
    ),
    'mappings/people.yaml': contacts,
    'jobs/looked-up.yaml': job('products', 'looked-up'),
    'jobs/joined.yaml': job('products', 'joined'),
    'jobs/crossed.yaml': `${job('contacts', 'people')}crosswalk: { url: "http://${PUBLIC}:8080/ids.csv", match: email }\n`,
  });
  const script = fileURLToPath(new URL('./redirecting-network.ts', import.meta.url));
  const started = startProcess(
    command,
    [...args, `${ADDRESSES} && exec "$0" "$@"`, process.execPath, script, PUBLIC, PRIVATE, workspace.dir],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const seen: unknown = JSON.parse(await text(started.stdout));
  const refused = (name: string) =>
    expect.stringMatching(`${name}.*10\\.1\\.2\\.3 is a private address, which is not allowed`);
  expect(seen).toEqual({
    ...{ 'looked-up': refused("lookup 't'"), joined: refused("lookup 't'"), crossed: refused('crosswalk') },
    ...{ redirected: 3, read: 0 },
  });
});
