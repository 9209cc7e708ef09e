import { createServer, type ServerResponse } from 'node:http';
import { ownAddresses } from '../../dashboard/guard/own-addresses.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import type { RunningWorker } from '../../queue/worker-settings.ts';
import { isLoopback, type ListenAddress } from './listen-address.ts';

const PROMETHEUS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Without Redis some figures would not be available until it is back. */
const METRICS_WITHIN_MS = 4_000;

/** How containers and machines of a network address one another, with or without a port. */
const NAME_OF_A_NETWORK =
  /^[a-z0-9_-]+(?:\.(?:[a-z0-9_-]+\.)*(?:local|internal|lan|svc|home\.arpa))?(?::\d+)?$/i;

/** What a worker shows over HTTP. */
export interface WorkerServer extends AsyncDisposable {
  readonly url: string;
}

/**
 * Serves `/metrics` for Prometheus and `/healthz` (200, or 503 with the reason) until it is disposed of. UsageError
 * if it cannot listen there.
 */
export async function serveWorker(
  worker: Pick<RunningWorker, 'health' | 'metrics'>,
  { host, port }: ListenAddress,
): Promise<WorkerServer> {
  const loopback = isLoopback({ host, port });
  const addresses = ownAddresses({ host, port, loopback }, undefined);
  // A foreign page can point its own host name to this address (DNS rebinding), but not a name that is reserved for
  // local networks.
  const isServed = (name: string | undefined): boolean =>
    addresses.knows(name) || (!loopback && name !== undefined && NAME_OF_A_NETWORK.test(name));
  const answer = async (path: string, response: ServerResponse): Promise<void> => {
    if (path === '/healthz') {
      const problem = await worker.health();
      send(response, problem === null ? 200 : 503, `${problem ?? 'ok'}\n`);
    } else if (path === '/metrics') {
      send(response, 200, await within(METRICS_WITHIN_MS, worker.metrics()), PROMETHEUS_TYPE);
    } else {
      send(response, 404, 'Not found. Known paths: /metrics and /healthz.\n');
    }
  };
  const server = createServer((request, response) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      send(response, 405, 'Only GET.\n');
      return;
    }
    if (!isServed(request.headers.host)) {
      send(
        response,
        403,
        `Reach it by its IP address, by a name without dots, or by the name given to --listen.\n`,
      );
      return;
    }
    const [path = ''] = (request.url ?? '').split('?');
    answer(path, response).catch(() => send(response, 503, 'The figures cannot be read.\n'));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(cannotListen(error, host, port)));
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function send(
  response: ServerResponse,
  status: number,
  body: string,
  type = 'text/plain; charset=utf-8',
): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
}

async function within<Value>(ms: number, value: Promise<Value>): Promise<Value> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error('too late')), ms);
  try {
    return await Promise.race([value, late]);
  } finally {
    clearTimeout(timer);
    value.catch(() => {});
  }
}

function cannotListen(error: Error, host: string, port: number): UsageError {
  const code = 'code' in error ? String(error.code) : error.message;
  const why = code === 'EADDRINUSE' ? 'the port is in use' : code;
  return new UsageError(`Cannot listen on ${host}:${port}: ${why}.`, {
    hint: 'Name another port with --listen, or leave it out.',
  });
}
