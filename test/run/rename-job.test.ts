import { existsSync } from 'node:fs';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openContext } from '../../src/cli/open-context.ts';
import { readImportRequest } from '../../src/cli/read-request.ts';
import { moveNew } from '../../src/config/edit-file.ts';
import { executeRun, removeJob, renameJob } from '../../src/run/execute-run.ts';
import { importTarget } from '../../src/state/state.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { setupNightly } from '../support/nightly.ts';
import { runProcess } from '../support/processes.ts';

it('a renamed job keeps its decisions about products of the store: none is created twice, none deleted', async () => {
  await using setup = await setupNightly(3, {
    mode: 'mirror',
    adopt: '{ path: there.csv, mapping: shopify-products }',
  });
  const { workspace, store } = setup;
  const { dir } = workspace;
  await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
  // The store has two of them by other urls.
  const there = shopifyCatalog(manyProducts(2)).replaceAll(/^product-/gm, 'hand-');
  await workspace.write('there.csv', there);
  const run = async (job: string) => {
    await using open = await openContext(dir, () => {}, new AbortController().signal);
    const request = await readImportRequest(open.workspace, job, false);
    return await executeRun(open.context, { kind: 'run', request });
  };
  const first = await run('nightly');
  expect(first.plan).toMatchObject({ adopted: { records: 2 } });
  const table = (job: string) => join(dir, `adopted-main-${job}.csv`);
  {
    await using open = await openContext(dir, () => {}, new AbortController().signal);
    const { run: of } = first;
    const targets = [{ ...importTarget(of), store: of.store }];
    const to = async (name: string) =>
      await renameJob(open.context, { from: 'nightly', to: name, targets }, () => {});
    await workspace.write('adopted-main-shop.csv', 'of a job before');
    await expect(to('shop')).rejects.toThrow('adopted-main-shop.csv');
    await to('outlet');
  }
  expect([existsSync(table('nightly')), existsSync(table('outlet'))]).toEqual([false, true]);
  await rename(join(dir, 'jobs/nightly.yaml'), join(dir, 'jobs/outlet.yaml'));
  expect((await run('outlet')).plan).toMatchObject({
    counts: { new: { records: 0 }, unchanged: { records: 3 }, removed: 0 },
  });
});

it('a plan keeps what was decided about adopted products while it read the store', async () => {
  await using setup = await setupNightly(2, { adopt: '{ path: there.csv, mapping: shopify-products }' });
  const { workspace, store } = setup;
  await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
  await workspace.write('there.csv', shopifyCatalog(manyProducts(3)).replaceAll(/^product-/gm, 'hand-'));
  await workspace.storeferry('plan', 'nightly');
  const table = join(workspace.dir, 'adopted-main-nightly.csv');
  const decided = (await readFile(table, 'utf8')).replace(/adopt$/m, 'new');
  await workspace.write('catalog.csv', shopifyCatalog(manyProducts(3)));
  await using open = await openContext(workspace.dir, () => {}, new AbortController().signal);
  const { artifacts } = open.context;
  const deciding: typeof artifacts = {
    ...artifacts,
    run(id) {
      const folder = artifacts.run(id);
      const write: typeof folder.write = async (name, content) => {
        if (name.startsWith('baseline')) await writeFile(table, decided);
        return await folder.write(name, content);
      };
      return { ...folder, write };
    },
  };
  const request = await readImportRequest(open.workspace, 'nightly', false);
  await executeRun({ ...open.context, artifacts: deciding }, { kind: 'plan', request });
  const lines = (await readFile(table, 'utf8')).trimEnd().split('\n');
  expect(lines.slice(0, 3)).toEqual(decided.trimEnd().split('\n'));
  expect(lines.slice(3)).toEqual([expect.stringMatching(/^product-3,hand-3,.*adopt$/)]);
});

