import { describe, expect, it } from 'vitest';
import { InterruptedError } from '../../src/model/storeferry-error.ts';
import { fetchFile } from '../../src/remote/fetch-file.ts';
import { httpClient } from '../../src/remote/http-client.ts';
import { figure } from '../support/figure.ts';
import { startFileServer } from '../support/file-server.ts';
import { none } from '../support/measure.ts';
import { httpAddress } from './http-address.ts';
import { failureOf, fetchOne, put } from './trials.ts';

const signal = new AbortController().signal;
const CSV = 'sku,price\nA,1\n';
const TIMEOUTS = { connectMs: 500, headersMs: 300, silenceMs: 300 };

describe('a file on the web', () => {
  it('is downloaded with its version, and not again while that is unchanged', async () => {
    await using server = await startFileServer({ '/a.csv': CSV });
    const client = () => httpClient(httpAddress(`${server.url}/a.csv?token=T`));
    const first = await fetchOne(client());
    expect(first?.content).toBe(CSV);
    expect(await fetchOne(client(), { unless: first?.version ?? null })).toBeUndefined();
    server.files.set('/a.csv', Buffer.from('sku\nB\n'));
    expect((await fetchOne(client(), { unless: first?.version ?? null }))?.content).toBe('sku\nB\n');
    expect(server.requests.map(({ path }) => path)).toEqual(Array(3).fill('/a.csv?token=T'));
  });

  it('counts as unchanged when the server ignores conditions but sends the same entity tag', async () => {
    await using server = await startFileServer();
    server.answer('/a.csv', (_request, response) => void response.writeHead(200, { etag: '"1"' }).end(CSV));
    const client = () => httpClient(httpAddress(`${server.url}/a.csv`));
    const { version = null } = (await fetchOne(client())) ?? {};
    expect(await fetchOne(client(), { unless: version })).toBeUndefined();
  });

  it('has its date as a version only once that cannot recur', async () => {
    await using server = await startFileServer();
    const written = new Date('2026-01-01T00:00:00Z').toUTCString();
    const now = { date: written };
    server.answer('/a.csv', (request, response) => {
      if (request.headers['if-modified-since'] === written) response.writeHead(304).end();
      else response.writeHead(200, { 'last-modified': written, ...now }).end(CSV);
    });
    const client = () => httpClient(httpAddress(`${server.url}/a.csv`));
    expect((await fetchOne(client()))?.version).toBeNull();
    now.date = new Date('2026-01-01T00:01:00Z').toUTCString();
    const settled = await fetchOne(client());
    expect(settled?.version).not.toBeNull();
    expect(await fetchOne(client(), { unless: settled?.version ?? null })).toBeUndefined();
  });

  it('has its entity tag as a version only once its date cannot recur', async () => {
    await using server = await startFileServer();
    const written = new Date('2026-01-01T00:00:00Z').toUTCString();
    // As many servers do: an entity tag of time and size.
    const now: Record<string, string> = { etag: '"69-8"', 'last-modified': written };
    let content = 'sku\nA\n';
    server.answer('/a.csv', (request, response) => {
      if (request.headers['if-none-match'] === now['etag']) response.writeHead(304, now).end();
      else response.writeHead(200, now).end(content);
    });
    const client = () => httpClient(httpAddress(`${server.url}/a.csv`));
    const at = (seconds: number) => new Date(Date.parse(written) + seconds * 1_000).toUTCString();
    for (const date of [at(-3_600), at(0), at(1)]) {
      now['date'] = date;
      const young = await fetchOne(client());
      content = 'sku\nB\n';
      expect((await fetchOne(client(), { unless: young?.version ?? null }))?.content).toBe(content);
      content = 'sku\nA\n';
    }
    now['date'] = at(2);
    const settled = await fetchOne(client());
    expect(await fetchOne(client(), { unless: settled?.version ?? null })).toBeUndefined();
  });

  it('is requested with the headers and the password of the job', async () => {
    await using server = await startFileServer({ '/a.csv': CSV });
    const address = httpAddress(`${server.url}/a.csv`, {
      headers: { 'X-Api-Key': 'K' },
      auth: { kind: 'basic', user: 'me', password: 'secret' },
    });
    const client = () => httpClient(address);
    await fetchOne(client());
    expect(server.requests[0]?.headers).toMatchObject({
      'x-api-key': 'K',
      authorization: `Basic ${Buffer.from('me:secret').toString('base64')}`,
      'accept-encoding': 'identity',
    });
    const other = () => httpClient({ ...address, auth: { kind: 'bearer', token: 'T' } });
    await fetchOne(other());
    expect(server.requests[1]?.headers.authorization).toBe('Bearer T');
  });

  it.each([500, 503, 429, 408])('is requested again after %i', async (status) => {
    await using server = await startFileServer({ '/a.csv': CSV });
    server.answer('/a.csv', (_request, response) => void response.writeHead(status).end(), 2);
    const client = () => httpClient(httpAddress(`${server.url}/a.csv`));
    expect((await fetchOne(client()))?.content).toBe(CSV);
    expect(server.requests).toHaveLength(3);
  });

  it('waits as long as the server asks', async () => {
    await using server = await startFileServer({ '/a.csv': CSV });
    server.answer(
      '/a.csv',
      (_request, response) => void response.writeHead(503, { 'retry-after': '1' }).end(),
      1,
    );
    const client = () => httpClient(httpAddress(`${server.url}/a.csv`));
    const begun = performance.now();
    await fetchOne(client());
    expect(performance.now() - begun).toBeGreaterThan(990);
  });

  it('is aborted with the reason of the signal, also during a wait for Retry-After', async () => {
    await using server = await startFileServer();
    const calledOff = new AbortController();
    const reason = new InterruptedError('asked to stop');
    server.answer('/a.csv', (_request, response) => {
      response.writeHead(503, { 'retry-after': '20' }).end();
      setTimeout(() => calledOff.abort(reason), 50);
    });
    await using client = httpClient(httpAddress(`${server.url}/a.csv`));
    const [file] = await client.find(signal);
    if (file === undefined) throw new Error('no file');
    await expect(fetchFile(client, file, { signal: calledOff.signal })).rejects.toBe(reason);
  });

  it.each([
    ['none', null],
    ['one that is too young', JSON.stringify({ etag: '"1"', lastModified: null, young: true })],
    ['one without a validator', '{}'],
  ])('is not reported as unchanged by a 304 without a condition: known version %s', async (_, unless) => {
    await using server = await startFileServer();
    server.answer('/a.csv', (_request, response) => void response.writeHead(304).end());
    const failure = await failureOf(fetchOne(httpClient(httpAddress(`${server.url}/a.csv`)), { unless }));
    expect(failure.kind).toBe('permanent');
    expect(failure.message).toMatch(/answers 304/);
  });

  it.each([
    [401, 'permanent', /refuses access/],
    [403, 'permanent', /refuses access/],
    [404, 'absent', /no such file/],
    [400, 'permanent', /answers 400/],
    [204, 'permanent', /answers 204/],
    [206, 'permanent', /answers 206/],
  ] as const)('is not asked for again after %i', async (status, kind, message) => {
    await using server = await startFileServer();
    server.answer('/a.csv', (_request, response) => void response.writeHead(status).end());
    const client = () => httpClient(httpAddress(`${server.url}/a.csv`));
    const failure = await failureOf(fetchOne(client()));
    expect(failure.kind).toBe(kind);
    expect(failure.message).toMatch(message);
    expect(server.requests).toHaveLength(1);
  });

  it('is refused when its content is shorter than announced', async () => {
    await using server = await startFileServer();
    server.answer('/a.csv', (_request, response) => {
      response.writeHead(200, { 'content-length': 1000 });
      response.write(CSV);
      setTimeout(() => response.destroy(), 20);
    });
    const client = () => httpClient(httpAddress(`${server.url}/a.csv`));
    expect((await failureOf(fetchOne(client()))).kind).toBe('transient');
    expect(server.requests).toHaveLength(3);
  });

  it('is refused when chunked content is truncated', async () => {
    await using server = await startFileServer();
    server.answer('/a.csv', (_request, response) => {
      response.writeHead(200);
      response.write(CSV);
      setTimeout(() => response.destroy(), 20);
    });
    const client = () => httpClient(httpAddress(`${server.url}/a.csv`));
    expect((await failureOf(fetchOne(client()))).kind).toBe('transient');
  });

  it('is whole where its end is that of the connection, if a second download is as long', async () => {
    await using server = await startFileServer();
    const lengths = [CSV.length - 2, CSV.length, CSV.length, CSV.length];
    server.answer('/a.csv', ({ socket }) => {
      socket.write('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n');
      socket.end(CSV.slice(0, lengths.shift() ?? server.requests.length));
    });
    const client = () => httpClient(httpAddress(`${server.url}/a.csv`));
    expect((await fetchOne(client()))?.content).toBe(CSV);
    expect(server.requests).toHaveLength(4);
    expect((await failureOf(fetchOne(client()))).kind).toBe('transient');
  });

  it('is downloaded completely after one broken connection', async () => {
    await using server = await startFileServer({ '/a.csv': CSV });
    server.answer(
      '/a.csv',
      (_request, response) => {
        response.writeHead(200, { 'content-length': 1000 });
        response.write('something else altogether, and longer than it');
        setTimeout(() => response.destroy(), 20);
      },
      1,
    );
    const client = () => httpClient(httpAddress(`${server.url}/a.csv`));
    expect((await fetchOne(client()))?.content).toBe(CSV);
  });

  it('is refused beyond the limit, whatever length is announced', async () => {
    await using server = await startFileServer({ '/a.csv': 'x'.repeat(5_000) });
    server.answer('/endless.csv', (_request, response) => {
      response.writeHead(200);
      const dripping = setInterval(() => response.write('x'.repeat(1_000)), 1);
      response.once('close', () => clearInterval(dripping));
    });
    for (const path of ['/a.csv', '/endless.csv']) {
      const client = () => httpClient(httpAddress(server.url + path));
      expect((await failureOf(fetchOne(client(), { limitBytes: 4_000 }))).message).toBe('it is larger');
    }
    expect(server.requests).toHaveLength(2);
  });

  it.each(['headers', 'body'])('fails when its %s do not arrive', async (part) => {
    await using server = await startFileServer();
    server.answer('/a.csv', (_request, response) => {
      if (part === 'body') response.writeHead(200, { 'content-length': 100 }).write('x');
    });
    const client = () => httpClient(httpAddress(`${server.url}/a.csv`), TIMEOUTS);
    await using once = client();
    const [file] = await once.find(signal);
    if (file === undefined) throw new Error('nothing found');
    const action = fetchFile(once, file, { signal, retryPolicy: { retries: 0, firstWaitMs: 1 } });
    expect((await failureOf(action)).message).toMatch(/does not answer in time/);
  });

  it('is refused in an encoding that was not requested, and left packed with gzip', async () => {
    await using server = await startFileServer();
    server.answer('/a.csv', (request, response) => {
      const encoding = request.url?.slice(-2) === 'br' ? 'br' : 'gzip';
      response.writeHead(200, { 'content-encoding': encoding }).end('packed');
    });
    const brotli = () => httpClient(httpAddress(`${server.url}/a.csv?br`));
    expect((await failureOf(fetchOne(brotli()))).message).toMatch(/compresses it as 'br'/);
    const gzip = () => httpClient(httpAddress(`${server.url}/a.csv?gz`));
    expect((await fetchOne(gzip()))?.content).toBe('packed');
  });
});

