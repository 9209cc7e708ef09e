import { createHash, randomUUID } from 'node:crypto';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from '@20minutes/s3rver';
import { endWithTest } from './processes.ts';

/** What the server lets in. */
export const S3_KEYS = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' } as const;

type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

/** A store that speaks the protocol of S3 and checks signatures (version 4), with one bucket, `bucket`. */
export interface S3Server extends AsyncDisposable {
  readonly endpoint: string;
  /** Method and path of each request. */
  readonly requests: readonly string[];
  /** Stands before each request; `next` answers it as usual. */
  intercept(handler: (request: IncomingMessage, response: ServerResponse, next: Handler) => void): void;
  /** Breaks every connection there is. */
  cutAll(): void;
}

/**
 * Starts it on a free loopback port; its listings come in pages of so many keys. What the server of the package lacks is added: it ignores conditions on writing,
 * would write an object in place, so that a broken upload left half of one, and makes the tokens of long listings with
 * a cipher that is no longer there. What it does wrong is let pass: it reckons the signature of listings without the
 * slash at the end of their path.
 */
export async function startS3(pageSize = 1_000): Promise<S3Server> {
  const directory = await mkdtemp(join(tmpdir(), 'storeferry-s3-'));
  const app = new S3rver({
    directory,
    silent: true,
    vhostBuckets: false,
    configureBuckets: [{ name: 'bucket' }],
  });
  await app.configureBuckets();
  app.store.putContent = async (path, content) => {
    const chunks: Buffer[] = Buffer.isBuffer(content) ? [content] : [];
    if (!Buffer.isBuffer(content)) for await (const chunk of content) chunks.push(chunk);
    const whole = Buffer.concat(chunks);
    const temporary = join(directory, randomUUID());
    await writeFile(temporary, whole);
    await rename(temporary, path);
    return [whole.length, createHash('md5').update(whole).digest('hex')];
  };
  app.middleware.unshift(async (context, next) => {
    if (!/^\/[^/]+\/$/.test(context.path)) return await next();
    const from = context.query['continuation-token'];
    const startAfter = from === undefined ? undefined : Buffer.from(from, 'base64url').toString();
    let last: string | undefined;
    context.store = Object.create(app.store, {
      listObjects: {
        async value(...[bucket, options]: Parameters<typeof app.store.listObjects>) {
          const listed = await app.store.listObjects(bucket, { ...options, startAfter, maxKeys: pageSize });
          if (listed.isTruncated) last = listed.objects.at(-1)?.key;
          return { ...listed, isTruncated: false };
        },
      },
    });
    context.query = { ...context.query, 'continuation-token': '' };
    context.app = Object.create(app, { allowMismatchedSignatures: { value: true } });
    await next();
    if (last === undefined) return;
    const more = `<IsTruncated>true</IsTruncated><NextContinuationToken>${Buffer.from(last).toString('base64url')}</NextContinuationToken>`;
    context.body = String(context.body).replace('<IsTruncated>false</IsTruncated>', more);
  });
  const usual = app.callback();

  async function conditional(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://x');
    const completes = request.method === 'POST' && url.searchParams.has('uploadId');
    const puts = request.method === 'PUT' && !url.searchParams.has('partNumber');
    const { 'if-match': match, 'if-none-match': noneMatch } = request.headers;
    if ((completes || puts) && (match !== undefined || noneMatch !== undefined)) {
      const [bucket = '', ...key] = decodeURIComponent(url.pathname).slice(1).split('/');
      const object = await app.store.getObject(bucket, key.join('/')).catch(() => null);
      object?.content.destroy();
      const etag = object?.metadata.etag;
      if ((match !== undefined && match !== etag) || (noneMatch === '*' && etag !== undefined)) {
        request.resume();
        const error = '<Error><Code>PreconditionFailed</Code><Message>no</Message></Error>';
        response.writeHead(412, { 'content-type': 'application/xml' }).end(error);
        return;
      }
    }
    usual(request, response);
  }

  const requests: string[] = [];
  let intercepting: Parameters<S3Server['intercept']>[0] = (request, response, next) =>
    void next(request, response);
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`);
    intercepting(request, response, conditional);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  const release = endWithTest(close);
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    requests,
    intercept(handler) {
      intercepting = handler;
    },
    cutAll: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      release();
      await close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
