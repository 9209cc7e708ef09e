import { createServer } from 'node:http';
import { probeProperties } from '../../src/storefront/storefront.ts';
import { API_KEY } from '../sandbox/setup.ts';

export const NO_TRACES: readonly string[] = [];

/** Probes with what an earlier probe left, and gives what this one leaves. */
export async function probe(
  store: { readonly url: string },
  {
    traces = NO_TRACES,
    contactId = null as string | null,
    signal = new AbortController().signal,
    unique = 'a1',
  } = {},
) {
  let kept = traces;
  const probed = probeProperties({
    baseUrl: store.url,
    apiKey: API_KEY,
    userAgent: 'storeferry/test',
    attemptMs: 10_000,
    signal,
    contactId,
    traces,
    keepTraces: async (now) => {
      kept = now;
    },
    unique,
    wait: async () => {},
    now: () => 0,
  });
  return { probed: await probed.catch(() => undefined), kept: () => kept };
}

interface Forwarded {
  readonly method: string;
  readonly path: string;
  readonly body: string;
}

/** A server before a store that answers some requests itself. */
export async function forwarding(
  storeUrl: string,
  answer: (request: Forwarded) => { readonly status: number; readonly json: unknown } | undefined,
): Promise<{ readonly url: string } & AsyncDisposable> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', async () => {
      const { method = 'GET', url: path = '' } = request;
      const body = Buffer.concat(chunks).toString();
      const own = answer({ method, path, body });
      if (own !== undefined) {
        response.writeHead(own.status, { 'content-type': 'application/json' }).end(JSON.stringify(own.json));
        return;
      }
      const headers = {
        authorization: String(request.headers.authorization),
        'content-type': 'application/json',
      };
      const answered = await fetch(`${storeUrl}${path}`, { method, headers, ...(body !== '' && { body }) });
      response.writeHead(answered.status, { 'content-type': 'application/json' }).end(await answered.text());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
