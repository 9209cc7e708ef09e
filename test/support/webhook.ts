import { createServer, type IncomingHttpHeaders } from 'node:http';
import { text } from 'node:stream/consumers';

/** A call as it arrived. */
export interface WebhookCall {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Record<string, unknown>;
}

/** What the receiver does with a call: an HTTP status, a lost connection, or no answer at all. */
export type WebhookAnswer =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> }
  | 'reset'
  | 'hang';

/** A receiver of webhooks on loopback. */
export interface Webhook extends AsyncDisposable {
  /** With a path and a query, as secret as those of chat tools. */
  readonly url: string;
  readonly calls: readonly WebhookCall[];
}

/** The parts of a webhook's address that nobody else may see. */
export const WEBHOOK_SECRETS = ['T0ken/of-the-hook', 'q-secret-0987'] as const;

/** Answers the calls in the given order, then 200. */
export async function startWebhook(...answers: readonly WebhookAnswer[]): Promise<Webhook> {
  const calls: WebhookCall[] = [];
  const server = createServer(async (request, response) => {
    const body = JSON.parse(await text(request));
    const answer = answers[calls.length] ?? { status: 200 };
    calls.push({ path: request.url ?? '', headers: request.headers, body });
    if (answer === 'reset') request.socket.destroy();
    else if (answer !== 'hang') response.writeHead(answer.status, answer.headers).end('ok');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const [path, query] = WEBHOOK_SECRETS;
  return {
    url: `http://127.0.0.1:${address.port}/services/${path}?key=${query}`,
    calls,
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