describe('a redirect', () => {
  it('is followed without the credentials of the first host', async (context) => {
    await using other = await startFileServer({ '/b.csv': CSV });
    await using server = await startFileServer();
    server.answer(
      '/a.csv',
      (_request, response) => void response.writeHead(302, { location: '/c.csv' }).end(),
    );
    server.answer(
      '/c.csv',
      (_request, response) => void response.writeHead(307, { location: `${other.url}/b.csv` }).end(),
    );
    const address = httpAddress(`${server.url}/a.csv?token=T`, {
      headers: { Cookie: 'C', 'X-Api-Key': 'K' },
      auth: { kind: 'bearer', token: 'T' },
    });
    const client = () => httpClient(address);
    expect((await fetchOne(client()))?.content).toBe(CSV);
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer T', 'Bearer T']);
    const [seen] = other.requests;
    expect(seen?.path).toBe('/b.csv');
    expect(Object.keys(seen?.headers ?? {})).not.toEqual(expect.arrayContaining(['authorization']));
    const leaks = JSON.stringify(seen).match(/cookie|x-api-key|referer|authorization|token/gi) ?? [];
    figure(context, {
      invariant: 24,
      seed: null,
      fired: { 'source redirected to another host': 1 },
      measured: [none('secrets of a source seen elsewhere', leaks.length)],
    });
  });

  it('that ends with a refusal says that credentials were not forwarded', async () => {
    await using other = await startFileServer();
    other.answer('/b.csv', (_request, response) => void response.writeHead(401).end());
    await using server = await startFileServer();
    server.answer(
      '/a.csv',
      (_request, response) => void response.writeHead(302, { location: `${other.url}/b.csv` }).end(),
    );
    const client = () =>
      httpClient(httpAddress(`${server.url}/a.csv`, { auth: { kind: 'bearer', token: 'T' } }));
    expect((await failureOf(fetchOne(client()))).hint).toMatch(/only to the host in the job/);
  });

  it.each([
    ['in a circle', '/a.csv', /more than 5 times/],
    ['to nothing', undefined, /redirects to no address/],
    ['to a file', 'file:///etc/passwd', /to a file: address/],
  ])('%s is refused', async (_name, location, message) => {
    await using server = await startFileServer();
    server.answer(
      '/a.csv',
      (_request, response) => void response.writeHead(302, location === undefined ? {} : { location }).end(),
    );
    const client = () => httpClient(httpAddress(`${server.url}/a.csv`));
    expect((await failureOf(fetchOne(client()))).message).toMatch(message);
  });
});

