import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RemoteClient } from '../../src/remote/remote-client.ts';
import { type S3Address, s3Client } from '../../src/remote/s3-client.ts';
import { stageSource } from '../../src/source/snapshot.ts';
import { workspaceWith } from '../source/folder-on-disk.ts';
import { s3Address } from '../support/s3-address.ts';
import { S3_KEYS, type S3Server, startS3 } from '../support/s3-server.ts';
import { failureOf, fetchAll, put } from './trials.ts';

const CSV = 'sku,price\nA,1\n';

describe('an object in S3', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  function at(
    key: string,
    changes: Partial<S3Address> = {},
    timeouts?: Parameters<typeof s3Client>[1],
  ): RemoteClient {
    return s3Client({ ...s3Address(server, key), ...changes }, timeouts);
  }
  it('is written and read, and not read again while its tag is unchanged', async () => {
    await put(at('in/a b.csv'), CSV);
    const { 's3://bucket/in/a b.csv': first } = await fetchAll(at('in/a b.csv'));
    expect(first?.content).toBe(CSV);
    const again = await fetchAll(at('in/a b.csv'), { unless: first?.version ?? null });
    expect(again).toEqual({ 's3://bucket/in/a b.csv': undefined });
  });

  it('is written in parts when it is large', async () => {
    const large = 'x'.repeat(9 * 1024 * 1024);
    await put(at('large.csv'), large);
    expect(server.requests.filter((request) => request.includes('partNumber=')).length).toBe(2);
    const { 's3://bucket/large.csv': found } = await fetchAll(at('large.csv'));
    expect(found?.content === large).toBe(true);
  });

  it('is written only over the version that was read, in parts too', async () => {
    const large = 'x'.repeat(9 * 1024 * 1024);
    await put(at('versions.csv'), 'one', null);
    expect((await failureOf(put(at('versions.csv'), 'two', null))).kind).toBe('changed');
    expect((await failureOf(put(at('versions.csv'), large, null))).kind).toBe('changed');
    const { 's3://bucket/versions.csv': one } = await fetchAll(at('versions.csv'));
    await put(at('versions.csv'), 'three', one?.version ?? null);
    expect((await failureOf(put(at('versions.csv'), 'four', one?.version ?? null))).kind).toBe('changed');
    const { 's3://bucket/versions.csv': three } = await fetchAll(at('versions.csv'));
    expect(three?.content).toBe('three');
  });

  it('is one of several that a pattern finds, in its folder alone, or the newest of them', async () => {
    for (const name of ['p-2.csv', 'p-1.csv', 'q-1.csv', 'p-deep/p-4.csv'])
      await put(at(`globs/${name}`), name);
    const found = await fetchAll(at('globs/p-*.csv'));
    expect(Object.entries(found).map(([name, file]) => [name, file?.content])).toEqual([
      ['s3://bucket/globs/p-1.csv', 'p-1.csv'],
      ['s3://bucket/globs/p-2.csv', 'p-2.csv'],
    ]);
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    await put(at('globs/p-0.csv'), 'newest');
    const newest = await fetchAll(at('globs/p-*.csv', { newest: true }));
    expect(Object.keys(newest)).toEqual(['s3://bucket/globs/p-0.csv']);
    expect(await fetchAll(at('globs/none-*.csv'))).toEqual({});
  });

  it.each([
    ['after it was read', 1, 'p-1.csv', 'sku,price\nB,2\nC,3\n'],
    ['while it was read, as the last one', 2, 'p-2.csv', 'sku,price\nB,2\nC,3\nD,4\n'],
  ])('is refused as a part of a source where it was replaced %s', async (_, after, part, content) => {
    await put(at('parts/p-1.csv'), 'sku,price\nA,1\nB,2\n');
    await put(at('parts/p-2.csv'), 'sku,price\nC,3\n');
    await using workspace = await workspaceWith({});
    const source = { remote: s3Address(server, 'parts/p-*.csv') };
    expect((await stageSource(source, workspace)).files).toHaveLength(2);
    let writes = 0;
    const write: typeof workspace.folder.write = async (name, bytes) => {
      const written = await workspace.folder.write(name, bytes);
      if (++writes === after) await put(at(`parts/${part}`), content);
      return written;
    };
    const staging = stageSource(source, { ...workspace, folder: { ...workspace.folder, write } });
    await expect(staging).rejects.toThrow(`parts/${part} changed while Storeferry read it`);
  });

  it.each([
    [
      'a wrong secret',
      { credentials: { ...S3_KEYS, secretAccessKey: 'MARKED', sessionToken: null } },
      'permanent',
      /refuses access \(403 SignatureDoesNotMatch\)/,
    ],
    [
      'an unknown key',
      { credentials: { accessKeyId: 'MARKED', secretAccessKey: 'x', sessionToken: null } },
      'permanent',
      /refuses access \(403/,
    ],
    ['no such bucket', { bucket: 'other' }, 'permanent', /no such bucket/],
    ['no such object', { key: 'none.csv' }, 'absent', /no such object/],
    ['nobody there', { endpoint: 'http://127.0.0.1:1' }, 'transient', /no server listens there/],
    ['a private address', { allowPrivateAddresses: false }, 'permanent', /is a private address/],
    [
      'a name for one',
      { endpoint: 'http://localhost:1', allowPrivateAddresses: false },
      'permanent',
      /localhost leads to the private address/,
    ],
  ] as const)('is refused with %s', async (_name, changes, kind, message) => {
    await put(at('a.csv'), CSV);
    const failure = await failureOf(fetchAll(at('a.csv', changes)));
    expect(failure.message).toMatch(message);
    expect(failure.kind).toBe(kind);
    expect(`${failure.message}${failure.hint}${failure.cause}`).not.toContain('MARKED');
  });

  it('is requested again when the store fails or the connection breaks', async () => {
    await put(at('again.csv'), CSV);
    let failures = 4;
    server.intercept((request, response, next) => {
      if (failures-- > 1) {
        response.writeHead(503).end();
      } else if (failures === 0) {
        response.writeHead(200, { 'content-length': 100, etag: '"x"' });
        response.write(CSV);
        setTimeout(() => response.destroy(), 10);
      } else {
        void next(request, response);
      }
    });
    const { 's3://bucket/again.csv': found } = await fetchAll(at('again.csv'));
    expect(found?.content).toBe(CSV);
    server.intercept((request, response, next) => void next(request, response));
  });

  it.each(['headers', 'body'])('fails when its %s do not arrive', async (part) => {
    await put(at('slow.csv'), CSV);
    server.intercept((_request, response) => {
      if (part === 'body') response.writeHead(200, { 'content-length': 100 }).write('x');
    });
    const failure = await failureOf(fetchAll(at('slow.csv', {}, { connectMs: 500, silenceMs: 100 })));
    expect(failure.kind).toBe('transient');
    server.intercept((request, response, next) => void next(request, response));
  });

  it('is refused exceeded', async () => {
    await put(at('limit.csv'), 'x'.repeat(5_000));
    expect((await failureOf(fetchAll(at('limit.csv'), { limitBytes: 4_000 }))).message).toBe('it is larger');
  });

  it('stays unchanged when the upload fails', async () => {
    await put(at('whole.csv'), 'old');
    server.intercept((request, response, next) => {
      if (request.method !== 'PUT') return void next(request, response);
      request.once('data', () => request.destroy());
    });
    expect((await failureOf(put(at('whole.csv'), 'x'.repeat(1_000_000)))).kind).toBe('transient');
    server.intercept((request, response, next) => void next(request, response));
    const { 's3://bucket/whole.csv': found } = await fetchAll(at('whole.csv'));
    expect(found?.content).toBe('old');
  });
});
