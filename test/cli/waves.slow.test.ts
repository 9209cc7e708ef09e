import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { openShop } from '../queue/workers-setup.ts';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { setupNightly } from '../support/nightly.ts';
import { describeWithRedis } from '../support/redis.ts';
import { errorAnswer, otherTitle } from '../support/store/faults.ts';
import type { Store } from '../support/store.ts';
import { until } from '../support/until.ts';

const APPLY = '{ waves: [10, 10%, 100%] }';

function numberOf(key: string | null): number {
  return Number(key?.split('-').at(-1));
}

/** That the store had accepted each of the first products before it saw a later one. */
function expectSentBefore({ requests }: Store, wave: number): void {
  const later = requests.filter(({ key }) => numberOf(key) > wave).map(({ startedAt }) => startedAt);
  const first = Math.min(...later);
  const accepted = requests.filter(({ applied, endedAt }) => applied && (endedAt ?? Infinity) <= first);
  const keys = new Set(accepted.map(({ key }) => numberOf(key)).filter((number) => number <= wave));
  expect(keys.size).toBe(wave);
}

describe('a job that sends in waves', () => {
  it('stops after a wave whose answers are not what was sent, and goes on when it is approved', async () => {
    await using nightly = await setupNightly(200, { apply: APPLY });
    const { store, workspace } = nightly;
    store.misbehave({ does: otherTitle, until: 9 });
    const stopped = await workspace.storeferry('run', 'nightly', '--json');
    expect(stopped.code).toBe(4);
    expect(stopped.json()).toMatchObject({
      ...{ status: 'stopped', applied: 10, unsent: 190, requests: 10 },
      error: expect.stringMatching(
        /^Wave 1 of 3: the store changed 9 of 10 answers \(title in 9\); maxAltered is 10%\. Look at these .* approve run/,
      ),
      waves: [
        expect.objectContaining({
          records: 10,
          rejected: 0,
          unsent: 0,
          compared: 10,
          altered: 9,
          approved: false,
        }),
      ],
    });
    expect(store.figures().requests).toBe(10);

    const id = String(stopped.json()['run']);
    const text = await workspace.storeferry('runs', id);
    expect(text.stdout).toContain(
      'Stopped after wave 1 of 3: the store changed 9 of 10 answers (title in 9)',
    );
    expect(text.stdout).toMatch(/^ +Wave 2 +10 +judged before the next is sent$/m);
    expect(text.stdout).toContain(` approve ${id}\n`);
    expect(text.stdout).toContain(` undo ${id}\n`);
    const page = await readFile(join(workspace.dir, '.storeferry', 'artifacts', id, 'report.html'), 'utf8');
    expect(page).toContain('Waves: stopped after 1 of 3');
    const released = await workspace.storeferry('release', id);
    expect(released.stderr).toContain(`The run ${id} has not completed: it is stopped.`);
    expect(released.stderr).not.toContain('is a plan');
    const records = await workspace.storeferry('runs', id, '--records', '--outcome', 'unsent', '--json');
    expect(records.stdout.match(/"outcome":"unsent"/g)).toHaveLength(190);
    const client = await (await serveDashboard(workspace)).signedIn('full');
    const { words } = await client.get('/jobs/nightly/run');
    expect(words).toMatch(/The stopped run of .* waits for approval.* to send its rest, approve it/);
    expect((await client.get(`/runs/${id}/approve`)).words).toContain('Sends exactly the rest of this run');
    expect((await client.get(`/runs/${id}/discard`)).words).toContain(
      'Discard the rest of a run of nightly?',
    );

    const approved = await workspace.storeferry('approve', id, '--json');
    expect(approved.code).toBe(0);
    expect(approved.json()).toMatchObject({ status: 'done', applied: 200, requests: 200 });
    expect(approved.stderr).toContain('Wave 2 of 3: 10 products sent, within the limits.');
    for (const wave of [10, 20]) expectSentBefore(store, wave);
    const again = await workspace.storeferry('run', 'nightly', '--json');
    expect(again.json()).toMatchObject({ status: 'done', unchanged: 200, requests: 0 });
  });

  it('judges each wave by itself, also after an approved plan, and stops for what the store refuses', async () => {
    await using nightly = await setupNightly(200, { apply: APPLY, safety: '{ maxRejects: off }' });
    const { store, workspace } = nightly;
    store.misbehave({
      does: errorAnswer(422, 'Too dear'),
      keys: (key) => [12, 15, 17].includes(numberOf(key)),
    });
    const plan = await workspace.storeferry('plan', 'nightly', '--json');
    const stopped = await workspace.storeferry('approve', String(plan.json()['run']), '--json');
    expect(stopped.code).toBe(4);
    expect(stopped.json()).toMatchObject({
      ...{ status: 'stopped', applied: 17, rejected: 3, requests: 20 },
      error: expect.stringContaining('Wave 2 of 3: the store refused 3 of 10 products; maxRejects is 10%'),
    });
    store.behave();
    // Not approved but begun again: what was accepted is not sent again, and the waves begin with what was refused.
    const again = await workspace.storeferry('run', 'nightly', '--json');
    expect(again.json()).toMatchObject({ status: 'done', applied: 183, unchanged: 17, requests: 183 });
  });

  it('leaves a run, of which the rest is discarded', async () => {
    await using nightly = await setupNightly(50, { apply: APPLY });
    const { store, workspace } = nightly;
    store.misbehave({ does: otherTitle, until: 9 });
    const { run } = (await workspace.storeferry('run', 'nightly', '--json')).json();
    const { stdout } = await workspace.storeferry('discard', String(run));
    expect(stdout).toContain(
      `Discarded the rest of run ${run} of nightly: 10 records of it were sent before`,
    );
  });

  it('deletes only after the last wave was judged', async () => {
    const job = { apply: APPLY, mode: 'mirror', safety: '{ maxDeletes: off, minRows: off }' };
    await using nightly = await setupNightly(50, job);
    const { store, workspace } = nightly;
    expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
    store.forget();
    store.misbehave({ does: otherTitle, method: 'POST', from: 11 });
    const renamed = manyProducts(40).map((product) => ({ ...product, title: `${product.title}!` }));
    await workspace.write('catalog.csv', shopifyCatalog(renamed));
    const stopped = await workspace.storeferry('run', 'nightly', '--json');
    expect(stopped.code).toBe(4);
    expect(stopped.json()).toMatchObject({ status: 'stopped', applied: 40, deleted: 0, unsent: 0 });
    const approved = await workspace.storeferry('approve', String(stopped.json()['run']), '--json');
    expect(approved.json()).toMatchObject({ status: 'done', applied: 40, deleted: 10 });
  });

  it('gives up an old url only after the last wave was judged', async () => {
    const job = { apply: APPLY, mode: 'mirror', safety: '{ maxDeletes: off, minRows: off }' };
    await using nightly = await setupNightly(50, job);
    const { store, workspace } = nightly;
    expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
    store.forget();
    store.misbehave({ does: otherTitle, method: 'POST', from: 11 });
    const changed = shopifyCatalog(
      manyProducts(50).map((product) => ({ ...product, title: `${product.title}!` })),
    );
    await workspace.write('catalog.csv', changed.replace('product-1,', 'renamed-1,'));
    const stopped = await workspace.storeferry('run', 'nightly', '--json');
    expect(stopped.json()).toMatchObject({ status: 'stopped', applied: 50, deleted: 0 });
    const deletes = () => store.requests.filter(({ method }) => method === 'DELETE').length;
    expect(deletes()).toBe(0);
    const approved = await workspace.storeferry('approve', String(stopped.json()['run']), '--json');
    expect(approved.json()).toMatchObject({ status: 'done', applied: 50 });
    expect(deletes()).toBe(1);
  });

  it('continues in its wave when it was killed', async () => {
    const apply = '{ waves: [30, 50%, 100%], maxAltered: off }';
    await using nightly = await setupNightly(300, { apply }, { latencyMs: 20 });
    const { store, workspace } = nightly;
    for (const after of [10, 60, 110, 220]) {
      const killed = workspace.start('run', 'nightly', '--json');
      await until(() => store.figures().requests >= after);
      killed.process.kill('SIGKILL');
      await killed.ended;
    }
    const done = await workspace.storeferry('run', 'nightly', '--json');
    expect(done.code).toBe(0);
    expect(done.json()).toMatchObject({ status: 'done', records: 300, applied: 300 });
    expect(done.json()['waves']).toHaveLength(2);
    for (const wave of [30, 150]) expectSentBefore(store, wave);
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
  });

  it('is refused where the waves do not rise to 100%', async () => {
    await using nightly = await setupNightly(1, { apply: '{ waves: [10, 5, 1%] }' });
    const { code, stdout } = await nightly.workspace.storeferry('check');
    expect(code).toBe(2);
    expect(stdout).toContain('apply.waves.1: expected more than 10: each wave ends later');
    expect(stdout).toContain('the last wave must be 100%; to send only a part, use --limit');
  });
});