it('a job whose file cannot be renamed keeps its old name, runs and decisions', async () => {
  await using setup = await setupNightly(2);
  const { workspace, store } = setup;
  const { dir } = workspace;
  await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
  await using open = await openContext(dir, () => {}, new AbortController().signal);
  const { context } = open;
  const request = await readImportRequest(open.workspace, 'nightly', false);
  const { run } = await executeRun(context, { kind: 'run', request });
  const target = importTarget(run);
  const table = (job: string) => `adopted-main-${job}.csv`;
  await workspace.write(table('nightly'), 'decisions');
  for (const kind of ['export', 'drift'])
    await context.artifacts.run(`${kind}-nightly`).write('position.json', ['{}']);
  const [old, taken] = [join(dir, 'jobs/nightly.yaml'), join(dir, 'jobs/outlet.yaml')];
  const toOutlet = (moveFile: () => void) =>
    renameJob(context, { from: 'nightly', to: 'outlet', targets: [{ ...target, store: 'main' }] }, moveFile);
  const known = async (job: string) => [
    (await context.state.runs.list({ job })).length,
    await context.state.ledger(target).count(job),
    existsSync(join(dir, table(job))),
    (await context.artifacts.run(`export-${job}`).list()).length,
    (await context.artifacts.run(`drift-${job}`).list()).length,
  ];
  // Somebody writes another job while the rename is at work.
  await workspace.write('jobs/outlet.yaml', 'of somebody else');
  await expect(toOutlet(() => moveNew(old, taken))).rejects.toThrow('is there already');
  expect([await known('nightly'), await known('outlet')]).toEqual([
    [1, 2, true, 1, 1],
    [0, 0, false, 0, 0],
  ]);
  expect([existsSync(old), await readFile(taken, 'utf8')]).toEqual([true, 'of somebody else']);
  // It leaves no mark: the same name can be asked for again.
  await rm(taken);
  // A process that died between its two steps has left both names.
  await link(old, taken);
  await toOutlet(() => moveNew(old, taken));
  expect([await known('nightly'), await known('outlet')]).toEqual([
    [0, 0, false, 0, 0],
    [1, 2, true, 1, 1],
  ]);
});

describe('a job whose rename was killed', () => {
  const KILL = "process.kill(process.pid, 'SIGKILL')";
  it.each([
    { after: 'its history was moved', moveFile: KILL, has: ['nightly'], gets: 'nightly', not: 'outlet' },
    {
      after: 'its file had both names',
      moveFile: `fs.linkSync(old, renamed); ${KILL}`,
      has: ['nightly', 'outlet'],
      gets: 'outlet',
      not: 'nightly',
    },
  ])('after $after is one job, with its history, to the next run of either name', async (killed) => {
    await using setup = await setupNightly(3, { mode: 'mirror', safety: '{ maxDeletes: off }' });
    const { workspace, store } = setup;
    await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
    await workspace.storeferry('run', 'nightly');
    const module = (name: string) => import.meta.resolve(`../../src/${name}`);
    const { code } = await runProcess(process.execPath, [
      '--input-type=module',
      '--eval',
      `import fs from 'node:fs';
      import { openContext } from '${module('cli/open-context.ts')}';
      import { renameJob } from '${module('run/execute-run.ts')}';
      const [old, renamed] = ['nightly', 'outlet'].map((name) => '${workspace.dir}/jobs/' + name + '.yaml');
      const { context } = await openContext('${workspace.dir}', () => {}, new AbortController().signal);
      await renameJob(context, { from: 'nightly', to: 'outlet', targets: [] }, () => { ${killed.moveFile}; });`,
    ]);
    expect(code).toBeNull();
    const jobs = () =>
      ['nightly', 'outlet'].filter((name) => existsSync(join(workspace.dir, `jobs/${name}.yaml`)));
    expect(jobs()).toEqual(killed.has);
    await workspace.write('catalog.csv', shopifyCatalog(manyProducts(2)));
    const run = async (job: string) => (await workspace.storeferry('run', job, '--json')).json();
    if (killed.gets === 'outlet')
      expect(await run('nightly')).toMatchObject({ error: expect.stringContaining('renamed or deleted') });
    expect(await run(killed.gets)).toMatchObject({ status: 'done', unchanged: 2, deleted: 1 });
    expect(jobs()).toEqual([killed.gets]);
    const { runs } = (await workspace.storeferry('runs', '--json')).json();
    expect(runs).toEqual([0, 1].map(() => expect.objectContaining({ job: killed.gets })));
  });
});

it('begins no run of a job that was renamed or deleted after its file was read, and deletes none that works', async () => {
  await using setup = await setupNightly(2);
  const { workspace, store } = setup;
  const { dir } = workspace;
  await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
  await using open = await openContext(dir, () => {}, new AbortController().signal);
  const { context } = open;
  const file = join(dir, 'jobs/nightly.yaml');
  const request = await readImportRequest(open.workspace, 'nightly', false);
  const removed = Promise.withResolvers<unknown>();
  const onEvent: typeof context.onEvent = ({ type }) => {
    if (type === 'begun')
      removeJob(context, 'nightly', () => moveNew(file, `${file}.removed`)).catch(removed.resolve);
  };
  await executeRun({ ...context, onEvent }, { kind: 'run', request });
  expect(String(await removed.promise)).toContain('is already running');
  await removeJob(context, 'nightly', () => moveNew(file, `${file}.removed`));
  await expect(executeRun(context, { kind: 'run', request })).rejects.toThrow('renamed or deleted');
});
