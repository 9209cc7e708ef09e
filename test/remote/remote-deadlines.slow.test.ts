import { createServer, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { fetchFile, openSpool } from '../../src/remote/fetch-file.ts';
import { httpClient } from '../../src/remote/http-client.ts';
import type { RemoteClient, RetryPolicy } from '../../src/remote/remote-client.ts';
import { withDeadlines } from '../../src/remote/remote-deadlines.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { SLOWNESS } from '../support/pace.ts';
import { httpAddress } from './http-address.ts';
import { serveSftp } from './serve-sftp.ts';
import { failureOf } from './trials.ts';

const { signal } = new AbortController();
const NEVER = 60 * 60_000;
const DEADLINES = {
  attemptMs: 1_500 * SLOWNESS,
  allAttemptsMs: NEVER,
  windowMs: 300 * SLOWNESS,
  minWindowBytes: 1_000,
  downloadMs: NEVER,
};
const retryPolicy = { retries: 1, firstWaitMs: 1 };
const MANY_RETRIES = { retries: 9, firstWaitMs: 1 };

async function serveHttp(answer: (response: ServerResponse) => void) {
  let asked = 0;
  const timers = new Set<NodeJS.Timeout>();
  const server = createServer((_request, response) => {
    asked += 1;
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    client: () => httpClient(httpAddress(`http://127.0.0.1:${address.port}/a.csv`)),
    asked: () => asked,
    timers,
    async [Symbol.asyncDispose]() {
      for (const timer of timers) clearInterval(timer);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** What an attempt ends with; null where it has not ended long after its deadlines. */
async function endOf(action: Promise<string>): Promise<string | null> {
  const waited = new AbortController();
  const hung = sleep(20_000 * SLOWNESS, null, { signal: waited.signal }).catch(() => null);
  const end = await Promise.race([action, hung]);
  waited.abort();
  return end;
}

const hung = (end: string | null) => none('hung', end === null ? 1 : 0);

/** Fetches the file; gives why that failed. */
async function failing(
  opened: RemoteClient,
  deadlines = DEADLINES,
  retries: RetryPolicy = retryPolicy,
): Promise<string> {
  await using client = withDeadlines(opened, deadlines);
  const fetching = async () => {
    const [file] = await client.find(signal);
    if (file === undefined) throw new Error('no file');
    await fetchFile(client, file, { signal, retryPolicy: retries, deadlines });
  };
  return (await failureOf(fetching())).message;
}

const ATTRIBUTES = { mode: 0o100644, uid: 0, gid: 0, size: 1_000_000, atime: 1, mtime: 1 };

describe('a server that never ends', () => {
  it('sending interim responses is given up, and asked again', async (context) => {
    await using server = await serveHttp((response) => {
      server.timers.add(setInterval(() => response.writeEarlyHints({ link: '</a>; rel=preload' }), 50));
    });
    const end = await endOf(failing(server.client()));
    expect(end).toBe('the server does not answer in time');
    expect(server.asked()).toBe(2);
    figure(context, {
      ...{ invariant: 31, seed: null, fired: { 'interim responses without end': server.asked() } },
      measured: [hung(end)],
    });
  });

  it('is given up when all attempts together take too long', async () => {
    await using server = await serveHttp((response) => {
      server.timers.add(setInterval(() => response.writeEarlyHints({ link: '</a>; rel=preload' }), 50));
    });
    const attemptMs = 300 * SLOWNESS;
    const deadlines = { ...DEADLINES, attemptMs, allAttemptsMs: 2 * attemptMs };
    const end = await endOf(failing(server.client(), deadlines, MANY_RETRIES));
    expect(end).toMatch(/^the server does not answer: given up after 2 attempts and \d+ s$/);
    expect(server.asked()).toBe(2);
  });

  it('is given up when two downloads were too slow', async () => {
    await using server = await serveHttp((response) => {
      response.writeHead(200);
      server.timers.add(setInterval(() => response.write('x'), 20));
    });
    expect(await endOf(failing(server.client(), DEADLINES, MANY_RETRIES))).toMatch(/too slow/);
    expect(server.asked()).toBe(2);
  });

  it('sending a byte at a time is given up, and asked again', async (context) => {
    await using server = await serveHttp((response) => {
      response.writeHead(200);
      server.timers.add(setInterval(() => response.write('x'), 20));
    });
    const end = await endOf(failing(server.client()));
    expect(end).toMatch(/the download is too slow: \d+ bytes in [\d.]+ s/);
    expect(server.asked()).toBe(2);
    figure(context, {
      ...{ invariant: 31, seed: null, fired: { 'a byte at a time': server.asked() } },
      measured: [hung(end)],
    });
  });

  it('sending fast enough is given up when the whole takes too long', async () => {
    await using server = await serveHttp((response) => {
      response.writeHead(200);
      server.timers.add(setInterval(() => response.write('x'.repeat(500)), 20));
    });
    expect(await failing(server.client(), { ...DEADLINES, windowMs: NEVER, downloadMs: 700 })).toMatch(
      /is not complete after/,
    );
  });

  it('keeping silent over SFTP is given up, and connected to again', async (context) => {
    await using server = await serveSftp((sftp) => sftp.on('STAT', () => undefined));
    const end = await endOf(failing(server.client('a.csv')));
    expect(end).toBe('the server does not answer in time');
    expect(server.connections()).toBe(2);
    figure(context, {
      ...{ invariant: 31, seed: null, fired: { 'STAT never answered': server.connections() } },
      measured: [hung(end)],
    });
  });

  it('sending over SFTP a byte at a time, or nothing, is given up, and connected to again', async () => {
    for (const answersRead of [true, false]) {
      await using server = await serveSftp((sftp) => {
        sftp.on('STAT', (id) => sftp.attrs(id, ATTRIBUTES));
        sftp.on('OPEN', (id) => sftp.handle(id, Buffer.from('h')));
        sftp.on('READ', (id) => {
          if (answersRead) setTimeout(() => sftp.data(id, Buffer.from('x')), 20).unref();
        });
      });
      expect(await failing(server.client('a.csv'))).toMatch(/the download is too slow/);
      expect(server.connections()).toBe(2);
    }
  });

  it('accepting an upload is given up', async () => {
    await using server = await serveSftp((sftp) => sftp.on('OPENDIR', () => undefined));
    await using spool = await openSpool();
    await using client = withDeadlines(server.client('a.csv'), DEADLINES);
    expect((await failureOf(client.put(spool, { signal, ifVersion: undefined }))).message).toBe(
      'the server does not answer in time',
    );
  });
});

it('an aborted call rejects with the reason, not as late', async () => {
  await using server = await serveSftp((sftp) => sftp.on('STAT', () => undefined));
  await using client = withDeadlines(server.client('a.csv'));
  const off = new AbortController();
  const [file] = await client.find(signal);
  if (file === undefined) throw new Error('no file');
  const getting = client.get(file, { signal: off.signal, unless: null });
  const reason = new Error('stop');
  setTimeout(() => off.abort(reason), 100);
  await expect(getting).rejects.toBe(reason);
});