describeWithRedis('workers', () => {
  it('send no shard of a later wave before the earlier one is judged, also when the coordinator is killed', async () => {
    const apply = '{ waves: [700, 1400, 100%] }';
    await using shop = await openShop({
      ...{ products: 2_000, job: { apply }, shortLeases: true },
      store: { latencyMs: 5 },
    });
    const { store, workspace } = shop;
    store.misbehave({ does: otherTitle, keys: (key) => numberOf(key) <= 300 });
    const workers = await Promise.all([shop.worker(), shop.worker()]);
    const stopped = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(stopped.code).toBe(4);
    expect(stopped.json()).toMatchObject({
      ...{ status: 'stopped', applied: 700, requests: 700 },
      error: expect.stringContaining('Wave 1 of 3: the store changed 300 of 700 answers'),
    });
    for (const worker of workers) worker.process.kill('SIGKILL');
    await Promise.all(workers.map(({ ended }) => ended));

    const id = String(stopped.json()['run']);
    const approving = workspace.start('approve', id, '--json');
    await until(() => store.figures().requests >= 900);
    approving.process.kill('SIGKILL');
    await approving.ended;
    await shop.worker();
    const done = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(done.json()).toMatchObject({ status: 'done', applied: 2_000, unsent: 0 });
    for (const wave of [700, 1400]) expectSentBefore(store, wave);
    expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
  });
});
