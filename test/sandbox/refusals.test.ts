import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { startSandbox } from '../../src/sandbox/start-sandbox.ts';
import { API_KEY, setup } from './setup.ts';

const addresses = [
  '/api/site/orders',
  '/_sandbox/products',
  '/_sandbox/contacts',
  '/_sandbox/requests',
  '/nowhere',
];
const wrongKeys = [
  ['none', ''],
  ['another key', 'Bearer wrong'],
  ['the key and more', `Bearer ${API_KEY}x`],
  ['the start of the key', `Bearer ${API_KEY.slice(0, -1)}`],
  ['another scheme', `Basic ${API_KEY}`],
  ['no scheme', API_KEY],
];

describe('authentication', () => {
  it.each(wrongKeys)('refuses a request with %s everywhere', async (_name, authorization) => {
    await using store = await setup();
    for (const address of addresses) {
      const { status, headers, body } = await store.send('GET', address, undefined, { authorization });
      expect([address, status, body.success]).toEqual([address, 401, false]);
      expect(headers.get('www-authenticate')).toBe('Bearer');
      expect(JSON.stringify(body)).not.toContain(API_KEY);
    }
  });

  it('changes nothing without the key', async () => {
    await using store = await setup();
    const path = '/api/site/products?update_existing_product_by_url=true';
    await store.send('POST', path, { title: 'A', url: 'a' }, { authorization: 'Bearer wrong' });
    expect(await store.list('/_sandbox/products')).toEqual([]);
  });

  it('refuses to start without a key', async () => {
    await expect(startSandbox({ port: 0, apiKey: '' })).rejects.toThrow(/API key/);
    await expect(startSandbox({ port: 0, apiKey: 'two words' })).rejects.toThrow(/API key/);
  });

  it('listens on loopback only by default', async () => {
    await using store = await setup();
    expect(new URL(store.url).hostname).toBe('127.0.0.1');
  });
});

describe('refusals', () => {
  it('answers an address that leads nowhere with 404, whatever the body', async () => {
    await using store = await setup();
    for (const path of [
      '/',
      '/api',
      '/api/site/contacts',
      '/api/site/products/1/x',
      '/api/site/%zz',
      '/API/site/orders',
    ]) {
      expect(await store.send('POST', path, '{broken')).toMatchObject({
        status: 404,
        body: { success: false },
      });
    }
  });

  it.each([
    ['GET', '/api/site/products', 'POST'],
    ['PUT', '/api/site/products/1', 'DELETE'],
    ['GET', '/api/site/contacts/1001', 'PUT'],
    ['OPTIONS', '/api/site/orders', 'GET, HEAD'],
    ['DELETE', '/_sandbox/products', 'GET, HEAD'],
  ])('answers %s %s with 405 and the methods there are', async (method, path, allowed) => {
    await using store = await setup();
    const { status, headers, body } = await store.send(method, path);
    expect([status, headers.get('allow'), body.success]).toEqual([405, allowed, false]);
  });

  it.each([
    ['malformed JSON', 400, '{"title":', {}],
    ['a byte order mark', 201, '\ufeff{"title":"A"}', {}],
    ['a key that would change prototypes', 400, '{"title":"A","__proto__":{"x":1}}', {}],
    ['a form', 415, 'title=A', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['plain text', 415, '{"title":"A"}', { 'content-type': 'text/plain' }],
    ['no body', 422, '', {}],
  ])('answers %s with %i', async (_name, status, sent, headers) => {
    await using store = await setup();
    const answer = await store.send('POST', '/api/site/products', sent, headers);
    expect([answer.status, answer.body.success]).toEqual([status, status === 201 ? undefined : false]);
  });

  it('takes a body of several megabytes and refuses one over 8 MiB with 413', async () => {
    await using store = await setup();
    const large = await store.upsert({ title: 'A', url: 'a', description: 'x'.repeat(4_000_000) });
    expect(large.status).toBe(201);
    const tooLarge = await store.upsert({ title: 'B', url: 'b', description: 'x'.repeat(8 * 1024 * 1024) });
    expect([tooLarge.status, tooLarge.body.success]).toEqual([413, false]);
    expect(tooLarge.body.message).toContain('8388608');
  });

  it('answers what is no HTTP request with the error body, too', async () => {
    await using store = await setup();
    const answer = await sendBytes(store.url, 'HELLO\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('{"success":false,"message":');
  });

  it('asks for a User-Agent under /api/', async () => {
    await using store = await setup();
    const head = `Host: x\r\nAuthorization: Bearer ${API_KEY}\r\nConnection: close\r\n`;
    const without = await sendBytes(store.url, `GET /api/site/orders HTTP/1.1\r\n${head}\r\n`);
    expect(without).toMatch(/^HTTP\/1\.1 400 [\s\S]*User-Agent/);
    const named = await sendBytes(
      store.url,
      `GET /api/site/orders HTTP/1.1\r\n${head}User-Agent: a/1\r\n\r\n`,
    );
    expect(named).toMatch(/^HTTP\/1\.1 200 /);
  });
});

async function sendBytes(url: string, bytes: string): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.write(bytes);
  return text(socket);
}
