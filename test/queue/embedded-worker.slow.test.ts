import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { delay } from '../support/store/faults.ts';
import { type StoreOptions, startStore } from '../support/store.ts';
import { until } from '../support/until.ts';
import { makeWorkspace } from '../support/workspace.ts';

/** A store and a workspace without Redis, with a catalog of so many products. */
async function openShop(products: number, store: StoreOptions = {}) {
  const started = await startStore({ seed: 1, ...store });
  const files = catalogWorkspace(started.baseUrl, shopifyCatalog(manyProducts(products)));
  const workspace = await makeWorkspace(files, { STORE_API_KEY: started.apiKey });
  return {
    store: started,
    workspace,
    async start(...args: readonly string[]) {
      const running = workspace.start(...args);
      await running.printed('"ready"');
      return running;
    },
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await started.close();
    },
  };
}

const JOB = 'import: products\nstore: main\nsource: { path: catalog.csv }\nmapping: shopify-products\n';

it.concurrent('a workspace without Redis has one worker: the second says so', async () => {
  await using shop = await openShop(1);
  const first = await shop.start('worker');
  for (const command of [['worker'], ['dashboard', '--worker', '--listen', '0']]) {
    const { code, stderr } = await shop.workspace.storeferry(...command);
    expect(code).toBe(2);
    expect(stderr).toContain('already has a worker');
  }
  first.process.kill('SIGKILL');
  await first.ended;
  const next = await shop.start('worker');
  next.process.kill('SIGTERM');
  expect((await next.ended).code).toBe(0);
});

it.concurrent('what is enqueued waits for the worker, can be followed and cancelled, and has the printed id', async () => {
  await using shop = await openShop(3);
  const { workspace, store } = shop;
  const { stderr } = await workspace.storeferry('enqueue', 'nightly');
  const id = /as run (\w+)/.exec(stderr)?.[1] ?? '';
  expect(stderr).toContain('No worker is running');
  expect((await workspace.storeferry('enqueue', 'nightly')).stderr).toContain(
    `running already, as run ${id}`,
  );
  expect((await workspace.storeferry('runs')).stdout).toContain(`Run ${id} of nightly waits for a worker`);
  const cancelled = await workspace.storeferry('cancel', id);
  expect([cancelled.code, cancelled.stdout]).toEqual([0, expect.stringContaining('from the queue')]);

  const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
  await following.printed('Enqueued');
  const promised = /as run (\w+)/.exec(following.stderr())?.[1];
  await shop.start('worker');
  const { code, json } = { ...(await following.ended) };
  expect([code, json()]).toEqual([0, expect.objectContaining({ run: promised, status: 'done', applied: 3 })]);
  expect(store.requests).toHaveLength(3);
});

it.concurrent('a worker that is told to stop hands a run back, ends with 0, and the next one continues it', async () => {
  await using shop = await openShop(200, { latencyMs: 100 });
  const { workspace, store } = shop;
  const first = await shop.start('worker');
  await workspace.storeferry('enqueue', 'nightly');
  await until(() => store.requests.length > 20);
  first.process.kill('SIGTERM');
  const ended = await first.ended;
  expect(ended.code).toBe(0);
  expect(ended.stderr).toContain('"run returned to the queue"');
  const sent = store.requests.length;
  expect(sent).toBeLessThan(200);
  const second = await shop.start('worker');
  await second.printed('"run ended"');
  expect(second.stderr()).toContain('"continued":true');
  expect(store.requests).toHaveLength(200);
  expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
});

