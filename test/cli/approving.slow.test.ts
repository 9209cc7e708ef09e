import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { type Nightly, setupNightly } from '../support/nightly.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { delay, unauthorized } from '../support/store/faults.ts';
import { startStore } from '../support/store.ts';
import { until } from '../support/until.ts';

describe('approving a plan', () => {
  it('applies that plan, not the unfinished run of the same source', async () => {
    await using setup = await setupNightly(60);
    const { store, workspace } = setup;
    store.misbehave({ does: unauthorized, from: 30 });
    const failed = await workspace.storeferry('run', 'nightly', '--json');
    expect(failed.code).toBe(1);
    store.behave();

    const plan = await workspace.storeferry('plan', 'nightly', '--json');
    const approved = await workspace.storeferry('approve', String(plan.json()['run']), '--json');
    expect(approved.json()).toMatchObject({
      run: plan.json()['run'],
      status: 'done',
      operations: plan.json()['operations'],
      applied: plan.json()['operations'],
      unsent: 0,
    });
    expect(store.shop.products.size).toBe(60);
  });

  it('is refused when the job has come to write to another store, and nothing is sent there', async () => {
    await using setup = await setupNightly(5);
    const other = await startStore({ seed: 2 });
    const { store, workspace } = setup;
    const plan = await workspace.storeferry('plan', 'nightly', '--json');
    await workspace.write('stores.yaml', `main:\n  baseUrl: ${other.baseUrl}\n  apiKey: \${STORE_API_KEY}\n`);
    const approved = await workspace.storeferry('approve', String(plan.json()['run']));
    expect(approved.code).toBe(2);
    expect(approved.stderr).toContain(store.baseUrl);
    expect(other.figures().requests).toBe(0);
    await other.close();
  });
});

describe('approving what is no plan any more', () => {
  it('says of a run whose process was killed how to go on', async () => {
    await using setup = await setupNightly(60);
    const { store, workspace } = setup;
    store.misbehave({ does: delay(500) });
    const planned = await workspace.storeferry('plan', 'nightly', '--json');
    const id = String(planned.json()['run']);
    const killed = workspace.start('approve', id);
    await until(() => store.shop.products.size > 5);
    // From now on it stays where it is, however long the other takes to start.
    store.misbehave({ does: delay(60_000) });
    const busy = await workspace.storeferry('run', 'nightly');
    expect(busy.stderr).toContain(`\`storeferry -C ${workspace.dir} runs ${id}\` shows its progress`);
    killed.process.kill('SIGKILL');
    await killed.ended;
    // The figures of the plan were those of its last end.
    const listed = (await workspace.storeferry('runs')).stdout.split('\n').find((line) => line.includes(id));
    expect(listed).toContain('interrupted');
    expect(listed).not.toMatch(/60|unsent|planned/);
    const again = await workspace.storeferry('approve', id);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain(`The run ${id} was interrupted: only a planned or stopped run`);
    expect(again.stderr).toContain(
      `To continue where it stopped: storeferry -C ${workspace.dir} run nightly\n`,
    );
  });

  it('offers a new plan of a run that is done', async () => {
    await using setup = await setupNightly(2);
    const { workspace } = setup;
    const done = await workspace.storeferry('run', 'nightly', '--json');
    const approved = await workspace.storeferry('approve', String(done.json()['run']));
    expect(approved.code).toBe(2);
    expect(approved.stderr).toContain('is done: only a planned or stopped run can be approved');
    expect(approved.stderr).toContain(`Plan it again: storeferry -C ${workspace.dir} plan nightly`);
  });
});

