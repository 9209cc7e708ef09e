import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import { sampleRun } from '../state/samples.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { setupNightly } from '../support/nightly.ts';
import { runProcess } from '../support/processes.ts';
import { storeferryMain } from '../support/workspace.ts';

describe('runs', () => {
  it('prints jobs and runs, or one run, as an object for programs', async () => {
    await using setup = await setupNightly(3);
    const { workspace } = setup;
    const { run } = (await workspace.storeferry('run', 'nightly', '--json')).json();
    const listed = await workspace.storeferry('runs', '--json');
    expect(listed.stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(listed.json()).toMatchObject({
      jobs: [{ job: 'nightly', schedule: null, next: null, broken: false, last: run }],
      schedules: 'no-worker',
      runs: [{ run, job: 'nightly', kind: 'run', status: 'done', applied: 3, error: null }],
    });
    const shown = (await workspace.storeferry('runs', String(run), '--json')).json();
    expect(shown).toMatchObject({ run, status: 'done', records: 3, rejectsFile: null, store: 'main' });
    expect(Date.parse(String(shown['finishedAt']))).toBeGreaterThanOrEqual(
      Date.parse(String(shown['startedAt'])),
    );

    const absent = await workspace.storeferry('runs', 'zzz', '--json');
    expect([absent.code, absent.json()]).toEqual([
      2,
      { error: expect.stringContaining('There is no run zzz.') },
    ]);
  });

  it('takes the first characters of an id where they say which, as every command does that names a run', async () => {
    await using setup = await setupNightly(3);
    const { workspace } = setup;
    {
      await using state = await openSqliteState(join(workspace.dir, '.storeferry'));
      for (const id of ['abk3v9x2', 'abk4w8y3'])
        await state.runs.create(sampleRun({ id, status: 'planned' }));
    }
    const unclear = await workspace.storeferry('approve', 'abk');
    expect(unclear.code).toBe(2);
    expect(unclear.stderr).toMatch(/2 runs begin with abk: abk4w8y3 \(nightly\) and abk3v9x2 \(nightly\)\./);
    expect((await workspace.storeferry('runs', 'abk3', '--json')).json()).toMatchObject({ run: 'abk3v9x2' });

    const { run } = (await workspace.storeferry('plan', 'nightly', '--json')).json();
    const approved = await workspace.storeferry('approve', String(run).slice(0, -1), '--json');
    expect(approved.json()).toMatchObject({ run, status: 'done', applied: 3 });
  });
});

describe('check --json', () => {
  it('prints what it found as one object, with the exit code of check', async () => {
    await using setup = await setupNightly(3, {
      guards: '[{ field: variants.price, changeBy: 50%, action: hold }]',
    });
    const { workspace } = setup;
    const well = await workspace.storeferry('check', '--json');
    expect([well.code, well.stdout.trimEnd().split('\n').length]).toEqual([0, 1]);
    expect(well.json()).toMatchObject({
      ok: true,
      problems: [],
      unset: [],
      jobs: ['nightly'],
      stores: ['main'],
      guards: [{ job: 'nightly', action: 'hold', rule: 'variants.price changes by at least 50%' }],
      waves: [],
    });
    await workspace.write('jobs/other.yaml', 'imprt: products\nstore: main\n');
    const ill = await workspace.storeferry('check', '--json');
    expect(ill.code).toBe(2);
    expect(ill.json()).toMatchObject({
      ok: false,
      problems: expect.arrayContaining([
        {
          file: 'jobs/other.yaml',
          line: 1,
          column: 1,
          message: expect.stringContaining("did you mean 'import'?"),
        },
      ]),
    });
    const online = await workspace.storeferry('check', '--online', '--json');
    expect(online.json()).toMatchObject({
      findings: expect.arrayContaining([expect.objectContaining({ verdict: 'ok', subject: 'store main' })]),
    });
  });
});

describe('a command with -C', () => {
  it('prints paths that open from the folder it was typed in', async () => {
    await using setup = await setupNightly(3);
    const { workspace, store } = setup;
    const rows = manyProducts(2).map((product, index) =>
      index === 0 ? { ...product, price: 'tbc' } : product,
    );
    await workspace.write('catalog.csv', shopifyCatalog(rows));
    await workspace.write('jobs/broken.yaml', 'import: products\n');
    const folder = dirname(workspace.dir);
    const options = { cwd: folder, env: { PATH: process.env['PATH'], STORE_API_KEY: store.apiKey } };
    const type = async (...args: readonly string[]) => {
      const typed = await runProcess(
        process.execPath,
        [storeferryMain(), '-C', basename(workspace.dir), ...args],
        options,
      );
      return `${typed.stdout}${typed.stderr}`;
    };
    const paths = [
      ...(await type('run', 'nightly')).matchAll(/(?:Report|Rejects file): (\S+)/g),
      ...(await type('check')).matchAll(/^(?:error) +(\S+?):\d+/gm),
      ...(await type('run', 'broken')).matchAll(/^(\S+?):\d+:\d+: /gm),
    ].map(([, path = '']) => path);
    expect(paths.map((path) => basename(path))).toEqual(
      expect.arrayContaining(['report.html', 'rejects.csv', 'broken.yaml']),
    );
    expect(paths.filter((path) => !existsSync(join(folder, path)))).toEqual([]);
  });
});

describe('LOG_LEVEL=debug', () => {
  it('logs every request of a run as a line of JSON, without a secret', async () => {
    await using setup = await setupNightly(3);
    const { workspace, store } = setup;
    await workspace.write('.env', `LOG_LEVEL=debug\nSTORE_API_KEY=${store.apiKey}\n`);
    const { stderr, code } = await workspace.storeferry('run', 'nightly');
    expect(code).toBe(0);
    const lines = stderr
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line));
    expect(lines.filter(({ msg, status }) => msg === 'request' && status === 200)).toHaveLength(3);
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'run begun', job: 'nightly' }));
    expect(stderr).not.toContain(store.apiKey);
    await workspace.write('.env', `STORE_API_KEY=${store.apiKey}\n`);
    expect((await workspace.storeferry('run', 'nightly')).stderr).not.toContain('"msg"');
  });
});

describe('a word that is no command and no job', () => {
  it.each([
    [['imprt'], 'Did you mean run?'],
    [['stop'], 'Did you mean cancel?'],
    [['frobnicate'], 'The commands are init, check, probe, contacts, plan, run,'],
    [['run', 'night'], "did you mean 'nightly'?"],
  ])('%j is answered by what was probably meant', async (args, answer) => {
    await using setup = await setupNightly(1);
    const typed = await setup.workspace.storeferry(...args);
    expect(typed.code).toBe(2);
    expect(typed.stderr).toContain(answer);
  });
});

it('the list of runs counts what a run whose process died has sent, and not its last progress', async () => {
  await using setup = await setupNightly(1);
  const { workspace } = setup;
  const progress = {
    step: 'apply',
    done: 9,
    total: 20,
    unit: 'requests',
    applied: 9,
    rejected: 0,
    at: 1,
  } as const;
  {
    await using state = await openSqliteState(join(workspace.dir, '.storeferry'));
    await state.runs.create(sampleRun({ id: 'abk3v9x2', status: 'running', totals: null, progress }));
  }
  const { stdout } = await workspace.storeferry('runs');
  expect(stdout).toMatch(/abk3v9x2 .*interrupted/);
  expect(stdout).not.toMatch(/9 applied|so far/);
});
