import { appendFile, mkdir, readdir, rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { describeWithRedis } from '../support/redis.ts';
import { unauthorized } from '../support/store/faults.ts';
import { startStore } from '../support/store.ts';
import { until } from '../support/until.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { openShop } from './workers-setup.ts';

const JOB = 'import: products\nstore: main\nsource: { watch: inbox/*.csv }\nmapping: shopify-products\n';
const catalog = (products: number) => shopifyCatalog(manyProducts(products));

/** The names in a folder of the inbox, without the ids of runs. */
async function namesIn(dir: string, folder: string): Promise<string[]> {
  const names = await readdir(join(dir, 'inbox', folder)).catch(() => []);
  return names.map((name) => name.replace(/^[a-z0-9]{8}-/, '')).sort();
}

it('a file that arrives starts one run, whole, and is moved by its end, through kills of the worker', async () => {
  await using store = await startStore({ seed: 1, latencyMs: 60 });
  await using workspace = await makeWorkspace(
    { ...catalogWorkspace(store.baseUrl, catalog(0)), 'jobs/nightly.yaml': JOB },
    { STORE_API_KEY: store.apiKey },
  );
  const { dir } = workspace;
  const start = async () => {
    const worker = workspace.start('worker');
    await worker.printed('"ready"');
    return worker;
  };
  const runs = async () => {
    const listed = (await workspace.storeferry('runs', '--json')).json()['runs'];
    return Array.isArray(listed) ? listed : [];
  };
  await mkdir(join(dir, 'inbox'));
  const first = await start();
  // It grows while the worker looks: no look sees the same twice before it is whole.
  const lines = catalog(150).split('\n');
  for (let from = 0; from < lines.length; from += 20) {
    await appendFile(join(dir, 'inbox/a.csv'), `${lines.slice(from, from + 20).join('\n')}\n`);
    await sleep(500);
  }
  await workspace.write('inbox/ignored.txt', 'no table');
  await workspace.write('inbox/~$a.csv', 'of a workbook that somebody has open');
  await until(() => store.requests.length > 20);
  first.process.kill('SIGKILL');
  await first.ended;
  expect(await namesIn(dir, 'processing')).toEqual(['a.csv']);
  const second = await start();
  await until(async () => (await namesIn(dir, 'processed')).includes('a.csv'));
  expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
  expect(await runs()).toMatchObject([{ status: 'done', applied: 150 }]);

  await workspace.write('inbox/b.csv', 'Handle,Title\nno,price column\n');
  await workspace.write('inbox/b.csv.done', '');
  await until(async () => (await namesIn(dir, 'failed')).includes('b.csv'));
  expect(await namesIn(dir, '')).toEqual(['failed', 'ignored.txt', 'processed', 'processing', '~$a.csv']);
  second.process.kill('SIGKILL');
  await second.ended;

  // Killed between the end of a run and its move, and between a claim and its run.
  const before = (await runs()).length;
  const [moved = ''] = await readdir(join(dir, 'inbox/processed'));
  await rename(join(dir, 'inbox/processed', moved), join(dir, 'inbox/processing', moved));
  const third = await start();
  await until(async () => (await namesIn(dir, 'processed')).includes('a.csv'));
  expect(await runs()).toHaveLength(before);
  third.process.kill('SIGKILL');
  await third.ended;
  await workspace.write('inbox/processing/claimed1-c.csv', catalog(151));
  await workspace.write('inbox/processing/claimed2-d.csv', catalog(153));
  await start();
  await until(async () => (await namesIn(dir, 'processed')).includes('d.csv'));
  expect((await runs()).find(({ run }) => run === 'claimed1')).toMatchObject({ status: 'done', applied: 1 });
  expect((await runs()).find(({ run }) => run === 'claimed2')).toMatchObject({ status: 'done', applied: 2 });
  expect(await runs()).toHaveLength(before + 2);

  // The report of a failed run says where its file is, also once a later file has taken its place.
  store.misbehave({ does: unauthorized });
  await workspace.write('inbox/e.csv', catalog(155));
  await until(async () => (await namesIn(dir, 'failed')).includes('e.csv'));
  const [failed] = await runs();
  const id = String(failed?.run);
  const place = `A worker moves its file to inbox/failed; to send the rest, move inbox/failed/${id}-e.csv back to inbox/e.csv.`;
  const report = async () => (await workspace.storeferry('runs', id)).stdout.replaceAll(/\s+/g, ' ');
  expect(await report()).toContain(place);
  expect(await report()).not.toContain('To continue where it stopped');
  store.behave();
  await workspace.write('inbox/f.csv', catalog(156));
  await until(async () => (await namesIn(dir, 'processed')).includes('f.csv'));
  expect(await report()).toContain(`Superseded: a later run of this job made a new plan.`);
  expect(await report()).toContain(place);
});

it('an inbox that cannot be read holds no other up', async () => {
  await using store = await startStore({ seed: 1 });
  await using workspace = await makeWorkspace(
    {
      ...catalogWorkspace(store.baseUrl, catalog(0)),
      'jobs/broken.yaml': JOB.replace('inbox', 'broken'),
      'jobs/nightly.yaml': JOB,
      broken: 'no folder',
      'inbox/a.csv': catalog(2),
    },
    { STORE_API_KEY: store.apiKey },
  );
  const worker = workspace.start('worker');
  await worker.printed('"job":"broken","reason"');
  await until(async () => (await namesIn(workspace.dir, 'processed')).includes('a.csv'));
});

it('a file is taken whatever the length of its name', async () => {
  await using store = await startStore({ seed: 1 });
  await using workspace = await makeWorkspace(
    { ...catalogWorkspace(store.baseUrl, catalog(0)), 'jobs/nightly.yaml': JOB },
    { STORE_API_KEY: store.apiKey },
  );
  await workspace.write(`inbox/${'Ä'.repeat(125)}.csv`, catalog(1));
  await workspace.write('inbox/b.csv', catalog(2));
  workspace.start('worker');
  await until(async () => (await namesIn(workspace.dir, 'processed')).length === 2);
  const [, long = ''] = await namesIn(workspace.dir, 'processed');
  expect(long).toMatch(/^Ä{120,}\.csv$/);
  expect((await namesIn(workspace.dir, '')).filter((name) => name.includes('.csv'))).toEqual([]);
});

it('a file that cannot be claimed stays as it is, and is logged once', async () => {
  await using store = await startStore({ seed: 1 });
  await using workspace = await makeWorkspace(
    {
      ...catalogWorkspace(store.baseUrl, catalog(0)),
      'jobs/nightly.yaml': JOB,
      'inbox/a.csv': catalog(2),
      'inbox/a.csv.done': '',
    },
    { STORE_API_KEY: store.apiKey },
  );
  const processing = join(workspace.dir, 'inbox/processing');
  // Another file system, where nothing can be made, also by root.
  await symlink('/proc/self/fdinfo', processing);
  const worker = workspace.start('worker');
  await worker.printed('cannot look at the inbox');
  await sleep(5_000);
  expect(worker.stderr().match(/cannot look at the inbox/g)).toHaveLength(1);
  expect(await namesIn(workspace.dir, '')).toEqual(expect.arrayContaining(['a.csv', 'a.csv.done']));
  await rm(processing);
  await until(async () => (await namesIn(workspace.dir, 'processed')).includes('a.csv'));
  expect(await namesIn(workspace.dir, '')).not.toContain('a.csv.done');
});

describeWithRedis('the inbox of two workers', () => {
  it('gives each file to one run', async () => {
    await using shop = await openShop({ products: 1 });
    const { workspace, store } = shop;
    await workspace.write('jobs/nightly.yaml', JOB);
    for (const [name, products] of [
      ['a', 10],
      ['b', 20],
      ['c', 30],
    ] as const) {
      await workspace.write(`inbox/${name}.csv`, catalog(products));
      await workspace.write(`inbox/${name}.csv.done`, '');
    }
    await Promise.all([shop.worker(), shop.worker()]);
    await until(async () => (await namesIn(workspace.dir, 'processed')).length === 3);
    const { runs } = (await workspace.storeferry('runs', '--json')).json();
    expect(Array.isArray(runs) && runs.map(({ applied }) => applied)).toEqual([10, 10, 10]);
    expect(store.requests).toHaveLength(30);
    expect(await namesIn(workspace.dir, 'processing')).toEqual([]);
  });
});
