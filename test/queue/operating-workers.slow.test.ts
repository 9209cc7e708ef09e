import { request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { describeWithRedis } from '../support/redis.ts';
import { errorAnswer } from '../support/store/faults.ts';
import { until } from '../support/until.ts';
import { startWebhook, WEBHOOK_SECRETS } from '../support/webhook.ts';
import type { RunningCommand } from '../support/workspace.ts';
import { openShop, type Shop } from './workers-setup.ts';

/** A worker that listens, and its address. */
async function listeningWorker({ workspace }: Shop, ...more: readonly string[]) {
  const worker = workspace.start('worker', '--listen', '0', ...more);
  await worker.printed('"ready"');
  const url = /"url":"([^"]+)"/.exec(worker.stderr())?.[1] ?? '';
  return { worker, url };
}

async function get(
  url: string,
  method = 'GET',
): Promise<{ status: number | undefined; body: string; type: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{
    status: number | undefined;
    body: string;
    type: string;
  }>();
  request(url, { method }, async (answer) => {
    resolve({
      status: answer.statusCode,
      body: await text(answer),
      type: String(answer.headers['content-type']),
    });
  })
    .once('error', reject)
    .end();
  return await promise;
}

/** The value of a metric; undefined when it is not there. */
function figureOf(body: string, metric: string): number | undefined {
  const line = body.split('\n').find((found) => found.startsWith(`${metric} `));
  return line === undefined ? undefined : Number(line.slice(metric.length + 1));
}

function logLines(worker: RunningCommand): Record<string, unknown>[] {
  return worker
    .stderr()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

describeWithRedis('a worker that listens', () => {
  it.concurrent('shows its health and metrics on loopback, and nothing else', async () => {
    await using shop = await openShop({
      products: 200,
      job: { safety: '{ maxRejects: off }', schedule: '{ cron: "0 3 1 1 *" }' },
    });
    const { store, redis, workspace } = shop;
    store.misbehave({ does: errorAnswer(503, 'Busy'), times: 3 });
    store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-3', 'product-4'] });
    const { worker, url } = await listeningWorker(shop);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await get(`${url}/healthz`)).toMatchObject({ status: 200, body: 'ok\n' });
    const begunAt = Date.now();
    await workspace.storeferry('enqueue', 'nightly', '--follow');

    const { status, body, type } = await get(`${url}/metrics`);
    expect(status).toBe(200);
    expect(type).toContain('version=0.0.4');
    const labels = 'store="main",resource="products"';
    expect(figureOf(body, `storeferry_operations_total{${labels},outcome="applied"}`)).toBe(198);
    expect(figureOf(body, `storeferry_operations_total{${labels},outcome="rejected"}`)).toBe(2);
    expect(
      figureOf(body, 'storeferry_runs_total{job="nightly",store="main",status="done-with-rejects"}'),
    ).toBe(1);
    expect(figureOf(body, 'storeferry_store_requests_total{store="main"}')).toBe(store.requests.length);
    expect(figureOf(body, 'storeferry_store_retries_total{store="main"}')).toBe(3);
    expect(figureOf(body, 'storeferry_store_breaker_open{store="main"}')).toBe(0);
    expect(figureOf(body, 'storeferry_store_concurrency_limit{store="main"}')).toBeGreaterThan(0);
    expect(figureOf(body, 'storeferry_queue_jobs{queue="runs",state="waiting"}')).toBe(0);
    expect(figureOf(body, 'storeferry_queue_jobs{queue="ticks",state="delayed"}')).toBe(1);
    const success = figureOf(body, 'storeferry_job_last_success_timestamp_seconds{job="nightly"}') ?? 0;
    expect(success).toBeGreaterThan(begunAt / 1_000 - 1);
    expect(success).toBeLessThanOrEqual(Date.now() / 1_000);
    expect(figureOf(body, 'storeferry_job_next_run_timestamp_seconds{job="nightly"}')).toBeGreaterThan(
      success,
    );
    expect(body).not.toContain(store.apiKey);
    expect(body.split('\n').filter((line) => line.startsWith('# TYPE')).length).toBe(
      new Set(body.match(/^# TYPE \S+/gm)).size,
    );

    expect(await get(`${url}/anything`)).toMatchObject({ status: 404 });
    expect(await get(`${url}/metrics`, 'POST')).toMatchObject({ status: 405 });
    await redis.kill();
    expect(await get(`${url}/healthz`)).toMatchObject({ status: 503, body: 'Redis cannot be reached\n' });
    await redis.restart();
    await until(async () => (await get(`${url}/healthz`)).status === 200);
    worker.process.kill('SIGTERM');
    expect((await worker.ended).code).toBe(0);
  });

  it.concurrent('says what is wrong with its address, and listens on nothing unless asked', async () => {
    await using shop = await openShop({ products: 1 });
    const { worker, url } = await listeningWorker(shop);
    const taken = await shop.workspace.storeferry('worker', '--listen', new URL(url).port);
    expect(taken.code).toBe(2);
    expect(taken.stderr).toContain('the port is in use');
    const wrong = await shop.workspace.storeferry('worker', '--listen', 'everywhere');
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain("found 'everywhere'");
    const silent = await shop.worker();
    expect(silent.stderr()).not.toContain('listening');
    expect(worker.stderr()).not.toContain('readable for everyone who reaches');
  });
});

describeWithRedis('the log of a worker', () => {
  it.concurrent('logs every request with its ids, and no secret in any form', async () => {
    await using webhook = await startWebhook(
      { status: 500 },
      { status: 500 },
      { status: 500 },
      { status: 500 },
    );
    await using shop = await openShop({
      products: 20,
      redis: { password: 'pass-of-redis~1' },
      job: { notify: `{ url: "${webhook.url}", on: [done] }` },
      env: { LOG_LEVEL: 'debug' },
    });
    const { store, workspace } = shop;
    store.misbehave({ does: errorAnswer(503, `Busy for ${store.apiKey}`), times: 1 });
    const worker = await shop.worker();
    const followed = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    await until(() => worker.stderr().includes('the notification of its end could not be sent'));
    worker.process.kill('SIGTERM');
    await worker.ended;
    const lines = logLines(worker);
    const requests = lines.filter(({ requestId }) => requestId !== undefined);
    expect(requests).toHaveLength(21);
    expect(new Set(requests.map(({ requestId }) => requestId)).size).toBe(20);
    const failed = requests.find(({ msg }) => msg === 'request failed');
    expect(failed).toMatchObject({
      level: 30,
      store: 'main',
      run: followed.json()['run'],
      method: 'POST',
      status: 503,
      attempt: 1,
    });
    expect(requests.filter(({ level }) => level === 20)).toHaveLength(20);
    const secrets = [store.apiKey, 'pass-of-redis~1', ...WEBHOOK_SECRETS];
    for (const secret of secrets) {
      for (const form of [
        secret,
        encodeURIComponent(secret),
        Buffer.from(secret).toString('base64').slice(0, -4),
      ]) {
        expect(worker.stderr()).not.toContain(form);
      }
    }
  });

  it.concurrent('is as quiet as LOG_LEVEL says', async () => {
    await using shop = await openShop({ products: 1, env: { LOG_LEVEL: 'error' } });
    const worker = shop.workspace.start('worker', '--listen', '0');
    await shop.workspace.storeferry('enqueue', 'nightly', '--follow');
    worker.process.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0, stderr: '' });
  });
});