it.concurrent('a worker follows the files of jobs, and runs once for ticks that were missed without it', async () => {
  await using shop = await openShop(1);
  const { workspace } = shop;
  const first = await shop.start('worker', '--listen', '0');
  await workspace.write('jobs/added.yaml', `${JOB}schedule: { cron: "*/2 * * * * *" }\n`);
  await workspace.write('jobs/removed.yaml', `${JOB}schedule: { cron: "0 3 1 1 *" }\n`);
  await first.printed('"job":"removed","cron":"0 3 1 1 *"');
  await first.printed('"msg":"tick: run queued"');
  await rm(join(workspace.dir, 'jobs/removed.yaml'));
  await first.printed('"schedule removed"');
  const url = /"url":"(http[^"]+)"/.exec(first.stderr())?.[1] ?? '';
  expect(await (await fetch(`${url}/healthz`)).text()).toBe('ok\n');
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toMatch(/storeferry_queue_jobs\{queue="runs",state="waiting"\} \d/);
  expect(metrics).toMatch(/storeferry_job_next_run_timestamp_seconds\{job="added"\} \d+/);
  const listed = (await workspace.storeferry('runs', '--json')).json();
  expect(listed['schedules']).toBe('worker');
  first.process.kill('SIGKILL');
  await first.ended;
  const killedAt = Date.now();

  const { stdout } = await workspace.storeferry('check', '--online');
  expect(stdout).toMatch(/workers: none is running, so the schedules of added are inactive/);
  // A tick passes every two seconds: a fast machine gets here before the next one.
  await until(() => Date.now() > killedAt + 2_000);
  await workspace.write('jobs/added.yaml', `${JOB}schedule: { cron: "0 3 1 1 *" }\n`);
  const second = await shop.start('worker');
  await second.printed('"missed tick: run queued once"');
  await second.printed('"run ended"');
  expect(second.stderr().split('"run begun"')).toHaveLength(2);
});

it.concurrent('a run by hand and a tick of its job do not overlap: the tick waits', async () => {
  await using shop = await openShop(200);
  const { workspace, store } = shop;
  // So slow that the run by hand is surely still under way when the tick comes.
  store.misbehave({ does: delay(1_000) });
  const worker = await shop.start('worker');
  const byHand = workspace.start('run', 'nightly', '--json');
  await until(() => store.requests.length > 0);
  await workspace.storeferry('enqueue', 'nightly');
  await worker.printed('"run waits"');
  store.behave();
  expect((await byHand.ended).json()).toMatchObject({ status: 'done', applied: 200 });
  await worker.printed('"run ended"');
  expect(store.requests).toHaveLength(200);
});

it.concurrent('dashboard --worker keeps the schedules in the same process and says how it is', async () => {
  await using shop = await openShop(2);
  const { workspace, store } = shop;
  await workspace.write('jobs/nightly.yaml', `${JOB}schedule: { cron: "*/2 * * * * *" }\n`);
  const running = workspace.start('dashboard', '--worker', '--listen', '0', '--metrics', '0');
  await running.printed('is at http');
  await running.printed('"run ended"');
  expect(store.requests).toHaveLength(2);
  const [, url = ''] = /is at (http\S+?)\/?\s/.exec(running.stdout()) ?? [];
  const answer = await fetch(`${url}/healthz`);
  expect([answer.status, await answer.text()]).toEqual([200, 'ok\n']);
  const [, own = ''] = /"url":"(http[^"]+)"/.exec(running.stderr()) ?? [];
  expect(await (await fetch(`${own}/metrics`)).text()).toContain('storeferry_runs_total{job="nightly"');
  const alone = await workspace.storeferry('dashboard', '--metrics', '0');
  expect(alone.code).toBe(2);
  expect(alone.stderr).toContain('--metrics serves the figures of a worker');
  expect((await workspace.storeferry('runs')).stdout).not.toContain('inactive');
  running.process.kill('SIGTERM');
  expect((await running.ended).code).toBe(0);
});

it.concurrent('a worker whose state is deleted ends with 1, to be started again', async () => {
  await using shop = await openShop(1);
  const running = await shop.start('worker');
  // The worker may write a file at this moment.
  await rm(join(shop.workspace.dir, '.storeferry'), { recursive: true, maxRetries: 9 });
  const { code, stderr } = await running.ended;
  expect(code).toBe(1);
  expect(stderr).toContain('exiting to be restarted');
});
