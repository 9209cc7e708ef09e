import { createServer } from 'node:http';
import { afterAll, describe, expect, it } from 'vitest';
import type { Profile } from '../../src/sandbox/start-sandbox.ts';
import { probeProperties } from '../../src/storefront/storefront.ts';
import { API_KEY, type Client, setup } from '../sandbox/setup.ts';
import { NO_TRACES, probe } from './probe-setup.ts';

const LEAST_DEATHS = 200;
let deaths = 0;

describe('a probe that dies', () => {
  afterAll(() => {
    console.log(`${deaths} deaths`);
    expect(deaths).toBeGreaterThanOrEqual(LEAST_DEATHS);
  });

  it.each<readonly [readonly Profile[]]>([
    [['extended', 'clears-lists']],
    [['extended']],
    [[]],
    [['replace-whole', 'flattens-variants']],
    [['extended', 'replace-whole', 'refuses-empty-put']],
  ])('at any of its requests leaves nothing after the next one, in the profile %j', async (profiles) => {
    await using store = await setup({ profiles });
    await store.send('PUT', '/api/site/contacts/1001', { tags: ['a', 'b'] });
    const contacts = await store.list('/_sandbox/contacts');
    const { probed: whole } = await probe(store, { contactId: '1001' });
    for (let count = 1; count < (whole?.requests ?? 0); count += 1) {
      for (const isAnswered of [true, false]) {
        const died = await dieAt(store, count, isAnswered);
        deaths += 1;
        const { probed, kept } = await probe(store, { traces: died, contactId: '1001', unique: `n${count}` });
        expect([count, probed?.left, kept()]).toEqual([count, [], NO_TRACES]);
        expect([count, await store.list('/_sandbox/products')]).toEqual([count, []]);
        expect([count, await store.list('/_sandbox/contacts')]).toEqual([count, contacts]);
      }
    }
  });
});

/** The traces that a process leaves which dies before, or right after, its request of this number takes effect. */
async function dieAt(store: Client, count: number, isAnswered: boolean): Promise<readonly string[]> {
  let kept = NO_TRACES;
  let sent = 0;
  const died = Promise.withResolvers<never>();
  const line = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      sent += 1;
      if (sent > count || (sent === count && !isAnswered)) return died.reject(new Error('died'));
      const headers = new Headers();
      for (const name of ['authorization', 'user-agent', 'content-type']) {
        const value = request.headers[name];
        if (typeof value === 'string') headers.set(name, value);
      }
      const answer = await fetch(`${store.url}${request.url}`, {
        method: request.method ?? 'GET',
        headers,
        ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
      });
      const body = await answer.text();
      if (sent === count) return died.reject(new Error('died'));
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(body);
    });
  });
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve));
  const address = line.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const probing = probeProperties({
    baseUrl: `http://127.0.0.1:${port}`,
    apiKey: API_KEY,
    userAgent: 'storeferry/test',
    attemptMs: 10_000,
    signal: new AbortController().signal,
    contactId: '1001',
    traces: NO_TRACES,
    // What is kept after the death is not.
    keepTraces: async (traces) => {
      if (sent < count) kept = traces;
    },
    unique: `d${count}${isAnswered}`,
    wait: async () => {},
    now: () => 0,
  });
  await Promise.race([probing, died.promise]).catch(() => {});
  line.closeAllConnections();
  line.close();
  await probing.catch(() => {});
  return kept;
}
