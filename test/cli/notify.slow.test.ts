import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { startMailServer } from '../support/mail-server.ts';
import { errorAnswer, unauthorized } from '../support/store/faults.ts';
import { startStore } from '../support/store.ts';
import { until } from '../support/until.ts';
import { startWebhook, WEBHOOK_SECRETS, type WebhookAnswer } from '../support/webhook.ts';
import { makeWorkspace } from '../support/workspace.ts';

interface SetupOptions {
  readonly on?: string;
  readonly answers?: readonly WebhookAnswer[];
  readonly url?: string;
}

/** A store, a webhook and a workspace whose job notifies it of the ends of runs. */
async function setup({ on = '', answers = [], url }: SetupOptions = {}) {
  const [store, webhook] = await Promise.all([startStore({ seed: 1 }), startWebhook(...answers)]);
  const files = catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(10)), {
    notify: `{ url: "\${OPS_WEBHOOK:}"${on === '' ? '' : `, on: ${on}`} }`,
    safety: '{ maxRejects: off }',
  });
  const env = { STORE_API_KEY: store.apiKey, OPS_WEBHOOK: url ?? webhook.url };
  const workspace = await makeWorkspace(files, env);
  const printed = () => webhook.calls.map(({ body: { end, summary } }) => ({ end, summary }));
  return {
    store,
    webhook,
    workspace,
    printed,
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await Promise.all([webhook[Symbol.asyncDispose](), store.close()]);
    },
  };
}

it.concurrent('a run with rejects is notified with its --json object; plans and what is not asked for are not', async () => {
  await using shop = await setup();
  const { store, workspace, webhook } = shop;
  store.misbehave({ does: errorAnswer(422, 'Too dear'), keys: ['product-3'] });
  await workspace.storeferry('plan', 'nightly');
  expect(webhook.calls).toHaveLength(0);
  const result = await workspace.storeferry('run', 'nightly', '--json');
  expect(result.code).toBe(3);
  expect(shop.printed()).toEqual([{ end: 'rejects', summary: result.json() }]);
  expect(webhook.calls[0]?.body['text']).toMatch(
    /^nightly: done, with rejects.*9 applied, 1 rejected.*\n1 row: .*\nRejects file: \S+rejects\.csv\n.*storeferry retry /,
  );

  store.behave();
  expect((await workspace.storeferry('retry', String(result.json()['run']))).code).toBe(0);
  expect(webhook.calls).toHaveLength(1);
});

it.concurrent('every way of ending is notified when the job asks for all: done, stopped, approved, failed', async () => {
  await using shop = await setup({ on: '[failed, stopped, rejects, done]' });
  const { store, workspace } = shop;
  await workspace.storeferry('run', 'nightly');
  await workspace.write('catalog.csv', shopifyCatalog(manyProducts(2)));
  const stopped = await workspace.storeferry('run', 'nightly', '--json');
  expect(stopped.code).toBe(4);
  expect((await workspace.storeferry('approve', String(stopped.json()['run']))).code).toBe(0);
  await workspace.write('catalog.csv', shopifyCatalog(manyProducts(4, 20)));
  store.misbehave({ does: unauthorized });
  expect((await workspace.storeferry('run', 'nightly')).code).toBe(1);
  expect(shop.printed().map(({ end }) => end)).toEqual(['done', 'stopped', 'done', 'failed']);
});

it.concurrent('a receiver that fails changes no exit code, and is one line without its secrets', async () => {
  const always = Array.from({ length: 9 }, () => ({ status: 500 }));
  await using shop = await setup({ on: '[done]', answers: always });
  const { code, stdout, stderr } = await shop.workspace.storeferry('run', 'nightly');
  expect(code).toBe(0);
  expect(shop.webhook.calls).toHaveLength(4);
  const warnings = stderr.split('\n').filter((line) => line.includes('Warning'));
  expect(warnings).toEqual([
    expect.stringMatching(/^Warning: 127\.0\.0\.1:\d+ could not be notified .*it answered 500\.$/),
  ]);
  for (const secret of WEBHOOK_SECRETS) expect(stdout + stderr).not.toContain(secret);
});

it.concurrent('a message that nobody took is delivered once, after its process died', async () => {
  await using shop = await setup({ on: '[done, failed]', answers: ['hang'] });
  const { workspace, webhook } = shop;
  const killed = workspace.start('run', 'nightly');
  await until(() => webhook.calls.length === 1);
  killed.process.kill('SIGKILL');
  await killed.ended;
  expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
  const ids = webhook.calls.map(({ headers }) => headers['idempotency-key']);
  expect(ids).toEqual([ids[0], ids[0], expect.stringContaining('-done-')]);
  expect(new Set(ids).size).toBe(2);
});

it.concurrent('mail goes out with the report, also when its server was away, and recovery after an alarm only', async () => {
  await using shop = await setup();
  const { store, workspace } = shop;
  const mail = await startMailServer();
  const { url } = mail;
  await mail[Symbol.asyncDispose]();
  const notify = `[{ email: ops@shop.example, server: "\${SMTP_URL}", from: sf@shop.example, when: change, on: [failed, done] }]`;
  const files = catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(3)), { notify });
  for (const [name, content] of Object.entries(files)) await workspace.write(name, content);
  await workspace.write('.env', `SMTP_URL=${url}\n`);
  expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
  await workspace.write('catalog.csv', shopifyCatalog(manyProducts(4)));
  store.misbehave({ does: unauthorized });
  const away = await workspace.storeferry('run', 'nightly');
  expect(away.stderr).toMatch(/could not be notified.*no connection/);
  store.behave();
  await using back = await startMailServer(Number(new URL(url).port));
  expect((await workspace.storeferry('run', 'nightly')).code).toBe(0);
  const [alarm, recovery] = back.mails;
  expect(back.mails).toHaveLength(2);
  expect(alarm?.to).toEqual(['ops@shop.example']);
  expect(alarm?.content).toMatch(/Subject: nightly: failed[\s\S]*filename=report\.html/);
  expect(recovery?.content).toContain('Subject: nightly: recovered, done');
});

it.concurrent('an empty address sends nothing', async () => {
  await using shop = await setup({ on: '[done]', url: '' });
  const { code, stderr } = await shop.workspace.storeferry('run', 'nightly');
  expect(code).toBe(0);
  expect(stderr).not.toContain('Warning');
  expect(shop.webhook.calls).toHaveLength(0);
});
