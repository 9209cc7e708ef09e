import { createServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Attempt } from '../../src/storefront/sender.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { patience } from '../support/pace.ts';
import { connect, product, signal } from './setup.ts';

const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';
const GOOD = '{"id":1,"url":"mug","title":"mug"}';
const EVERY_MS = 10;
const ATTEMPT_MS = patience(200);
/** Far beyond all attempts together: what has not ended by then never does. */
const HUNG_MS = patience(30_000);

/** What a server does with its first connection; the next ones are answered well. */
interface Trickle {
  /** Sent at once. */
  readonly first?: string;
  /** Sent again and again. */
  readonly again?: string;
}

const TRICKLES: Readonly<Record<string, Trickle>> = {
  '103 Early Hints without end': { again: 'HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n' },
  '102 Processing without end': { again: 'HTTP/1.1 102 Processing\r\n\r\n' },
  'a header character by character': { first: `${HEAD}X-Long: `, again: 'x' },
  'a body byte by byte': { first: `${HEAD}Content-Length: 100000\r\n\r\n`, again: ' ' },
  'chunks without end': { first: `${HEAD}Transfer-Encoding: chunked\r\n\r\n`, again: '1\r\n \r\n' },
  'an answer that stops': { first: `${HEAD}Content-Length: 100000\r\n\r\n{"id":` },
  'a silent accept': {},
};

describe('an attempt', () => {
  it('ends by its deadline, whatever trickles in', async (context) => {
    const fired: Record<string, number> = {};
    let hung = 0;
    for (const [name, trickle] of Object.entries(TRICKLES)) {
      const attempts: Attempt[] = [];
      const server = await startServer(trickle);
      const storefront = connect(`http://127.0.0.1:${server.port}`, {
        attemptMs: ATTEMPT_MS,
        onAttempt: (attempt) => attempts.push(attempt),
      });
      const outcome = await orHung(storefront.upsertProduct(product('mug'), { signal }));
      if (outcome === 'hung') hung++;
      else expect(outcome).toEqual({ kind: 'applied', id: 1 });
      expect(attempts[0]).toMatchObject({
        status: null,
        failure: `no complete answer within ${ATTEMPT_MS / 1_000} seconds`,
      });
      fired[name] = server.trickled();
    }
    figure(context, { invariant: 31, seed: null, fired, measured: [none('hung', hung)] });
  });

  it('ends while the connection is made, and leaves nothing in doubt', async (context) => {
    const server = await startServer({});
    const storefront = connect(`https://127.0.0.1:${server.port}`, { attemptMs: ATTEMPT_MS });
    const outcome = await orHung(storefront.upsertProduct(product('mug'), { signal }));
    expect(outcome).toEqual({ kind: 'unsent', reason: { code: 'timeout', message: expect.any(String) } });
    figure(context, {
      invariant: 31,
      seed: null,
      fired: { 'a handshake without an answer': server.trickled() },
      measured: [none('hung', outcome === 'hung' ? 1 : 0)],
    });
  });
});

async function orHung<T>(ending: Promise<T>): Promise<T | 'hung'> {
  const guard = new AbortController();
  const late = sleep(HUNG_MS, 'hung' as const, { signal: guard.signal }).catch(() => 'hung' as const);
  const first = await Promise.race([ending, late]);
  guard.abort();
  return first;
}

/** A server that never answers a TLS handshake, nor its first connection; over HTTP it answers the later ones. */
async function startServer({ first = '', again }: Trickle) {
  const sockets = new Set<Socket>();
  let connections = 0;
  let trickled = 0;
  const server = createServer((socket) => {
    const isFirst = ++connections === 1;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      const isHttp = bytes.toString('latin1').startsWith('POST ');
      if (isHttp && !isFirst) socket.write(`${HEAD}Content-Length: ${GOOD.length}\r\n\r\n${GOOD}`);
    });
    if (!isFirst) return;
    trickled++;
    socket.once('data', () => {
      socket.write(first);
      if (again === undefined) return;
      const timer = setInterval(() => {
        trickled++;
        socket.write(again);
      }, EVERY_MS);
      socket.once('close', () => clearInterval(timer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return { port: address.port, trickled: () => trickled };
}
