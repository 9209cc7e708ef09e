import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { serveWorker } from '../../src/cli/commands/worker-command.ts';

const WORKER = { health: async () => null, metrics: async () => '' };

function statusOf(url: string, path: string, host: string): Promise<number | undefined> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname, port, path, headers: { host }, agent: false }, (incoming) => {
      incoming.resume();
      resolve(incoming.statusCode);
    });
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

  it('is answered on a network under its addresses and the names that a network keeps for itself', async () => {
    await using server = await serveWorker(WORKER, { host: '0.0.0.0', port: 0 });
    const url = server.url.replace('0.0.0.0', '127.0.0.1');
    for (const host of ['worker:9464', '10.0.0.7', 'worker-1.shop.svc.cluster.local', 'node.internal:9464'])
      expect(await statusOf(url, '/metrics', host)).toBe(200);
    for (const host of ['elsewhere.example', 'local.elsewhere.example', 'x.localx', 'a..local'])
      expect(await statusOf(url, '/metrics', host)).toBe(403);
  });
});
