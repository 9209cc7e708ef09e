import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { openShop as openShared, resent } from '../../queue/workers-setup.ts';
import { API_KEY, setup } from '../../sandbox/setup.ts';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../../support/catalog.ts';
import { describeWithRedis } from '../../support/redis.ts';
import { delay } from '../../support/store/faults.ts';
import { type StoreOptions, startStore } from '../../support/store.ts';
import { until } from '../../support/until.ts';
import { makeWorkspace, type Workspace } from '../../support/workspace.ts';
import { type ServedDashboard, serveDashboard } from './running-dashboard.ts';

/** A store and a workspace without Redis, with a catalog of so many products. */
async function openShop(products: number, options: StoreOptions = {}) {
  const store = await startStore({ seed: 1, ...options });
  const files = catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(products)));
  const workspace = await makeWorkspace(files, { STORE_API_KEY: store.apiKey });
  return {
    store,
    workspace,
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

async function makeToken(workspace: Workspace, name: string, ...options: readonly string[]): Promise<string> {
  const { json } = await workspace.storeferry('tokens', 'make', name, '--json', ...options);
  return String(json()['token']);
}

type Call = RequestInit & { readonly key?: string; readonly json?: unknown };

/** What a program does with a token. */
function program({ url }: Pick<ServedDashboard, 'url'>, token: string) {
  const send = async (path: string, { key, json, ...rest }: Call = {}) => {
    const answer = await fetch(new URL(`/api/v1${path}`, url), {
      ...rest,
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      headers: {
        authorization: `Bearer ${token}`,
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...rest.headers,
      },
    });
    const text = await answer.text();
    const isJson = /^application.(?:problem.)?json/.test(answer.headers.get('content-type') ?? '');
    return { status: answer.status, headers: answer.headers, text, body: isJson ? JSON.parse(text) : {} };
  };
  const post = (path: string, call: Call = {}) => send(path, { method: 'POST', ...call });
  return {
    send,
    post,
    async ended(run: string) {
      let answer = await send(`/runs/${run}`);
      const isOver = async () => {
        answer = await send(`/runs/${run}`);
        return !['queued', 'running', 'interrupted'].includes(answer.body.status);
      };
      await until(isOver, { everyMs: 50 });
      return answer.body;
    },
  };
}

it.concurrent('plans, approves, undoes and reads runs; a repeated request with its key starts one run, through kills', async () => {
  await using shop = await openShop(120, { latencyMs: 40 });
  const { workspace, store } = shop;
  const operator = await makeToken(workspace, 'ci', '--scope', 'operate');
  const approver = await makeToken(workspace, 'boss', '--scope', 'approve');
  let dashboard = await serveDashboard(workspace, '--worker');
  let ci = program(dashboard, operator);
  const planned = await ci.post('/jobs/nightly/plan', { key: 'plan-1', json: { sample: { limit: 100 } } });
  expect([planned.status, planned.headers.get('location')]).toEqual([
    202,
    `/api/v1/runs/${planned.body.run}`,
  ]);
  const plan = await ci.ended(planned.body.run);
  expect(plan).toMatchObject({ run: planned.body.run, status: 'planned', operations: 100, job: 'nightly' });
  expect((await ci.post(`/runs/${plan.run}/approve`, { key: 'a' })).status).toBe(403);
  expect(store.requests).toHaveLength(0);

  let boss = program(dashboard, approver);
  const approved = await boss.post(`/runs/${plan.run}/approve`, { key: 'approve-1' });
  expect(approved.status).toBe(202);
  await until(() => store.requests.length > 20);
  dashboard.command.process.kill('SIGKILL');
  await dashboard.command.ended;
  dashboard = await serveDashboard(workspace, '--worker');
  boss = program(dashboard, approver);
  ci = program(dashboard, operator);
  // The same key: neither approved twice nor refused.
  const again = await boss.post(`/runs/${plan.run}/approve`, { key: 'approve-1' });
  expect(again.status).toBe(202);
  expect(await boss.ended(approved.body.run)).toMatchObject({ run: plan.run, status: 'done', applied: 100 });
  expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });

  const [first, ...others] = await Promise.all(
    Array.from({ length: 5 }, () => ci.post('/jobs/nightly/run', { key: 'night', json: {} })),
  );
  expect(new Set([first, ...others].map((answer) => [answer?.status, answer?.body.run].join()))).toHaveLength(
    1,
  );
  const id = String(first?.body.run);
  expect(await ci.ended(id)).toMatchObject({ run: id, status: 'done', applied: 20, unchanged: 100 });
  expect((await ci.post('/jobs/nightly/run', { key: 'night' })).body).toMatchObject({
    run: id,
    status: 'done',
  });
  expect((await ci.post('/jobs/nightly/run', { key: 'night', json: { resend: true } })).status).toBe(422);
  // A key belongs to its token.
  const other = await boss.post('/jobs/nightly/run', { key: 'night' });
  expect([other.status, other.body.run === id]).toEqual([202, false]);
  await boss.ended(other.body.run);

  const records = await ci.send(`/runs/${id}/records?outcome=applied`);
  expect(
    records.text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).outcome),
  ).toEqual(Array.from({ length: 20 }, () => 'applied'));
  expect((await ci.send(`/runs/${id}/records?format=xlsx`)).text.slice(0, 2)).toBe('PK');
  expect((await ci.send(`/runs/${id}/artifacts`)).body).toEqual({ files: ['report.html'] });
  expect((await ci.send(`/runs/${id}/artifacts/report.html`)).text).toContain('<!doctype html>');
  expect((await ci.send(`/runs/${id}/events`)).text).toMatch(/^event: ended$/m);
  const undo = await ci.post(`/runs/${id}/undo`, { json: { only: ['product-119'] } });
  expect(await ci.ended(undo.body.run)).toMatchObject({ undoOf: id });
  expect((await ci.post(`/runs/${undo.body.run}/discard`)).body.status).toBe('superseded');

  const log = (await workspace.storeferry('runs', '--audit', '--json')).json()['audit'];
  const entries = (Array.isArray(log) ? log : []).filter(({ who }) => /^API token/.test(who));
  expect(entries.map(({ action }) => action).reverse()).toEqual([
    ...[
      'plan',
      'approve',
      'run',
      'run',
      'download-records',
      'download-records',
      'download-report',
      'undo',
      'discard',
    ],
  ]);
  expect(entries.at(-1)).toMatchObject({ who: 'API token ci from 127.0.0.1', run: plan.run });
});

