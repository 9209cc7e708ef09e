import { mkdir, open, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { setupNightly } from '../support/nightly.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { mountSmallDisk, NO_SMALL_DISK } from '../support/small-disk.ts';
import { delay } from '../support/store/faults.ts';
import { startStore } from '../support/store.ts';
import { until } from '../support/until.ts';
import { type CommandResult, makeWorkspace } from '../support/workspace.ts';

/** The members of the object that `--json` prints, of a command that could not report a run. */
function failed(found: Readonly<Record<string, unknown>>) {
  return {
    ...{ run: null, status: 'failed', rows: 0, records: 0, new: 0, changed: 0, unchanged: 0, removed: 0 },
    ...{ operations: 0, applied: 0, deleted: 0, rejected: 0, skipped: 0, unsent: 0, held: 0, requests: 0 },
    ...{ fieldsChanged: {}, rejectsFile: null, durationMs: expect.any(Number) },
    ...found,
  };
}

function expectFailure({ code, stderr, ...result }: CommandResult, exit: number, problem: string): void {
  expect({ code, stderr }).toEqual({ code: exit, stderr: expect.stringContaining(problem) });
  expect(stderr).not.toMatch(/bug in Storeferry|^ +at /m);
  expect(result.json()).toMatchObject({ status: 'failed', error: expect.stringContaining(problem) });
}

describe('--json prints its object', () => {
  it('when there is no such job or run', async () => {
    await using setup = await setupNightly(1);
    const unknown = await setup.workspace.storeferry('run', 'nope', '--json');
    expectFailure(unknown, 2, 'nope');
    expect(unknown.json()).toEqual(failed({ job: 'nope', error: expect.any(String) }));
    for (const command of ['approve', 'retry']) {
      const ended = await setup.workspace.storeferry(command, 'abcdefgh', '--json');
      expectFailure(ended, 2, 'There is no run abcdefgh.');
      expect(ended.json()).toEqual(failed({ job: null, error: expect.any(String) }));
    }
  });

  it('when an option is wrong', async () => {
    await using setup = await setupNightly(1);
    const typed = (...words: readonly string[]) => setup.workspace.storeferry(...words, '--json');
    expectFailure(await typed('plan', 'nightly', '--bogus'), 2, "unknown option '--bogus'");
    expectFailure(await typed('plan', 'nightly', '--markdown'), 2, 'leave out --json');
    const value = await typed('run', 'nightly', '--limit', 'x');
    expectFailure(value, 2, 'Expected a whole number');
    expect(value.json()).toEqual(failed({ job: null, error: expect.any(String) }));
    expectFailure(await typed('enqueue', 'nightly'), 2, 'it needs --follow');
    const scan = await typed('contacts', 'scan', '--ids', 'abc');
    expect([scan.code, scan.json()]).toEqual([2, { error: expect.any(String) }]);
  });

  it('when the mapping cannot be used, with the place, and no run begins', async () => {
    await using setup = await setupNightly(1);
    const { workspace } = setup;
    const sent = String((await workspace.storeferry('run', 'nightly', '--json')).json()['run']);
    const job = join(workspace.dir, 'jobs/nightly.yaml');
    await writeFile(job, (await readFile(job, 'utf8')).replace('shopify-products', 'own'));
    await mkdir(join(workspace.dir, 'mappings'), { recursive: true });
    await writeFile(
      join(workspace.dir, 'mappings/own.yaml'),
      `import: products
columns: { handle: Handle, title: Title, price: Variant Price }
required: [handle]
group: { by: handle, rows: adjacent }
product: { url: title, title: title }
variants: { pricing: { price: price } }
`,
    );
    const plan = await workspace.storeferry('plan', 'nightly', '--json');
    expectFailure(plan, 2, 'mappings/own.yaml:4:');
    expect((await workspace.storeferry('runs', '--json')).json()).toMatchObject({ runs: [{ run: sent }] });
    // What maps no rows does not wait for the correction.
    expect((await workspace.storeferry('undo', sent)).code).toBe(0);
  });

  it('when the job is already running', async () => {
    await using setup = await setupNightly(100);
    const { store, workspace } = setup;
    store.misbehave({ does: delay(60_000) });
    const running = workspace.start('run', 'nightly', '--json');
    await until(() => store.figures().requests !== 0);
    const second = await workspace.storeferry('run', 'nightly', '--json');
    expectFailure(second, 1, 'already running');
    expect(second.json()).toMatchObject({ run: null, job: 'nightly' });
    running.process.kill('SIGKILL');
    await running.ended;
    // What a run continues is named, not the run that was begun for it.
    const before = store.requests.length;
    const continuing = workspace.start('run', 'nightly', '--json');
    await until(() => store.requests.length > before);
    const third = await workspace.storeferry('run', 'nightly', '--json');
    store.behave();
    const continued = (await continuing.ended).json();
    expect(continued).toMatchObject({ status: 'done', applied: 100 });
    expect(third.stderr).toContain(`already running (run ${continued['run']})`);
  });

  it('when the state is damaged, and says what to do', async () => {
    await using setup = await setupNightly(3);
    const { workspace } = setup;
    expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
    const file = await open(join(workspace.dir, '.storeferry', 'state.db'), 'r+');
    await file.write(Buffer.alloc(100, 'A'), 0, 100, 0);
    await file.close();
    for (const command of [
      ['run', 'nightly'],
      ['plan', 'nightly'],
      ['approve', 'x'],
      ['retry', 'x'],
    ]) {
      const ended = await workspace.storeferry(...command, '--json');
      expectFailure(ended, 1, 'is damaged');
      expect(ended.json()['error']).toContain('Restore it from a backup, or move it to another folder');
    }
  });

  it('when the disk is full, and says so', async (context) => {
    const disk = await mountSmallDisk(16);
    if (disk === undefined) return context.skip(NO_SMALL_DISK);
    await using _mounted = disk;
    await using setup = await setupNightly(20);
    const { workspace } = setup;
    await symlink(disk.dir, join(workspace.dir, '.storeferry'));
    expect((await workspace.storeferry('run', 'nightly', '--json')).code).toBe(0);
    await disk.fill();
    for (const command of ['run', 'plan']) {
      expectFailure(await workspace.storeferry(command, 'nightly', '--json'), 1, 'disk is full');
    }
    await disk.free();
    expect((await workspace.storeferry('run', 'nightly', '--json')).json()).toMatchObject({ status: 'done' });
  });
});

describeWithRedis('--json prints its object when Redis', () => {
  // Side by side, because they wait for the deadlines of Redis.
  it.concurrent('goes away in the middle of a run: with the id of the run', async ({ onTestFinished }) => {
    await using redis = await startRedis();
    const store = await startStore({ seed: 1, latencyMs: 20 });
    onTestFinished(() => store.close());
    await using workspace = await makeWorkspace(
      catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(300))),
      { STORE_API_KEY: store.apiKey, REDIS_URL: redis.url },
    );
    const running = workspace.start('run', 'nightly', '--json');
    await until(() => store.requests.length >= 50);
    redis.pause();
    const ended = await running.ended;
    expectFailure(ended, 1, 'Redis');
    expect(ended.json()).toMatchObject({ run: expect.stringMatching(/^[a-z0-9]{8}$/), job: 'nightly' });
  });

  it.concurrent('cannot be reached by `enqueue --follow`', async () => {
    await using workspace = await makeWorkspace(
      catalogWorkspace('http://127.0.0.1:9', shopifyCatalog(manyProducts(1))),
      { STORE_API_KEY: 'key', REDIS_URL: 'redis://127.0.0.1:1' },
    );
    const ended = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expectFailure(ended, 1, 'cannot be reached');
    expect(ended.json()).toEqual(failed({ job: 'nightly', error: expect.any(String) }));
  });

  it.concurrent('does not answer `enqueue --follow` any more', async () => {
    await using redis = await startRedis();
    await using workspace = await makeWorkspace(
      catalogWorkspace('http://127.0.0.1:9', shopifyCatalog(manyProducts(1))),
      { STORE_API_KEY: 'key', REDIS_URL: redis.url },
    );
    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    await following.printed('No worker is running');
    redis.pause();
    expectFailure(await following.ended, 1, 'cannot be reached');
  });

  it.concurrent('is no more followed, with the status interrupted', async () => {
    await using redis = await startRedis();
    await using workspace = await makeWorkspace(
      catalogWorkspace('http://127.0.0.1:9', shopifyCatalog(manyProducts(1))),
      { STORE_API_KEY: 'key', REDIS_URL: redis.url },
    );
    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    await following.printed('No worker is running');
    following.process.kill('SIGINT');
    const ended = await following.ended;
    expect(ended.code).toBe(130);
    expect(ended.json()).toMatchObject({ run: null, job: 'nightly', status: 'interrupted' });
  });
});
