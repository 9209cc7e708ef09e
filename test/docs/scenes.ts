import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { freePort } from '../support/free-port.ts';
import { startRedis } from '../support/redis.ts';
import type { SceneSetting } from './scene.ts';

const KEY = 'your-key';
const ROOT = join(import.meta.dirname, '..', '..');

const sample = (name: string) => readFile(join(ROOT, 'jobs', 'samples', name), 'utf8');
const job = (name: string) => readFile(join(ROOT, 'jobs', name), 'utf8');

async function sandbox() {
  const { url, close } = await startSandbox({ port: 0, apiKey: KEY });
  return { url, close, stands: { 'https://shop.example': url } };
}

/** The workspace that the repository ships, with a store and the keys to it. */
async function shippedWorkspace(storeUrl: string): Promise<Record<string, string>> {
  const stores = await readFile(join(ROOT, 'stores.yaml'), 'utf8');
  return {
    // As shipped, but for the sandbox: 50 requests a second would be seconds of waiting.
    'stores.yaml': stores.replace('requestsPerSecond: 50', 'requestsPerSecond: 5000'),
    'jobs/nightly-catalog.yaml': await job('nightly-catalog.yaml'),
    'jobs/bulk-contacts.yaml': await job('bulk-contacts.yaml'),
    'jobs/list-statistics.yaml': await job('list-statistics.yaml'),
    'jobs/samples/catalog.csv': await sample('catalog.csv'),
    'jobs/samples/catalog-second-night.csv': await sample('catalog-second-night.csv'),
    'jobs/samples/crm-export.csv': await sample('crm-export.csv'),
    'jobs/samples/contact-ids.csv': await sample('contact-ids.csv'),
    '.env': `STORE_URL=${storeUrl}\nSTORE_API_KEY=${KEY}\n`,
  };
}

const inFolder = (folder: string, files: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(files).map(([name, content]) => [`${folder}/${name}`, content]));

const STORES = `main: { baseUrl: "\${STORE_URL}", apiKey: "\${STORE_API_KEY}" }\n`;

async function fillByAnotherTool(url: string, handles: readonly string[]): Promise<void> {
  for (const handle of handles) {
    const answer = await fetch(`${url}/api/site/products`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${KEY}`,
        'User-Agent': 'another-tool/1',
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({ title: handle, url: handle, variants: [{ options: [], price: 1 }] }),
    });
    if (!answer.ok) throw new Error(`the sandbox answers ${answer.status}`);
  }
}

/** The scenes that documents name above their commands, `<!-- scene: NAME -->`; each command gets a fresh one. */
export const SCENES: Readonly<Record<string, () => Promise<SceneSetting>>> = {
  /** An export on the desk, and a store that has another shop's contacts. */
  'first import': async () => {
    const { close, stands } = await sandbox();
    return {
      files: {
        'my-export.csv': await sample('catalog-second-night.csv'),
        'my-shop/crm-export.csv': await sample('crm-export.csv'),
        'my-shop/contact-ids.csv': await sample('contact-ids.csv'),
      },
      stands: { ...stands, '127.0.0.1:8700': `127.0.0.1:${await freePort()}` },
      env: { STORE_API_KEY: KEY },
      close,
    };
  },
  /** The shipped workspace on one machine, its state in SQLite. Commands are typed in it. */
  workspace: async () => {
    const { url, close, stands } = await sandbox();
    return { folder: 'shop', files: inFolder('shop', await shippedWorkspace(url)), stands, close };
  },
  /** The shipped workspace with a second store. */
  'two stores': async () => {
    const [main, outlet] = await Promise.all([sandbox(), sandbox()]);
    const files = await shippedWorkspace(main.url);
    const second = `outlet: { baseUrl: ${outlet.url}, apiKey: "\${STORE_API_KEY}" }\n`;
    return {
      files: inFolder('my-shop', { ...files, 'stores.yaml': `${files['stores.yaml']}${second}` }),
      stands: main.stands,
      close: async () => {
        await main.close();
        await outlet.close();
      },
    };
  },
  /** An own workspace, before a store that another tool has filled. */
  moving: async () => {
    const { url, close, stands } = await sandbox();
    await fillByAnotherTool(url, ['tideline-mug', 'estuary-jug', 'made-by-hand']);
    const files = {
      'stores.yaml': STORES,
      '.env': `STORE_URL=${url}\nSTORE_API_KEY=${KEY}\n`,
      'export.csv': await sample('catalog.csv'),
    };
    return { folder: 'shop', files: inFolder('shop', files), stands, close };
  },
  /** The shipped workspace with a Redis, for workers. */
  'shared workspace': async () => {
    const { url, close, stands } = await sandbox();
    const redis = await startRedis();
    const [port, listen, dashboard, behindProxy] = await Promise.all([
      ...[freePort(), freePort(), freePort(), freePort()],
    ]);
    const files = await shippedWorkspace(url);
    return {
      folder: 'shop',
      files: inFolder('shop', { ...files, '.env': `${files['.env']}REDIS_URL=${redis.url}\n` }),
      stands: {
        ...stands,
        'redis://127.0.0.1:6379': redis.url,
        '--port 6380': `--port ${port}`,
        '-p 6380': `-p ${port}`,
        '--listen 9464': `--listen ${listen}`,
        '127.0.0.1:9464': `127.0.0.1:${listen}`,
        '127.0.0.1:8700': `127.0.0.1:${dashboard}`,
        '127.0.0.1:8701': `127.0.0.1:${behindProxy}`,
      },
      close: async () => {
        await close();
        await redis.stop();
      },
    };
  },
};
