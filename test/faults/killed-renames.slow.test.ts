import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, type TestContext } from 'vitest';
import { z } from 'zod';
import type { SandboxOptions } from '../../src/sandbox/start-sandbox.ts';
import { API_KEY, setup } from '../sandbox/setup.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { seedOf } from '../support/seed.ts';
import { seededRandom } from '../support/store/random.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { SCALE } from './scale.ts';

const FILES = {
  'mappings/lamps.yaml': `import: products
columns: { url: Url, title: Title, price: Price, sku: SKU, image: Image }
product: { url: url, title: title, images: [image] }
variants: { sku: sku, pricing: { price: [price, number] } }
`,
  'jobs/lamps.yaml': `import: products
store: main
source: { path: lamps.csv }
mapping: lamps
mode: mirror
safety: { maxDeletes: 0 }
`,
};

/** Lamps of which the first have a new url; half of all have no SKU. */
function lampsOf(count: number, renamed: number): string {
  const rows = Array.from({ length: count }, (_, index) => {
    const url = `${index < renamed ? 'new' : 'old'}-${index}`;
    return [
      url,
      `Lamp ${index}`,
      10 + index,
      index % 2 === 0 ? `SKU-${index}` : '',
      `https://x.example/${index}.jpg`,
    ];
  });
  return `Url,Title,Price,SKU,Image\n${rows.map((row) => row.join()).join('\n')}\n`;
}

interface Case {
  readonly count: number;
  readonly renamed: number;
  readonly kills: number;
  readonly profiles?: SandboxOptions['profiles'];
  readonly env?: Readonly<Record<string, string>>;
}

/** Renames products by runs that are killed while they send, and undoes it. */
async function renames(context: TestContext, { count, renamed, kills, profiles = [], env = {} }: Case) {
  const random = seededRandom(seedOf(context));
  await using folder = await makeWorkspace(
    { ...FILES, 'lamps.csv': lampsOf(count, 0) },
    { STORE_API_KEY: API_KEY, STOREFERRY_LEASE_MS: '5000', ...env },
  );
  const run = async (...args: readonly string[]): Promise<Record<string, unknown>> => {
    for (;;) {
      const { stdout, stderr, json } = await folder.storeferry(...args, '--json');
      if (stdout === '') throw new Error(stderr);
      if (!/already running/.test(String(json()['error']))) return json();
      await sleep(1_000);
    }
  };
  const dataDir = join(folder.dir, 'store');
  let port = 0;
  {
    await using quick = await setup({ profiles, dataDir });
    port = Number(new URL(quick.url).port);
    await folder.write(
      'stores.yaml',
      `main: { baseUrl: "${quick.url}", apiKey: "\${STORE_API_KEY}", limits: { concurrency: 4, timeoutSeconds: 1 } }\n`,
    );
    if (profiles.length > 0) await run('probe');
    expect(await run('run', 'lamps')).toMatchObject({ status: 'done', applied: count });
  }
  // Slow enough to be killed between two requests by somebody who looks seldom.
  await using store = await setup({ profiles, dataDir, port, latencyMs: 100 });
  const urls = async () => (await store.list('/_sandbox/products')).map(({ url }) => String(url));
  const answered = async () => Reflect.get((await store.send('GET', '/_sandbox/requests')).body, 'total');
  await folder.write('lamps.csv', lampsOf(count, renamed));
  const lost: number[] = [];
  let killed = 0;
  for (let kill = 0; kill < kills; kill++) {
    const before = await urls();
    const newBefore = before.filter((url) => url.startsWith('new-')).length;
    const goneBefore = count - before.filter((url) => url.startsWith('old-')).length;
    const wanted = newBefore + goneBefore + 1 + Math.floor(random() * 4);
    const started = folder.start('run', 'lamps');
    const ended = started.ended.then(() => true);
    // Listing thousands of products costs more than the run: they are listed when a request was answered.
    for (let listedAt: unknown; ; ) {
      const answers = await answered();
      if (answers === listedAt) {
        if (await Promise.race([ended, sleep(5, false)])) break;
        continue;
      }
      listedAt = answers;
      const now = await urls();
      const found = new Set(now);
      for (let index = 0; index < renamed; index++) {
        if (!found.has(`old-${index}`) && !found.has(`new-${index}`)) lost.push(index);
      }
      const progress =
        now.filter((url) => url.startsWith('new-')).length +
        count -
        now.filter((url) => url.startsWith('old-')).length;
      if (progress >= wanted) break;
    }
    if (started.process.kill('SIGKILL')) killed++;
    await started.ended;
  }
  // With Redis, the lock of a killed process outlasts it: the run after it may be refused before it can be killed.
  expect(killed).toBeGreaterThanOrEqual('REDIS_URL' in env ? 1 : kills);
  const last = await run('run', 'lamps');
  expect(last).toMatchObject({ status: 'done', rejected: 0, unsent: 0, held: 0 });
  expect(lost).toEqual([]);
  const all = await urls();
  expect([all.length, new Set(all).size]).toEqual([count, count]);
  expect(all.filter((url) => url.startsWith('new-'))).toHaveLength(renamed);
  expect(await run('run', 'lamps')).toMatchObject({ requests: 0, unchanged: count });
  // The undo gives the old urls back. The run that renamed the last may have ended before it could be killed.
  const listed = z.object({ runs: z.array(z.object({ run: z.string(), renamed: z.number().optional() })) });
  const { runs } = listed.parse((await folder.storeferry('runs', '--json')).json());
  const plan = await run('undo', String(runs.find((one) => one.renamed !== undefined)?.run));
  expect(plan).toMatchObject({ status: 'planned', removed: 0 });
  expect(plan['renamed']).toBeGreaterThan(0);
  expect(await run('approve', String(plan['run']))).toMatchObject({ status: 'done' });
  const back = await urls();
  expect([back.length, new Set(back).size]).toEqual([count, count]);
  expect(back.filter((url) => url.startsWith('new-'))).toHaveLength(renamed - Number(plan['renamed']));
}

const SMALL = { count: 300, renamed: 20, kills: 4 };
const TIMED = { timeout: SCALE.patienceMs };

describe('products with a new url, by runs that are killed, are there once and never missing', () => {
  it.concurrent('where they are created and then deleted', TIMED, async (context) => {
    await renames(context, { count: 1_000, renamed: 120, kills: 20 });
  });
  it.concurrent('where the store changes urls', TIMED, async (context) => {
    await renames(context, { count: 1_000, renamed: 120, kills: 20, profiles: ['extended'] });
  });
});

describeWithRedis('products with a new url, with Redis, are there once and never missing', () => {
  it.concurrent('where they are created and then deleted', TIMED, async (context) => {
    await using redis = await startRedis();
    await renames(context, { ...SMALL, env: { REDIS_URL: redis.url } });
  });
  it.concurrent('where the store changes urls', TIMED, async (context) => {
    await using redis = await startRedis();
    await renames(context, { ...SMALL, profiles: ['extended'], env: { REDIS_URL: redis.url } });
  });
});
