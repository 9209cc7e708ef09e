import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { freePort } from '../support/free-port.ts';
import { succeeds } from '../support/processes.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

describeWithRedis('one Redis with TLS of a private CA', () => {
  it.concurrent('is shared by workspaces with different prefixes, which see nothing of each other', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'storeferry-ca-'));
    const ca = join(folder, 'cert.pem');
    const key = join(folder, 'key.pem');
    const subject = ['-subj', '/CN=redis', '-addext', 'subjectAltName=IP:127.0.0.1'];
    const made = succeeds(
      'openssl',
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-keyout',
      key,
      '-out',
      ca,
      '-days',
      '2',
      ...subject,
    );
    expect(made).toBe(true);
    const port = await freePort();
    const settings = {
      'tls-port': String(port),
      'tls-cert-file': ca,
      'tls-key-file': key,
      'tls-auth-clients': 'no',
    };
    await using redis = await startRedis({ password: 'in the vault', settings });
    const REDIS_URL = `rediss://:in%20the%20vault@127.0.0.1:${port}`;
    const store = await startStore({ seed: 1 });
    const open = async (prefix: string, products: number, trusted = ca) =>
      await makeWorkspace(catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(products))), {
        ...{ STORE_API_KEY: store.apiKey, REDIS_URL, REDIS_PREFIX: prefix, REDIS_CA: trusted },
      });
    await using one = await open('shop', 7);
    await using other = await open('shop-2', 4);

    await using third = await open('third', 1, '');
    const untrusting = await third.storeferry('runs');
    expect(untrusting.stderr).toContain('has a certificate that is not trusted');
    expect(untrusting.stderr).toContain('REDIS_CA');

    // Both have the same job: each sends all of its own.
    const worker = one.start('worker');
    await worker.printed('"ready"');
    const queued = await one.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(queued.json()).toMatchObject({ status: 'done', applied: 7 });
    const idle = await other.storeferry('enqueue', 'nightly');
    expect(idle.stdout + idle.stderr).toMatch(/no worker/i);
    expect((await other.storeferry('runs', '--json')).json()).toMatchObject({ runs: [] });
    expect((await other.storeferry('run', 'nightly', '--json')).json()).toMatchObject({ new: 4, applied: 4 });
    expect((await one.storeferry('run', 'nightly', '--json')).json()).toMatchObject({
      unchanged: 7,
      applied: 0,
    });
    expect((await one.storeferry('check', '--online')).stdout).toContain('evicts nothing');
    const dashboard = await serveDashboard(other);
    const page = await (await dashboard.signedIn('full')).get('/queues/api/queues');
    expect(JSON.parse(page.body).queues).toContainEqual(
      expect.objectContaining({
        name: 'runs',
        counts: expect.objectContaining({ waiting: 1, completed: 0 }),
      }),
    );
    const ofOne = String(queued.json()['run']);
    expect((await (await dashboard.signedIn('full')).get(`/runs/${ofOne}`)).status).toBe(404);

    const client = new Redis({ port: redis.port, password: 'in the vault' });
    const keys = await client.keys('*');
    await client.quit();
    const shares = (begins: readonly string[]) =>
      keys.filter((name) => begins.some((begin) => name.startsWith(begin)));
    const [first, second] = [shares(['shop:', '{shop-queue}:']), shares(['shop-2:', '{shop-2-queue}:'])];
    expect(first.length).toBeGreaterThan(10);
    expect(second.length).toBeGreaterThan(10);
    expect(keys.length).toBe(first.length + second.length);
    await store.close();
    await rm(folder, { recursive: true });
  });
});