it.concurrent('refuses what a token may not do, what has expired, and hostile requests', async () => {
  await using shop = await openShop(3);
  const { workspace } = shop;
  const dashboard = await serveDashboard(workspace);
  const viewer = program(dashboard, await makeToken(workspace, 'look'));
  const text = await makeToken(workspace, 'ci', '--scope', 'approve', '--days', '1');
  const ci = program(dashboard, text);
  // Accepted is what a worker will execute: there is none.
  const idle = await ci.post('/jobs/nightly/run', { key: 'k' });
  expect([idle.status, idle.body.detail]).toEqual([503, expect.stringContaining('--worker')]);
  expect((await workspace.storeferry('runs', '--json')).json()).toMatchObject({ runs: [], queued: [] });

  expect((await viewer.send('/runs')).body).toEqual({ runs: [] });
  for (const path of ['/jobs/nightly/run', '/jobs/nightly/plan', '/runs/abc/approve', '/runs/abc/cancel'])
    expect([path, (await viewer.post(path)).status]).toEqual([path, 403]);
  expect((await viewer.send('/jobs/nightly/export')).status).toBe(403);

  const json = (body: string) => ({ body, headers: { 'content-type': 'application/json' } });
  const hostile: readonly [number, string, Call][] = [
    [404, '/jobs/other/run', {}],
    [404, '/runs/..%2f..%2fetc/approve', {}],
    [404, '/runs/abc/approve', {}],
    [400, '/jobs/nightly/run', json('{"__proto__":{"resend":true}}')],
    [400, '/jobs/nightly/run', json('{"resend":')],
    [400, '/jobs/nightly/run', json('['.repeat(30_000))],
    [400, '/jobs/nightly/run', { json: { job: 'other' } }],
    [400, '/jobs/nightly/run', { json: { sample: { limit: -1 } } }],
    [400, '/jobs/nightly/run', { key: 'a key' }],
    [400, '/jobs/nightly/run', { key: 'k'.repeat(256) }],
    [400, '/jobs/nightly/run', { json: { by: ['somebody'] } }],
    [413, '/jobs/nightly/run', json(`"${'x'.repeat(70_000)}"`)],
    [415, '/jobs/nightly/run', { body: 'a,b', headers: { 'content-type': 'text/csv' } }],
    [415, '/runs/abc/cancel', { body: 'a,b', headers: { 'content-type': 'text/csv' } }],
    [
      415,
      '/jobs/nightly/run',
      { body: 'resend=1', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    ],
  ];
  for (const [status, path, call] of hostile) {
    const answer = await ci.post(path, call);
    expect([path, answer.status, answer.body.status]).toEqual([path, status, status]);
  }
  const rebound = await dashboard
    .local()
    .get('/api/v1/runs', { host: 'evil.example', authorization: `Bearer ${text}` });
  expect(rebound.status).toBe(421);
  const foreign = await dashboard
    .local()
    .get('http://evil.example/api/v1/runs', { authorization: `Bearer ${text}` });
  expect(foreign.status).toBe(404);

  // A session of a browser is no token, and a token is no session.
  const browser = await dashboard.signedIn('full');
  expect((await browser.get('/api/v1/runs')).status).toBe(401);
  expect((await browser.post('/api/v1/jobs/nightly/run', {})).status).toBe(401);
  expect(
    (await dashboard.client().get('/tokens', { authorization: `Bearer ${text}`, accept: '*/*' })).status,
  ).toBe(401);

  const made = await browser.submit(await browser.get('/tokens'), '/tokens', {
    name: 'page',
    scope: 'view',
    days: '7',
  });
  const shown = program(dashboard, made.document.querySelector('[role=status] code')?.textContent ?? '');
  expect((await shown.send('/runs')).status).toBe(200);
  expect((await browser.get('/tokens')).words).not.toMatch(/api-[\w-]{20}/);
  await browser.submit(made, '/tokens/revoke', { name: 'page' });
  expect((await shown.send('/runs')).status).toBe(401);
  expect((await (await dashboard.signedIn('readOnly')).get('/tokens')).status).toBe(403);

  const file = join(workspace.dir, '.storeferry/api-tokens.json');
  const stored = await readFile(file, 'utf8');
  expect(stored).not.toContain(text);
  await writeFile(file, stored.replaceAll(/"expiresAt": \d+/g, '"expiresAt": 1000'));
  expect((await ci.send('/runs')).status).toBe(401);
  for (let tries = 0; tries < 12; tries++) await program(dashboard, 'api-wrong').send('/runs');
  expect((await program(dashboard, 'api-wrong').send('/runs')).status).toBe(429);
  await writeFile(file, stored);
  expect((await ci.send('/runs')).status).toBe(200);
});

it.concurrent('keeps personal data from tokens that only view, and takes corrected rejects', async () => {
  await using shop = await openShop(0);
  const { workspace, store } = shop;
  await workspace.write('catalog.csv', shopifyCatalog(manyProducts(4)).replace(/,[\d.]+(?=,)/, ',none'));
  const dashboard = await serveDashboard(workspace, '--worker');
  const boss = program(dashboard, await makeToken(workspace, 'boss', '--scope', 'approve'));
  const viewer = program(dashboard, await makeToken(workspace, 'look'));
  const run = await boss.ended((await boss.post('/jobs/nightly/run')).body.run);
  expect(run).toMatchObject({ status: 'done-with-rejects', rejected: 1 });
  expect((await viewer.send(`/runs/${run.run}/artifacts/rejects.csv`)).status).toBe(403);
  const rejects = await boss.send(`/runs/${run.run}/artifacts/rejects.csv`);
  expect(rejects.text).toContain('none');
  const corrected = { body: rejects.text.replace('none', '10'), headers: { 'content-type': 'text/csv' } };
  expect(
    (await boss.post(`/runs/${run.run}/retry`, { body: 'a,b\n', headers: corrected.headers })).status,
  ).toBe(422);
  const retried = await Promise.all(
    Array.from({ length: 15 }, () => boss.post(`/runs/${run.run}/retry`, { key: 'fix', ...corrected })),
  );
  expect(retried.map(({ status }) => status)).toEqual(retried.map(() => 202));
  const other = { ...corrected, body: rejects.text.replace('none', '20') };
  expect((await boss.post(`/runs/${run.run}/retry`, { key: 'fix', ...other })).status).toBe(422);
  expect(await boss.ended(retried[0]?.body.run)).toMatchObject({
    status: 'done',
    applied: 1,
    retryOf: run.run,
  });
  expect(store.requests).toHaveLength(4);
});

it.concurrent('lets no token take all streams of progress, or fill the queue of a job', async () => {
  await using shop = await openShop(50, { latencyMs: 300 });
  const { workspace, store } = shop;
  const dashboard = await serveDashboard(workspace, '--worker');
  const text = await makeToken(workspace, 'ci', '--scope', 'operate');
  const other = await makeToken(workspace, 'other');
  const ci = program(dashboard, text);
  const { run } = (await ci.post('/jobs/nightly/run')).body;
  await until(() => store.requests.length > 0);
  const closing = new AbortController();
  const watch = async (token: string) =>
    (
      await fetch(new URL(`/api/v1/runs/${run}/events`, dashboard.url), {
        headers: { authorization: `Bearer ${token}` },
        signal: closing.signal,
      })
    ).status;
  const streams = await Promise.all(Array.from({ length: 25 }, () => watch(text)));
  expect(streams.filter((status) => status === 503)).toHaveLength(5);
  expect(await watch(other)).toBe(200);
  closing.abort();
  const plans = await Promise.all(Array.from({ length: 40 }, () => ci.post('/jobs/nightly/plan')));
  const refused = plans.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThan(10);
  expect(refused[0]?.headers.get('retry-after')).toBe('5');
});

it.concurrent('ends a queued run whose comparison works', async () => {
  await using store = await setup({ latencyMs: 400 });
  await using workspace = await makeWorkspace(
    catalogWorkspace(store.url, shopifyCatalog(manyProducts(60)), { drift: '100%' }),
    { STORE_API_KEY: API_KEY },
  );
  expect((await workspace.storeferry('probe', 'main')).code).toBe(0);
  const dashboard = await serveDashboard(workspace, '--worker');
  const ci = program(dashboard, await makeToken(workspace, 'ci', '--scope', 'operate'));
  await ci.ended((await ci.post('/jobs/nightly/run')).body.run);
  await workspace.write('catalog.csv', shopifyCatalog(manyProducts(61)));
  const { run } = (await ci.post('/jobs/nightly/run')).body;
  const compares = async () =>
    (await ci.send('/runs')).body.runs.some(
      ({ kind, status }: Record<string, unknown>) => kind === 'drift' && status === 'running',
    );
  await until(compares, { everyMs: 50 });
  const cancelled = await ci.post(`/runs/${run}/cancel`);
  expect([cancelled.status, cancelled.body.kind]).toEqual([200, 'drift']);
  await until(async () => (await ci.send(`/runs/${cancelled.body.run}`)).body.status === 'interrupted');
  expect(await store.list('/_sandbox/products')).toHaveLength(60);
});

it.concurrent('continues a run that it has asked to end a moment before', async () => {
  await using shop = await openShop(60);
  const { store, workspace } = shop;
  const dashboard = await serveDashboard(workspace, '--worker');
  const ci = program(dashboard, await makeToken(workspace, 'ci', '--scope', 'operate'));
  store.misbehave({ does: delay(1_000) });
  const first = await ci.post('/jobs/nightly/run');
  await until(() => store.requests.length > 0);
  expect((await ci.post(`/runs/${first.body.run}/cancel`)).status).toBe(200);
  const again = await ci.post('/jobs/nightly/run');
  expect([again.status, again.body.run === first.body.run]).toEqual([202, false]);
  await until(async () => (await ci.send(`/runs/${first.body.run}`)).body.status === 'interrupted');
  store.behave();
  expect(await ci.ended(again.body.run)).toMatchObject({ run: first.body.run, status: 'done', applied: 60 });
  expect(store.figures()).toMatchObject({ duplicates: 0, maxOverlap: 1 });
});

it.concurrent('describes itself as valid OpenAPI 3.1, and has every address that it describes', async () => {
  await using shop = await openShop(1);
  const dashboard = await serveDashboard(shop.workspace);
  const document = JSON.parse((await dashboard.client().get('/api/v1/openapi.json')).body);
  const { valid, errors } = await new Validator().validate(structuredClone(document));
  expect([valid, errors]).toEqual([true, undefined]);
  const ci = program(dashboard, await makeToken(shop.workspace, 'ci'));
  const operations = Object.entries<object>(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => [method.toUpperCase(), path] as const),
  );
  expect(operations.map((operation) => operation.join(' '))).toEqual(
    expect.arrayContaining(['POST /jobs/{job}/run', 'POST /runs/{run}/approve', 'GET /runs/{run}/events']),
  );
  for (const [method, path] of operations) {
    const { status, body } = await ci.send(path.replaceAll(/\{\w+\}/g, 'nothing'), { method });
    // Its own refusal, and not that of an unknown address.
    expect([method, path, status === 401, body.detail]).not.toEqual([method, path, true, expect.anything()]);
    expect(body.detail).not.toBe('The API has no such address.');
  }
  const answer = async (path: string, method = 'GET', by = ci) => {
    const { status, body } = await by.send(path, { method });
    return [status, body.detail];
  };
  const unknown = [404, 'The API has no such address.'];
  expect(await answer('/nothing')).toEqual(unknown);
  expect(await answer('/../v2/runs')).toEqual([404, expect.anything()]);
  expect(await answer('/jobs/nightly/run?x=1')).toEqual([405, 'This address takes POST.']);
  expect(await answer('/runs', 'DELETE')).toEqual([405, 'This address takes GET.']);
  const bare = async (path: string) => (await dashboard.client().get(path, { accept: '*/*' })).status;
  for (const path of ['/api/v1/nothing', '/api/v1/jobs/nightly/run', '/api/v2/runs'])
    expect(await bare(path)).toBe(401);
});

