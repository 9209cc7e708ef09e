import { createHash } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

/** A request as the server saw it. */
export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** A web server that keeps files, minds conditions, and misbehaves on request. */
export interface FileServer extends AsyncDisposable {
  /** `http://127.0.0.1:port`. */
  readonly url: string;
  readonly port: number;
  readonly files: Map<string, Buffer>;
  readonly requests: readonly SeenRequest[];
  /** Answers the path otherwise than with its file; with `times`, only so often. */
  answer(path: string, answer: Answer, times?: number): void;
}

function etagOf(content: Buffer): string {
  return `"${createHash('sha256').update(content).digest('hex').slice(0, 16)}"`;
}

/** Starts it on a free loopback port. */
export async function startFileServer(
  files: Readonly<Record<string, string | Buffer>> = {},
): Promise<FileServer> {
  const kept = new Map(Object.entries(files).map(([path, content]) => [path, Buffer.from(content)]));
  const requests: SeenRequest[] = [];
  const answers = new Map<string, { readonly answer: Answer; times: number }>();

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://x');
    const { method = '', headers } = request;
    requests.push({ method, path: request.url ?? '', headers });
    const special = answers.get(pathname);
    if (special !== undefined && special.times > 0) {
      special.times -= 1;
      await special.answer(request, response);
      return;
    }
    const content = kept.get(pathname);
    const etag = content === undefined ? undefined : etagOf(content);
    if (method === 'PUT') {
      const body = await buffer(request);
      const refused =
        (headers['if-match'] !== undefined && headers['if-match'] !== etag) ||
        (headers['if-none-match'] === '*' && content !== undefined);
      if (!refused) kept.set(pathname, body);
      response.writeHead(refused ? 412 : 204).end();
    } else if (content === undefined || etag === undefined) {
      response.writeHead(404).end('not here');
    } else if (headers['if-none-match'] === etag) {
      response.writeHead(304, { etag }).end();
    } else {
      response.writeHead(200, { etag, 'content-length': content.length }).end(content);
    }
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    port: address.port,
    files: kept,
    requests,
    answer: (path, answer, times = Number.POSITIVE_INFINITY) => void answers.set(path, { answer, times }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
