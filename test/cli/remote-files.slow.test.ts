import { readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { s3Client } from '../../src/remote/s3-client.ts';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { put as send } from '../remote/trials.ts';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { type FileServer, startFileServer } from '../support/file-server.ts';
import { readFiles } from '../support/read-files.ts';
import { S3_KEYS, startS3 } from '../support/s3-server.ts';
import { describeWithSshd, startSshd } from '../support/sshd.ts';
import { type Store, startStore } from '../support/store.ts';
import { makeWorkspace, type Workspace } from '../support/workspace.ts';

const SECRETS = { FEED_TOKEN: 'MARKED-token', FEED_KEY: 'MARKED-key', STORE_API_KEY: 'MARKED-store' };

interface Scene extends AsyncDisposable {
  readonly store: Store;
  readonly server: FileServer;
  readonly workspace: Workspace;
}

const SOURCE = (url: string) =>
  `{ url: { address: "${url}/catalog.csv?token=\${FEED_TOKEN}", headers: { X-Api-Key: "\${FEED_KEY}" }, allowPrivateAddresses: true } }`;

/** A store, a web server with a catalog of so many products, and a job that carries it over. */
async function setup(count: number, job: Readonly<Record<string, string>> = {}): Promise<Scene> {
  const store = await startStore({ seed: 1, apiKey: SECRETS.STORE_API_KEY });
  const server = await startFileServer({ '/catalog.csv': shopifyCatalog(manyProducts(count)) });
  const { 'jobs/nightly.yaml': nightly = '', ...files } = catalogWorkspace(store.baseUrl, 'unused', job);
  const withUrl = nightly.replace('{ path: catalog.csv }', SOURCE(server.url));
  const workspace = await makeWorkspace({ ...files, 'jobs/nightly.yaml': withUrl }, SECRETS);
  return {
    ...{ store, server, workspace },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await server[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

async function run({ workspace, store }: Scene, ...flags: readonly string[]) {
  store.forget();
  const ended = await workspace.storeferry('run', 'nightly', '--json', ...flags);
  return { ended, result: ended.json(), requests: store.requests.length };
}

/** Everything that a workspace holds, as text. */
async function textOf(dir: string): Promise<string> {
  const files = [...(await readFiles(dir))].filter(([path]) => !dirname(path).endsWith('/jobs'));
  return files.map(([, text]) => text).join('\n');
}

describe('a job that reads from the web', () => {
  it('has nothing to do while its source says that it is the same', async () => {
    await using scene = await setup(5);
    const first = await run(scene);
    expect(first.result).toMatchObject({ status: 'done', records: 5, applied: 5, requests: 5 });
    const second = await run(scene);
    expect(second.result).toMatchObject({
      ...{ status: 'done', rows: 5, records: 5, unchanged: 5, new: 0, applied: 0, requests: 0, error: null },
    });
    expect(second.requests).toBe(0);
    expect(scene.server.requests.at(-1)?.headers['if-none-match']).toBeTruthy();
    const third = await scene.workspace.storeferry('run', 'nightly');
    expect(third.code).toBe(0);
    expect(third.stdout.replaceAll(/\s+/g, ' ')).toContain(
      `The source has not changed since run ${first.result['run']} read it.`,
    );
    expect(third.stdout).toMatch(/unchanged\s+5/);
    const shown = await scene.workspace.storeferry('runs', String(second.result['run']));
    expect(shown.stdout).toMatch(/unchanged\s+5/);

    scene.server.files.set('/catalog.csv', Buffer.from(shopifyCatalog(manyProducts(6))));
    expect((await run(scene)).result).toMatchObject({ applied: 1, unchanged: 5, requests: 1 });
  });

  it('reads it all the same for a plan, and to send again', async () => {
    await using scene = await setup(2);
    const conditional = () => scene.server.requests.at(-1)?.headers['if-none-match'] !== undefined;
    await run(scene);
    await scene.workspace.storeferry('plan', 'nightly');
    expect(conditional()).toBe(false);
    expect((await run(scene, '--resend')).result).toMatchObject({ applied: 2, requests: 2 });
    expect(conditional()).toBe(false);
  });

  it('keeps its secrets to the headers and the query, whatever happens', async () => {
    await using scene = await setup(3);
    let printed = '';
    const type = async (...args: readonly string[]) => {
      const { stdout, stderr } = await scene.workspace.storeferry(...args);
      printed += stdout + stderr;
    };
    await type('check');
    await type('run', 'nightly');
    await type('run', 'nightly', '--json');
    scene.server.answer('/catalog.csv', (_request, response) => void response.writeHead(403).end('MARKED'));
    await type('run', 'nightly');
    expect(printed).toContain('the server refuses access (403)');
    scene.server.answer(
      '/catalog.csv',
      (_request, response) => void response.end('<html>MARKED-page</html>'),
    );
    await type('plan', 'nightly');
    await type('runs');
    expect(scene.server.requests[0]?.headers['x-api-key']).toBe(SECRETS.FEED_KEY);
    expect(scene.server.requests[0]?.path).toContain(SECRETS.FEED_TOKEN);
    expect(printed).not.toContain('MARKED');
    expect(await textOf(scene.workspace.dir)).not.toContain('MARKED');
  });

  it('is refused a private address that is not allowed, before anything is sent', async () => {
    await using scene = await setup(1);
    const nightly = await readFile(join(scene.workspace.dir, 'jobs/nightly.yaml'), 'utf8');
    await scene.workspace.write('jobs/nightly.yaml', nightly.replace(', allowPrivateAddresses: true', ''));
    const { ended, result } = await run(scene);
    expect(ended.code).toBe(1);
    expect(result['error']).toMatch(
      /127\.0\.0\.1 is a private address, which is not allowed\. .*allowPrivateAddresses: true/,
    );
    expect(scene.server.requests).toHaveLength(0);
  });
});

describe('a job that reads from S3', () => {
  it('has nothing to do while the tags of all its objects stay', async () => {
    await using s3 = await startS3();
    await using scene = await setup(1);
    const env = {
      ...SECRETS,
      AWS_ACCESS_KEY_ID: S3_KEYS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: S3_KEYS.secretAccessKey,
    };
    const source = `{ s3: { address: "s3://bucket/in/part-*.csv", endpoint: "${s3.endpoint}", allowPrivateAddresses: true }, files: 2 }`;
    const nightly = `import: products\nstore: main\nmapping: shopify-products\nsource: ${source}\n`;
    const stores = `main: { baseUrl: "${scene.store.baseUrl}", apiKey: "\${STORE_API_KEY}" }\n`;
    await using workspace = await makeWorkspace({ 'stores.yaml': stores, 'jobs/nightly.yaml': nightly }, env);
    const put = (name: string, content: string) =>
      send(
        s3Client({
          ...{ kind: 's3', location: '', bucket: 'bucket', key: `in/${name}`, endpoint: s3.endpoint },
          ...{ region: 'us-east-1', credentials: { ...S3_KEYS, sessionToken: null }, pathStyle: true },
          ...{ newest: false, allowPrivateAddresses: true },
        }),
        content,
      );
    await put('part-1.csv', shopifyCatalog(manyProducts(2)));
    const early = (await workspace.storeferry('run', 'nightly', '--json')).json();
    expect(early['error']).toMatch(/gives 1 file\(s\) where the job says `files: 2`/);
    await put('part-2.csv', shopifyCatalog(manyProducts(2, 3)));
    const inScene = { ...scene, workspace };
    expect((await run(inScene)).result).toMatchObject({ status: 'done', records: 4, applied: 4 });
    expect((await run(inScene)).result).toMatchObject({
      status: 'done',
      records: 4,
      unchanged: 4,
      requests: 0,
    });
    await put('part-2.csv', shopifyCatalog(manyProducts(3, 3)));
    expect((await run(inScene)).result).toMatchObject({ status: 'done', applied: 1, unchanged: 4 });
  });
});

describeWithSshd('a job on an SSH server', () => {
  it('reads its source again each time, and writes what it exports', async () => {
    await using sshd = await startSshd();
    const sandbox = await startSandbox({ port: 0, apiKey: SECRETS.STORE_API_KEY });
    const env = { ...SECRETS, SFTP_KEY: sshd.privateKey.replaceAll('\n', '\\n') };
    const at = (name: string) =>
      `{ address: "${sshd.address(name)}", hostKey: "${sshd.hostKey}", privateKey: "\${SFTP_KEY}", allowPrivateAddresses: true }`;
    await using workspace = await makeWorkspace(
      {
        'stores.yaml': `main: { baseUrl: "${sandbox.url}", apiKey: "\${STORE_API_KEY}" }\n`,
        'jobs/nightly.yaml': `import: products\nstore: main\nmapping: shopify-products\nsource: { sftp: ${at('in.csv')} }\n`,
        'jobs/lists.yaml': `export: subscriber-lists\nstore: main\ndestination: { sftp: ${at('lists.csv')}, mode: append }\n`,
      },
      env,
    );
    await writeFile(join(sshd.folder, 'in.csv'), shopifyCatalog(manyProducts(3)));
    const nightly = async () => {
      const ended = await workspace.storeferry('run', 'nightly', '--json');
      if (ended.stdout === '') throw new Error(ended.stderr);
      return ended.json();
    };
    expect(await nightly()).toMatchObject({ status: 'done', applied: 3 });
    expect(await nightly()).toMatchObject({ status: 'done', unchanged: 3, requests: 0 });
    for (const _ of [1, 2]) {
      expect((await workspace.storeferry('run', 'lists')).code).toBe(0);
    }
    const written = await readFile(join(sshd.folder, 'lists.csv'), 'utf8');
    const lines = written.trimEnd().split('\n');
    expect(lines.length).toBeGreaterThan(1);
    expect(lines.length % 2).toBe(1);
    expect(await textOf(workspace.dir)).not.toMatch(/PRIVATE KEY/);
    await sandbox.close();
  });
});