describeWithRedis('the API over Redis', () => {
  it('starts one run for repeated requests with one key, with two workers, through a kill', async () => {
    await using shop = await openShared({ products: 400, store: { latencyMs: 50 }, shortLeases: true });
    const { workspace, store } = shop;
    const workers = await Promise.all([shop.worker(), shop.worker()]);
    const dashboard = await serveDashboard(workspace);
    const ci = program(dashboard, await makeToken(workspace, 'ci', '--scope', 'operate'));
    const post = () => ci.post('/jobs/nightly/run', { key: 'night', json: {} });
    const answers = await Promise.all([post(), post(), post()]);
    const id = String(answers[0]?.body.run);
    expect(answers.map(({ status, body }) => [status, body.run])).toEqual(answers.map(() => [202, id]));
    await until(() => store.requests.length > 100);
    const begun = workers.find((worker) => worker.stderr().includes('"run begun"'));
    begun?.process.kill('SIGKILL');
    await begun?.ended;
    expect((await post()).body.run).toBe(id);
    expect((await ci.post('/jobs/nightly/run', { key: 'other' })).status).toBe(409);
    expect(await ci.ended(id)).toMatchObject({ run: id, status: 'done', applied: 400 });
    expect((await post()).body).toMatchObject({ run: id, status: 'done' });
    expect((await ci.send('/runs')).body.runs).toHaveLength(1);
    expect(resent(store)).toBeLessThan(100);
  });
});
