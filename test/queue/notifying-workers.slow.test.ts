import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { enqueueRun, openQueues } from '../../src/queue/queues.ts';
import { aList } from '../support/exports.ts';
import { describeWithRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { startWebhook } from '../support/webhook.ts';
import { openShop } from './workers-setup.ts';

describeWithRedis('workers', () => {
  it.concurrent('notify once of the end of a run, and of a job that cannot begin', async () => {
    await using webhook = await startWebhook();
    await using shop = await openShop({
      products: 600,
      store: { latencyMs: { min: 5, max: 10 } },
      job: { notify: `{ url: "${webhook.url}", on: [done, failed] }` },
    });
    const { workspace, store } = shop;
    const workers = await Promise.all([shop.worker(), shop.worker()]);
    const following = workspace.start('enqueue', 'nightly', '--follow', '--json');
    await until(() => store.requests.length > 100);
    workers[0]?.process.kill('SIGTERM');
    const summary = (await following.ended).json();
    expect(webhook.calls.map(({ body }) => body['summary'])).toEqual([summary]);

    await workspace.write('stores.yaml', `main:\n  baseUrl: ${store.baseUrl}\n  apiKey: \${NOWHERE_SET}\n`);
    await using queues = await openQueues({ redisUrl: shop.redis.url, patient: false, onError: () => {} });
    await enqueueRun(queues, { does: 'run', job: 'nightly' }, 'k3v9', { get: async () => undefined });
    await until(() => webhook.calls.length > 1);
    expect(webhook.calls[1]?.body).toMatchObject({ end: 'failed', summary: null });
    expect(webhook.calls[1]?.body['text']).toContain('NOWHERE_SET');
  });
});

describeWithRedis('a worker that takes over', () => {
  it.concurrent('a run that had ended does not run it again, and notifies of it once', async () => {
    await using webhook = await startWebhook();
    await using shop = await openShop({
      products: 3,
      job: { notify: `{ url: "${webhook.url}", on: [done] }` },
    });
    const { store, workspace } = shop;
    await shop.worker();
    const { run } = (await workspace.storeferry('enqueue', 'nightly', '--follow', '--json')).json();
    store.forget();
    await using queues = await openQueues({ redisUrl: shop.redis.url, patient: false, onError: () => {} });
    await until(() => webhook.calls.length === 1);
    const again = await queues.runs.add('nightly', {
      action: { does: 'run', job: 'nightly', resend: true },
      run: String(run),
    });
    await until(() => again.isCompleted());
    expect(webhook.calls).toHaveLength(1);
    expect(store.requests).toHaveLength(0);
  });

  it.concurrent('an export whose worker was killed writes the file whole', async () => {
    await using shop = await openShop({ products: 1, store: { latencyMs: 1_000 }, shortLeases: true });
    const { store, workspace } = shop;
    await workspace.write(
      'jobs/lists.yaml',
      'export: subscriber-lists\nstore: main\ndestination: { path: lists.csv }\n',
    );
    const killed = await shop.worker();
    const following = workspace.start('enqueue', 'lists', '--follow', '--json');
    await until(() => store.requests.length === 1);
    killed.process.kill('SIGKILL');
    await shop.worker();
    const ended = await following.ended;
    expect(ended.code).toBe(0);
    expect(ended.json()).toMatchObject({ job: 'lists', status: 'done' });
    expect(existsSync(join(workspace.dir, 'lists.csv'))).toBe(true);
  });

  it.concurrent('an export whose worker was only held up is the only one to write and to notify', async () => {
    await using webhook = await startWebhook();
    await using shop = await openShop({ products: 1, store: { latencyMs: 1_000 }, shortLeases: true });
    const { store, workspace } = shop;
    store.shop.lists.push(aList(1, 'News'));
    await workspace.write(
      'jobs/lists.yaml',
      `export: subscriber-lists\nstore: main\ndestination: { path: lists.csv, mode: append }\nnotify: { url: "${webhook.url}", on: [done, failed] }\n`,
    );
    const held = await shop.worker();
    const following = workspace.start('enqueue', 'lists', '--follow', '--json');
    await until(() => store.requests.length === 1);
    held.process.kill('SIGSTOP');
    await shop.worker();
    const summary = (await following.ended).json();
    expect(summary).toMatchObject({ job: 'lists', status: 'done', rows: 1 });
    held.process.kill('SIGCONT');
    await held.printed('"run waits"');
    held.process.kill('SIGTERM');
    await held.ended;
    expect((await readFile(join(workspace.dir, 'lists.csv'), 'utf8')).trimEnd().split('\n')).toHaveLength(2);
    expect(webhook.calls.map(({ body }) => body['summary'])).toEqual([summary]);
  });
});
