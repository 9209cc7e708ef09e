import { request } from 'node:http';
import { describe, expect, it } from 'vitest';
import { setupNightly } from '../../support/nightly.ts';
import type { HttpClient } from './http-client.ts';
import { serveDashboard } from './running-dashboard.ts';

/** The first bytes of a stream that goes on. */
async function beginningOf(client: HttpClient, path: string): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(client.origin);
  return await new Promise((resolve, reject) => {
    const headers = { accept: 'text/event-stream', cookie: client.cookie ?? '' };
    const outgoing = request({ hostname, port, path, headers, agent: false }, (incoming) => {
      incoming.once('data', (chunk) => {
        resolve({ status: incoming.statusCode ?? 0, text: String(chunk) });
        outgoing.destroy();
      });
    });
    outgoing.once('error', reject);
    outgoing.end();
  });
}

describe('who may only look', () => {
  it('ends no session of those who may act, however often it signs in', async () => {
    await using nightly = await setupNightly(1);
    const dashboard = await serveDashboard(nightly.workspace);
    const full = await dashboard.signedIn('full');
    const statuses = new Set<number>();
    for (let time = 0; time < 205; time += 1) {
      const { status } = await dashboard.client().post('/sign-in', { token: dashboard.tokens.readOnly });
      statuses.add(status);
    }
    expect([...statuses]).toEqual([303]);
    expect((await full.get('/')).status).toBe(200);
    expect((await full.get('/jobs/nightly/run')).status).toBe(200);
  });

  it('locks out nobody at the same address, however much it asks for', async () => {
    await using nightly = await setupNightly(1);
    const dashboard = await serveDashboard(nightly.workspace);
    const full = await dashboard.signedIn('full');
    const looking = await dashboard.signedIn('readOnly');
    const askUntilRefused = async (client: HttpClient) => {
      for (let time = 0; time < 2_000; time += 1) {
        if ((await client.get('/healthz')).status === 429) return true;
      }
      return false;
    };
    expect(await askUntilRefused(looking)).toBe(true);
    expect((await looking.get('/')).status).toBe(429);
    expect((await full.get('/')).status).toBe(200);
    expect(await askUntilRefused(dashboard.client())).toBe(true);
    const signIn = await dashboard.client().post('/sign-in', { token: dashboard.tokens.full });
    expect(signIn.status).toBe(303);
    expect((await full.get('/')).status).toBe(200);
  });

  it('opens no stream by asking for headers alone', async () => {
    await using nightly = await setupNightly(1);
    await nightly.workspace.storeferry('run', 'nightly');
    const dashboard = await serveDashboard(nightly.workspace);
    const looking = await dashboard.signedIn('readOnly');
    const [run = ''] = /(?<=href="\/runs\/)\w+/.exec((await looking.get('/runs')).body) ?? [];
    const path = `/runs/${run}/events`;
    for (let time = 0; time < 25; time += 1) {
      expect((await looking.send('HEAD', path)).status).toBe(404);
    }
    const stream = await beginningOf(looking, path);
    expect(stream.status).toBe(200);
    expect(stream.text).toContain('retry:');
  });
});

describe('attempts to sign in behind a proxy', () => {
  const host = 'shop.example';
  const attempt = async (client: HttpClient, token: string, forwarded: string) => {
    const headers = { host, origin: `https://${host}`, 'x-forwarded-for': forwarded };
    return (await client.post('/sign-in', { token }, headers)).status;
  };

  it.each(['203.0.113.9', '10.1.2.3', '127.0.0.1'])(
    'are limited by the address that the proxy names, %s, whatever its client has written before that',
    async (address) => {
      await using nightly = await setupNightly(1);
      const proxy = ['--url', `https://${host}/`, '--proxy', '10.9.0.0/16,127.0.0.1'];
      const dashboard = await serveDashboard(nightly.workspace, ...proxy);
      const statuses: number[] = [];
      for (let time = 0; time < 11; time += 1) {
        statuses.push(await attempt(dashboard.local(), `full-${time}`, `198.51.100.${time}, ${address}`));
      }
      expect(statuses).toEqual([...Array(10).fill(401), 429]);
      expect(await attempt(dashboard.local(), dashboard.tokens.full, '198.51.100.7')).toBe(303);
    },
  );

  it.each([[], ['--proxy', '10.0.0.0/8,::1']])(
    'are limited by the address of the connection unless the proxy is named: %s',
    async (...proxy) => {
      await using nightly = await setupNightly(1);
      const dashboard = await serveDashboard(nightly.workspace, '--url', `https://${host}/`, ...proxy);
      const statuses: number[] = [];
      for (let time = 0; time < 11; time += 1) {
        statuses.push(await attempt(dashboard.local(), `full-${time}`, `198.51.100.${time}`));
      }
      expect(statuses).toEqual([...Array(10).fill(401), 429]);
      expect(await attempt(dashboard.local(), dashboard.tokens.full, '198.51.100.99')).toBe(303);
      const { audit } = (await nightly.workspace.storeferry('runs', '--audit', '--json')).json();
      expect(JSON.stringify(audit)).not.toContain('198.51.100');
      const isNoted = dashboard.command.stderr().includes('Name the proxy: ');
      expect(isNoted).toBe(proxy.length === 0);
    },
  );

  it.each(['proxy.example', '10.0.0.0/33', '10.0.0.0/', '::1/129', '1.2.3.4/8/8', '', '1.2.3.4, '])(
    'need a proxy that is an address: %s',
    async (proxy) => {
      await using nightly = await setupNightly(1);
      const { code, stderr } = await nightly.workspace.storeferry('dashboard', '--proxy', proxy);
      expect([code, stderr]).toEqual([2, expect.stringContaining('--proxy: expected addresses or networks')]);
    },
  );

  it('are limited altogether, since an address is only what a header says', async () => {
    await using nightly = await setupNightly(1);
    const proxy = ['--url', `https://${host}/`, '--proxy', '127.0.0.0/8'];
    const dashboard = await serveDashboard(nightly.workspace, ...proxy);
    const statuses: number[] = [];
    for (let time = 0; time < 22; time += 1) {
      statuses.push(await attempt(dashboard.local(), `full-${time}`, `198.51.100.${time}`));
    }
    expect(statuses).toEqual([...Array(20).fill(401), 429, 429]);
    expect(await attempt(dashboard.local(), dashboard.tokens.full, '198.51.100.99')).toBe(303);
    expect(await attempt(dashboard.local(), dashboard.tokens.readOnly, '198.51.100.98')).toBe(303);
  });
});
