import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { openDestination } from '../../src/export/open-destination.ts';
import { DestinationChangedError, DestinationError } from '../../src/model/storeferry-error.ts';
import { startFileServer } from '../support/file-server.ts';
import { httpAddress } from './http-address.ts';

const signal = new AbortController().signal;
const retryPolicy = { retries: 1, firstWaitMs: 1 };
const ANYWHERE = { workspaceDir: '/nowhere' };

async function* content(...parts: readonly string[]) {
  yield* parts;
}

describe('a remote destination', () => {
  it('is written, read back and appended to', async () => {
    await using server = await startFileServer();
    const destination = await openDestination(
      { remote: httpAddress(`${server.url}/a.csv`) },
      ANYWHERE,
      retryPolicy,
    );
    expect(await destination.read(signal)).toBeUndefined();
    expect(await destination.write(content('a', 'bc\n'), { signal, ifVersion: null })).toBe(4);
    const read = await destination.read(signal);
    if (read === undefined) throw new Error('nothing there');
    const held = await text(read.content);
    expect(held).toBe('abc\n');
    await destination.write(content(held, 'd\n'), { signal, ifVersion: read.version });
    expect(server.files.get('/a.csv')?.toString()).toBe('abc\nd\n');
    await expect(destination.write(content('x'), { signal, ifVersion: read.version })).rejects.toThrow(
      DestinationChangedError,
    );
    expect(server.files.get('/a.csv')?.toString()).toBe('abc\nd\n');
  });

  it('is not appended to when the server sends no version', async () => {
    await using server = await startFileServer();
    server.answer(
      '/a.csv',
      (request, response) => void response.writeHead(request.method === 'GET' ? 200 : 204).end('old'),
    );
    const destination = await openDestination(
      { remote: httpAddress(`${server.url}/a.csv`) },
      ANYWHERE,
      retryPolicy,
    );
    const read = await destination.read(signal);
    if (read === undefined) throw new Error('nothing there');
    await text(read.content);
    await expect(destination.write(content('x'), { signal, ifVersion: read.version })).rejects.toThrow(
      /sends no version that shows changes/,
    );
    expect(server.requests.map(({ method }) => method)).toEqual(['GET']);
  });

  it('gets nothing when the content fails or the signal aborts', async () => {
    await using server = await startFileServer({ '/a.csv': 'old' });
    const destination = await openDestination(
      { remote: httpAddress(`${server.url}/a.csv`) },
      ANYWHERE,
      retryPolicy,
    );
    async function* broken() {
      yield 'half';
      throw new Error('the store went away');
    }
    await expect(destination.write(broken(), { signal })).rejects.toThrow('the store went away');
    const stopped = AbortSignal.abort(new Error('asked to stop'));
    await expect(destination.write(content('new'), { signal: stopped })).rejects.toThrow('asked to stop');
    expect(server.requests).toHaveLength(0);
  });

  it('that refuses says where, what and what to do, and no secret', async () => {
    await using server = await startFileServer();
    server.answer('/a.csv', (_request, response) => void response.writeHead(401).end('MARKED'));
    const address = httpAddress(`${server.url}/a.csv?token=MARKED`, {
      auth: { kind: 'bearer', token: 'MARKED' },
    });
    const error: unknown = await (await openDestination({ remote: address }, ANYWHERE, retryPolicy))
      .write(content('x'), { signal })
      .catch((reason: unknown) => reason);
    if (!(error instanceof DestinationError)) throw new Error(String(error));
    expect(error.message).toBe(`${server.url}/a.csv cannot be written: the server refuses access (401).`);
    expect(error.hint).toMatch(/auth/);
    expect(JSON.stringify([error.message, error.hint, error.cause])).not.toContain('MARKED');
  });
});