describe('a private address on the web', () => {
  it.for(['127.0.0.1', 'localhost', '2130706433', '[::ffff:127.0.0.1]'])(
    'is refused by the host %s',
    async (host, context) => {
      await using server = await startFileServer({ '/a.csv': CSV });
      const address = httpAddress(`http://${host}:${server.port}/a.csv`, { allowPrivateAddresses: false });
      const client = () => httpClient(address);
      const failure = await failureOf(fetchOne(client()));
      expect(failure.message).toMatch(/private address/);
      expect(failure.hint).toMatch(/allowPrivateAddresses: true/);
      figure(context, {
        invariant: 25,
        seed: null,
        fired: { 'private address as the source, by number or name': 1 },
        measured: [none('requests that a private address has seen', server.requests.length)],
      });
    },
  );
});

describe('a file sent to the web', () => {
  it('replaces the old one, and is sent again after a transient failure', async () => {
    await using server = await startFileServer({ '/a.csv': 'old' });
    server.answer('/a.csv', (_request, response) => void response.writeHead(503).end(), 1);
    const client = () => httpClient(httpAddress(`${server.url}/a.csv`));
    await put(client(), 'new content');
    expect(server.files.get('/a.csv')?.toString()).toBe('new content');
    expect(server.requests.at(-1)?.headers['content-length']).toBe('11');
  });

  it('replaces only the version that was read', async () => {
    await using server = await startFileServer();
    const client = () => httpClient(httpAddress(`${server.url}/a.csv`));
    await put(client(), 'one', null);
    expect((await failureOf(put(client(), 'two', null))).kind).toBe('changed');
    const version = (await fetchOne(client()))?.version ?? null;
    await put(client(), 'three', version);
    expect((await failureOf(put(client(), 'four', version))).kind).toBe('changed');
    expect(server.files.get('/a.csv')?.toString()).toBe('three');
  });

  it.each([
    [301, 'permanent', /redirects/],
    [403, 'permanent', /refuses access/],
    [405, 'permanent', /answers 405/],
    [500, 'transient', /answers 500/],
  ] as const)('is not taken for written after %i', async (status, kind, message) => {
    await using server = await startFileServer({ '/b.csv': 'old' });
    server.answer(
      '/a.csv',
      (_request, response) => void response.writeHead(status, { location: '/b.csv' }).end(),
    );
    const client = () => httpClient(httpAddress(`${server.url}/a.csv`));
    const failure = await failureOf(put(client(), 'new'));
    expect(failure.kind).toBe(kind);
    expect(failure.message).toMatch(message);
    expect(server.files.get('/b.csv')?.toString()).toBe('old');
  });
});