async function isDiscarded({ store, workspace }: Nightly): Promise<void> {
  const planned = String((await workspace.storeferry('plan', 'nightly', '--json')).json()['run']);
  const discarded = await workspace.storeferry('discard', planned);
  expect(discarded.code).toBe(0);
  expect(discarded.stdout).toContain(`Discarded the plan ${planned} of nightly: nothing of it was sent.`);
  const shown = await workspace.storeferry('runs', planned);
  expect(shown.stdout).toContain('a person decided not to send this plan');
  expect((await workspace.storeferry('runs', planned, '--json')).json()).toMatchObject({
    status: 'superseded',
  });
  const approved = await workspace.storeferry('approve', planned);
  expect([approved.code, approved.stderr]).toEqual([
    2,
    expect.stringContaining(`The plan ${planned} of nightly was discarded.`),
  ]);
  const again = await workspace.storeferry('discard', planned);
  expect(again.code).toBe(2);
  expect(again.stderr).toContain('only a plan that waits can be discarded');
  expect((await workspace.storeferry('runs', '--audit')).stdout).toMatch(/discarded a plan +nightly/);
  expect(store.figures().requests).toBe(0);
  const done = await workspace.storeferry('run', 'nightly', '--json');
  expect(done.json()).toMatchObject({ status: 'done', applied: 6 });
  expect((await workspace.storeferry('discard', String(done.json()['run']))).code).toBe(2);
}

describe('discarding a plan that waits', () => {
  it('ends it for good, and nothing else', async () => {
    await using nightly = await setupNightly(6);
    await isDiscarded(nightly);
  });
});

describeWithRedis('discarding a plan that waits, in Redis', () => {
  it('ends it for good, and nothing else', async () => {
    await using redis = await startRedis({ aof: false });
    await using nightly = await setupNightly(6);
    await nightly.workspace.write('.env', `REDIS_URL=${redis.url}\n`);
    await isDiscarded(nightly);
  });
});

describe('runs JOB', () => {
  it('lists the runs of the job, and an unknown name is no run', async () => {
    await using setup = await setupNightly(2);
    const { workspace } = setup;
    await workspace.write(
      'jobs/other.yaml',
      'import: products\nstore: main\nsource: { path: catalog.csv }\nmapping: shopify-products\n',
    );
    const first = (await workspace.storeferry('plan', 'nightly', '--json')).json()['run'];
    await workspace.storeferry('plan', 'other');
    const listed = await workspace.storeferry('runs', 'nightly', '--json');
    expect(listed.json()).toMatchObject({ jobs: [{ job: 'nightly' }], runs: [{ run: first }] });
    expect((await workspace.storeferry('runs', 'nightyl')).code).toBe(2);
  });
});

describe('plans', () => {
  it('that stopped or failed leave no copy of the source once the job is planned again', async () => {
    await using setup = await setupNightly(3);
    const { workspace } = setup;
    const header = shopifyCatalog([]);
    await workspace.write('catalog.csv', header);
    const stopped = await workspace.storeferry('plan', 'nightly', '--json');
    expect(stopped.code).toBe(4);
    await workspace.write('catalog.csv', `${header}"unclosed,x\n`);
    const broken = await workspace.storeferry('plan', 'nightly', '--json');
    expect(broken.code).toBe(1);
    await workspace.write('catalog.csv', shopifyCatalog(manyProducts(3)));
    await workspace.storeferry('plan', 'nightly');

    const artifacts = join(workspace.dir, '.storeferry', 'artifacts');
    for (const { run } of [stopped.json(), broken.json()]) {
      const kept = await readdir(join(artifacts, String(run))).catch(() => []);
      expect(kept.filter((name) => /^(source|shard|snapshot)/.test(name))).toEqual([]);
    }
    const late = await workspace.storeferry('approve', String(stopped.json()['run']));
    expect(late.code).toBe(2);
    const retried = await workspace.storeferry('retry', String(stopped.json()['run']));
    expect(retried.code).toBe(2);
    expect(retried.stderr).toContain('is a plan');
  });
});

describe('a reader that goes away', () => {
  it('does not end a run in its middle', async () => {
    await using setup = await setupNightly(100);
    const { store, workspace } = setup;
    store.misbehave({ does: { kind: 'delay', ms: 10 } });
    const running = workspace.start('run', 'nightly');
    running.process.stderr?.destroy();
    running.process.stdout?.destroy();
    expect((await running.ended).code).toBe(0);
    expect(store.shop.products.size).toBe(100);
  });
});
