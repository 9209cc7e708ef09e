import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openShop } from '../../queue/workers-setup.ts';
import { describeWithRedis } from '../../support/redis.ts';
import { endOf } from './end-of.ts';
import { serveDashboard } from './running-dashboard.ts';

describeWithRedis('over Redis', () => {
  it('runs a job beside the dashboard while there is no worker, and hands it over once there is one', async () => {
    await using shop = await openShop({ products: 20 });
    const { store, workspace } = shop;
    const dashboard = await serveDashboard(workspace);
    const client = await dashboard.signedIn('full');
    const asked = await client.get('/jobs/nightly/run');
    expect(asked.words).toContain('It runs on the machine of the dashboard.');
    const begun = await client.submit(asked, '/jobs/nightly/run');
    const [run = ''] = /(?<=Run )\w+/.exec(begun.words) ?? [];
    expect(await endOf(client, `/runs/${run}`)).toContain('20');
    expect(store.requests).toHaveLength(20);

    const worker = await shop.worker();
    const again = await client.get('/jobs/nightly/run');
    expect(again.words).toContain('A worker executes it');
    const answer = await client.submit(again, '/jobs/nightly/run');
    const [second = ''] = /(?<=Run )\w+/.exec(answer.words) ?? [];
    expect(second).not.toBe(run);
    await endOf(client, `/runs/${second}`);
    expect(worker.stderr()).toContain(second);
    expect(store.requests).toHaveLength(20);
    expect(dashboard.command.stderr()).not.toContain('"level":50');
  });

  it('says of a queued run that it waits for a worker, and of one under way that a worker executes it', async () => {
    await using shop = await openShop({ products: 3_000, store: { latencyMs: 100 } });
    const { store, workspace } = shop;
    const dashboard = await serveDashboard(workspace);
    const client = await dashboard.signedIn('full');
    await workspace.storeferry('enqueue', 'nightly');
    for (const path of ['/', '/jobs/nightly', '/jobs/nightly/run']) {
      const page = await client.get(path);
      expect(page.words).toContain('Queued: it waits for a worker.');
      expect(page.document.querySelector('main form, main a[href$="/run"]')).toBeNull();
    }
    await shop.worker();
    while (store.requests.length < 5) await sleep(20);
    for (const path of ['/', '/jobs/nightly', '/jobs/nightly/plan']) {
      expect((await client.get(path)).words).toMatch(
        /Run \w+ is running, started .* and executed by a worker\./,
      );
    }
  });

  it('shows the queues after sign-in, read-only', async () => {
    await using shop = await openShop({ products: 1 });
    const dashboard = await serveDashboard(shop.workspace);
    for (const path of ['/queues', '/queues/api/queues', '/queues/static/favicon.ico']) {
      const stranger = await dashboard.client().get(path, { accept: '*/*' });
      expect(stranger.status).toBe(401);
      expect(stranger.body).not.toContain('shards');
    }
    for (const token of ['full', 'readOnly'] as const) {
      const looking = await dashboard.signedIn(token);
      for (const path of ['%2e%2e/', '..%2f', '%252e%252e/', '%2e%2e%5c', '%2e/', '%00', 'none.js']) {
        const answer = await looking.get(`/queues/static/${path}`);
        expect([path, answer.status]).toEqual([path, 404]);
      }
      const client = await dashboard.signedIn(token);
      const page = await client.get('/queues');
      expect(page.status).toBe(200);
      expect(page.body).not.toMatch(/(?:src|href)="(?:https?:)?\/\//);
      const policy = String(page.headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("script-src 'self';");
      const { queues } = JSON.parse((await client.get('/queues/api/queues')).body);
      expect(queues.map(({ name, readOnlyMode }: Record<string, unknown>) => [name, readOnlyMode])).toEqual([
        ['runs', true],
        ['ticks', true],
        ['shards-main', true],
      ]);
      for (const change of ['pause', 'empty', 'obliterate', 'retry/failed']) {
        const answer = await client.post(
          `/queues/api/queues/runs/${change}`,
          {},
          {
            'x-http-method-override': 'PUT',
          },
        );
        expect([403, 404]).toContain(answer.status);
        const put = await client.send('PUT', `/queues/api/queues/runs/${change}`, { origin: client.origin });
        expect(put.status).toBe(403);
      }
    }
    expect((await shop.workspace.storeferry('runs')).stdout).toContain('No runs yet');
  });

  it('says so, and shows no stack, while Redis is away', async () => {
    await using shop = await openShop({ products: 1, job: { schedule: '{ cron: "0 2 * * *" }' } });
    const dashboard = await serveDashboard(shop.workspace);
    const client = await dashboard.signedIn('full');
    await shop.redis.kill();
    // The jobs are asked of the queues as well, and those of Redis by another client.
    for (const answer of await Promise.all(['/', '/runs'].map((path) => client.get(path)))) {
      expect(answer.status).toBe(503);
      expect(answer.words).toContain(`Redis at 127.0.0.1:${shop.redis.port} cannot be reached`);
      expect(answer.body).not.toMatch(/\bat .*\.ts:\d/);
    }
    const ill = await dashboard.client().get('/healthz');
    expect([ill.status, ill.body]).toEqual([503, 'Redis cannot be reached\n']);
    await shop.redis.restart();
    await expect.poll(async () => (await dashboard.client().get('/healthz')).status).toBe(200);
    await expect.poll(async () => (await client.get('/runs')).status).toBe(200);
  });
});
