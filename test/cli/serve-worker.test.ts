import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { serveWorker } from '../../src/cli/commands/worker-command.ts';

const WORKER = { health: async () => null, metrics: async () => '' };

function statusOf(url: string, path: string, host: string, method = 'GET'): Promise<number | undefined> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const outgoing = request(
      { hostname, port, path, method, headers: { host }, agent: false },
      (incoming) => {
        incoming.resume();
        resolve(incoming.statusCode);
      },
    );
    outgoing.once('error', reject);
    outgoing.end();
  });
}

describe('what a worker shows of itself', () => {
  it('is answered on loopback under names of this machine only', async () => {
    await using server = await serveWorker(WORKER, { host: '127.0.0.1', port: 0 });
    for (const path of ['/metrics', '/healthz']) {
      for (const host of ['localhost:9464', '127.0.0.1', '[::1]:9464'])
        expect(await statusOf(server.url, path, host)).toBe(200);
      for (const host of ['elsewhere.example', 'worker', '10.0.0.7', 'localhost.elsewhere.example', 'a b'])
        expect(await statusOf(server.url, path, host)).toBe(403);
    }
  });

  it('is no more where events are not received', async () => {
    await using server = await serveWorker(WORKER, { host: '127.0.0.1', port: 0 });
    const sent = await fetch(`${server.url}/events/orders?secret=x`, { method: 'POST' });
    expect(sent.status).toBe(405);
  });

  it('is answered on a network under its addresses and the names that a network keeps for itself', async () => {
    await using server = await serveWorker(WORKER, { host: '0.0.0.0', port: 0 });
    const url = server.url.replace('0.0.0.0', '127.0.0.1');
    for (const host of ['worker:9464', '10.0.0.7', 'worker-1.shop.svc.cluster.local', 'node.internal:9464'])
      expect(await statusOf(url, '/metrics', host)).toBe(200);
    for (const host of ['elsewhere.example', 'local.elsewhere.example', 'x.localx', 'a..local'])
      expect(await statusOf(url, '/metrics', host)).toBe(403);
  });
});

describe('an event of a store', () => {
  const SECRET = 'a-secret-of-some-length';
  it('runs an export for those who know the secret', async () => {
    const accepted: string[] = [];
    const accept = (job: string) => job === 'orders' && accepted.push(job) > 0;
    await using server = await serveWorker(
      WORKER,
      { host: '127.0.0.1', port: 0 },
      { secret: SECRET, accept },
    );
    const post = async (path: string, { authorization = '', body = '{}' } = {}) =>
      (await fetch(server.url + path, { method: 'POST', headers: { authorization }, body })).status;
    expect(await post(`/events/orders?secret=${SECRET}`)).toBe(202);
    expect(await post('/events/orders', { authorization: `Bearer ${SECRET}` })).toBe(202);
    expect(accepted).toEqual(['orders', 'orders']);
    for (const path of ['/events/orders', '/events/orders?secret=', `/events/orders?secret=${SECRET}x`])
      expect(await post(path), path).toBe(401);
    // A wrong token counts, whatever the address says.
    expect(await post(`/events/orders?secret=${SECRET}`, { authorization: 'Bearer x' })).toBe(401);
    expect(await post(`/events/catalog?secret=${SECRET}`)).toBe(404);
    expect(await post(`/metrics?secret=${SECRET}`)).toBe(405);
    expect(await post(`/events/orders?secret=${SECRET}`, { body: 'x'.repeat(1_100_000) })).toBe(413);
    expect(await statusOf(server.url, '/events/orders', 'elsewhere.example')).toBe(403);
    expect(accepted).toHaveLength(2);
    // A proxy may pass on the name by which the store has called it.
    const throughProxy = (secret: string) =>
      statusOf(server.url, `/events/orders?secret=${secret}`, 'hooks.shop.example', 'POST');
    expect([await throughProxy(SECRET), await throughProxy('x')]).toEqual([202, 401]);
  });
});
