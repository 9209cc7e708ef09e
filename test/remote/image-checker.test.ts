import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { imageChecker } from '../../src/remote/image-checker.ts';
import { type FileServer, startFileServer } from '../support/file-server.ts';
import { freePort } from '../support/free-port.ts';

const IMAGE = { 'content-type': 'image/png', 'content-length': '10', etag: '"v1"' };
const signal = new AbortController().signal;

describe('looking at an image address', () => {
  let server: FileServer;

  beforeAll(async () => {
    server = await startFileServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const look = async (path: string, version: string | null = null) => {
    await using checker = imageChecker({ allowPrivateAddresses: true });
    return await checker.check(new URL(path, server.url).href, version, signal);
  };
  const answers = (path: string, status: number, headers: Record<string, string> = {}) =>
    server.answer(path, (_, response: ServerResponse) => void response.writeHead(status, headers).end());
  const methodsOf = (path: string) =>
    server.requests.filter((request) => request.path === path).map(({ method }) => method);

  it('asks with one HEAD for an image that is there, and keeps its version', async () => {
    answers('/good.png', 200, IMAGE);
    const verdict = await look('/good.png');
    expect(verdict).toEqual({ kind: 'good', version: '{"etag":"\\"v1\\"","lastModified":null}' });
    expect(methodsOf('/good.png')).toEqual(['HEAD']);
  });

  it('asks for a known version only whether it has changed', async () => {
    answers('/known.png', 304);
    expect(await look('/known.png', '{"etag":"\\"v1\\""}')).toEqual({
      kind: 'good',
      version: '{"etag":"\\"v1\\""}',
    });
    expect(server.requests.at(-1)?.headers['if-none-match']).toBe('"v1"');
  });

  it.each([405, 403, 501, 404])(
    'asks for one byte where the server answers a HEAD with %i',
    async (status) => {
      const path = `/head-${status}.png`;
      server.answer(path, ({ method, headers }, response) => {
        const isGet = method === 'GET' && headers.range === 'bytes=0-0';
        response.writeHead(isGet ? 206 : status, {
          'content-type': 'image/png',
          'content-range': 'bytes 0-0/900',
        });
        response.end(isGet ? 'x' : undefined);
      });
      expect(await look(path)).toMatchObject({ kind: 'good' });
      expect(methodsOf(path)).toEqual(['HEAD', 'GET']);
    },
  );

  it.each([
    ['not found', 404, {}, 'broken', 'not found (404)'],
    ['gone', 410, {}, 'broken', 'not found (410)'],
    ['a page', 200, { 'content-type': 'text/html; charset=utf-8' }, 'broken', 'is text/html'],
    ['empty', 200, { 'content-type': 'image/png', 'content-length': '0' }, 'broken', 'is empty'],
    [
      'huge',
      200,
      { 'content-type': 'image/png', 'content-length': '90000000' },
      'broken',
      'is larger than 50 MB',
    ],
    ['refused to programs', 403, {}, 'unknown', 'the server answers 403'],
    ['behind a login', 401, {}, 'unknown', 'the server answers 401'],
    ['failing', 500, {}, 'unknown', 'the server answers 500'],
    ['too many requests', 429, {}, 'busy', 'the server asks for fewer requests (429)'],
  ] as const)('judges what is %s', async (name, status, headers, kind, problem) => {
    const path = `/${name.replaceAll(' ', '-')}`;
    answers(path, status, headers);
    expect(await look(path)).toEqual({ kind, problem });
  });

  it('follows redirects, but not without end', async () => {
    answers('/moved.png', 302, { location: '/good.png' });
    answers('/loop.png', 302, { location: '/loop.png' });
    expect(await look('/moved.png')).toMatchObject({ kind: 'good' });
    expect(await look('/loop.png')).toMatchObject({ kind: 'broken', problem: 'redirects more than 5 times' });
  });

  it('does not know what a server that does not answer has', async () => {
    const verdict = await look(`http://127.0.0.1:${await freePort()}/x.png`);
    expect(verdict).toEqual({ kind: 'unknown', problem: 'no server listens there' });
  });

  it('follows no redirect to a metadata service, also where private addresses are allowed', async () => {
    answers('/stolen.png', 302, { location: 'http://169.254.169.254/latest/meta-data/' });
    const problem = expect.stringContaining('never allowed');
    expect(await look('/stolen.png')).toEqual({ kind: 'broken', problem });
    expect(await look('http://[fe80::1]/x.png')).toEqual({ kind: 'broken', problem });
  });

  it('refuses private addresses, also of a redirect, and asks them nothing', async () => {
    await using checker = imageChecker({ allowPrivateAddresses: false });
    const before = server.requests.length;
    for (const address of [`${server.url}/good.png`, 'http://localhost/x.png', 'http://[::1]/x.png']) {
      expect(await checker.check(address, null, signal)).toMatchObject({
        kind: 'broken',
        problem: expect.stringContaining('private address'),
      });
    }
    expect(await checker.check('http://', null, signal)).toMatchObject({ kind: 'broken' });
    expect(server.requests.length).toBe(before);
  });
});