describeWithRedis('a worker whose stores.yaml gains a store', () => {
  it.concurrent('serves it without a restart', async () => {
    await using shop = await openShop({ products: 5 });
    const { store, workspace } = shop;
    await shop.worker();
    const entry = (name: string) => `${name}:\n  baseUrl: ${store.baseUrl}\n  apiKey: \${STORE_API_KEY}\n`;
    await workspace.write('stores.yaml', `${entry('main')}${entry('second')}`);
    await workspace.write(
      'jobs/other.yaml',
      'import: products\nstore: second\nsource: { path: catalog.csv }\nmapping: shopify-products\n',
    );
    const followed = await workspace.storeferry('enqueue', 'other', '--follow', '--json');
    expect(followed.json()).toMatchObject({ status: 'done', applied: 5 });
  });
});

describeWithRedis('a job whose process was killed', () => {
  it.concurrent('is refused with the time until it is free', async () => {
    await using shop = await openShop({ products: 300, store: { latencyMs: 30 } });
    const { store, workspace } = shop;
    const killed = workspace.start('run', 'nightly');
    await until(() => store.requests.length > 10);
    killed.process.kill('SIGKILL');
    await killed.ended;
    const { code, stderr } = await workspace.storeferry('run', 'nightly');
    expect(code).toBe(1);
    expect(stderr).toContain('If its process has died, the job is free in at most 15 s.');
  });
});

describeWithRedis('storeferry runs', () => {
  it.concurrent('shows when jobs run next, and whether anybody is there to run them', async () => {
    await using shop = await openShop({ products: 1, job: { schedule: '{ cron: "30 3 1 1 *" }' } });
    const { workspace } = shop;
    await workspace.write('jobs/broken.yaml', 'import: [');
    const unseen = await workspace.storeferry('runs');
    expect(unseen.code).toBe(0);
    expect(unseen.stdout).toMatch(/nightly +30 3 1 1 \* UTC +once a worker has read the schedule +never/);
    expect(unseen.stdout).toMatch(/broken +broken file/);
    expect(unseen.stdout).toContain('no worker is running. Start one: storeferry -C');
    await shop.worker();
    await workspace.storeferry('enqueue', 'nightly', '--follow');
    const seen = await workspace.storeferry('runs', '--job', 'nightly');
    expect(seen.stdout).toMatch(
      /nightly +30 3 1 1 \* UTC +\w+ 1 Jan 03:30 UTC \(in .*\) +just now +done: 1 applied/,
    );
    expect(seen.stdout).not.toContain('start a worker');
    expect(seen.stdout).not.toContain('broken');
  });
});
