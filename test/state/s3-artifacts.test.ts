import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ArtifactsPlace } from '../../src/model/remote-address.ts';
import { StateError } from '../../src/model/storeferry-error.ts';
import type { Artifacts } from '../../src/state/artifacts.ts';
import { s3Artifacts } from '../../src/state/open-state.ts';
import { S3_KEYS, type S3Server, startS3 } from '../support/s3-server.ts';
import { describeArtifacts } from './artifacts-suite.ts';

/** How many keys the server lists at a time. */
const PAGE = 20;

type Place = Extract<ArtifactsPlace, { kind: 's3' }>;

describe('artifacts in S3', () => {
  let server: S3Server;
  beforeAll(async () => {
    server = await startS3(PAGE);
  });
  afterEach(() => server.intercept((request, response, next) => void next(request, response)));
  afterAll(() => server[Symbol.asyncDispose]());

  let made = 0;
  function open(changes: Partial<Place> = {}, attempts?: number): Artifacts {
    const place: Place = {
      kind: 's3',
      bucket: 'bucket',
      prefix: `shop/${++made}`,
      endpoint: server.endpoint,
      region: 'us-east-1',
      credentials: { ...S3_KEYS, sessionToken: null },
      pathStyle: true,
      allowPrivateAddresses: true,
      ...changes,
    };
    return s3Artifacts(place, attempts);
  }

  describeArtifacts(open);

  it('are named by their address, with a prefix or without', () => {
    expect(open({ prefix: 'shop' }).run('run-1').location).toBe('s3://bucket/shop/run-1');
    expect(open({ prefix: '' }).run('run-1').location).toBe('s3://bucket/run-1');
  });

  it('may lie in a bucket of their own', async () => {
    const artifacts = open({ prefix: '' });
    await artifacts.run('run-alone').write('plan', ['x']);
    expect(server.requests.at(-1)).toMatch(/^PUT \/bucket\/run-alone\/plan/);
    expect(await artifacts.run('run-alone').list()).toEqual(['plan']);
    await artifacts.remove('run-alone');
    expect(await artifacts.run('run-alone').list()).toEqual([]);
  });

  it('are listed and removed however many pages they fill', async () => {
    const artifacts = open();
    const folder = artifacts.run('run-1');
    const names = Array.from({ length: 2 * PAGE + 1 }, (_, index) => `shard-${100 + index}.jsonl`);
    for (const name of names) await folder.write(name, ['{}\n']);
    const asked = server.requests.length;
    expect(await folder.list()).toEqual(names);
    expect(server.requests.length - asked).toBe(3);
    await artifacts.remove('run-1');
    expect(await folder.list()).toEqual([]);
  });

  it('are read on where the connection broke', async () => {
    const folder = open().run('run-1');
    const lines = Array.from({ length: 200_000 }, (_, line) => `line ${line}\n`).join('');
    await folder.write('large', [lines]);
    let cuts = 0;
    server.intercept((request, response, next) => {
      if (request.method === 'GET' && cuts < 6) {
        const write = response.write.bind(response);
        let sent = 0;
        response.write = (chunk: Uint8Array) => {
          sent += chunk.length;
          if (sent < 200_000) return write(chunk);
          cuts += 1;
          response.destroy();
          return false;
        };
      }
      void next(request, response);
    });
    expect((await text(await folder.read('large'))) === lines).toBe(true);
    expect(cuts).toBe(6);
  });

  it('are never read half from one version and half from another', async () => {
    const folder = open().run('run-1');
    await folder.write('large', ['a'.repeat(3_000_000)]);
    const reading = await folder.read('large');
    let read = '';
    const readAll = async () => {
      for await (const chunk of reading) {
        if (read === '') {
          await folder.write('large', ['b'.repeat(3_000_000)]);
          server.cutAll();
        }
        read += String(chunk);
      }
    };
    await readAll().catch((error: unknown) => expect(error).toBeInstanceOf(StateError));
    expect(read.replaceAll('a', '')).toBe('');
  });

  it('are written though the store fails now and then, in parts too', async () => {
    const folder = open().run('run-1');
    let failures = 0;
    let asked = 0;
    server.intercept((request, response, next) => {
      asked += 1;
      if (asked % 3 !== 1) return void next(request, response);
      failures += 1;
      request.resume();
      if (failures % 2 === 0) request.socket.destroy();
      else response.writeHead(503).end('<Error><Code>SlowDown</Code></Error>');
    });
    await folder.write('small', ['x']);
    await folder.write('large', ['y'.repeat(20_000_000)]);
    expect(await text(await folder.read('small'))).toBe('x');
    expect((await text(await folder.read('large'))).length).toBe(20_000_000);
    expect(failures).toBeGreaterThan(2);
  });

  it.each([
    [
      'a bucket that is not there',
      { bucket: 'nowhere' },
      /there is no such bucket/,
      'Create the bucket',
      'StateError',
    ],
    [
      'a wrong key',
      { credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'MARKED', sessionToken: null } },
      /refuses access \(403/,
      'AWS_SECRET_ACCESS_KEY',
      'StateError',
    ],
    [
      'a store out of reach',
      { endpoint: 'http://127.0.0.1:9' },
      /no server listens/,
      'AWS_ENDPOINT_URL',
      'StateUnavailableError',
    ],
  ] as const)('say what to do about %s', async (_, changes, message, hint, name) => {
    const failed = open(changes, 2).run('run-1').write('plan', ['x']);
    await expect(failed).rejects.toThrow(message);
    await expect(failed).rejects.toMatchObject({
      name,
      hint: expect.stringContaining(hint),
      message: expect.stringMatching(/^The artifact s3:\/\/.*\/run-1\/plan cannot be written/),
    });
    await expect(failed).rejects.not.toThrow(/MARKED/);
  });
});
