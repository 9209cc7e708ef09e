import type { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import type { HttpAddress } from '../model/remote-address.ts';
import { connectionFailure } from './connection-failure.ts';
import { conditionHeaders, headerOf, isSameVersion, unlessHeaders, versionOf } from './http-version.ts';
import { guardedLookup, refusePrivateHost } from './private-addresses.ts';
import { isRedirect, redirectedTo } from './redirect.ts';
import type { RemoteClient } from './remote-client.ts';
import { RemoteFailure } from './remote-failure.ts';
import { statusFailure } from './status-failure.ts';

const MAX_REDIRECTS = 5;

/** Longest waits, in milliseconds. */
export interface HttpTimeouts {
  readonly connectMs: number;
  readonly headersMs: number;
  /** Between two pieces of the content. */
  readonly bodyMs: number;
}

const TIMEOUTS: HttpTimeouts = { connectMs: 10_000, headersMs: 60_000, bodyMs: 30_000 };

type Answer = Dispatcher.ResponseData;

interface Asking {
  readonly method: 'GET' | 'PUT';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable | null;
  readonly signal: AbortSignal;
}

/** Reads and writes a file by http or https. */
export function httpClient(at: HttpAddress, timeouts: HttpTimeouts = TIMEOUTS): RemoteClient {
  const agent = new Agent({
    connect: { lookup: guardedLookup(at.allowPrivateAddresses), timeout: timeouts.connectMs },
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.bodyMs,
    allowH2: false,
  });
  const origin = new URL(at.address).origin;
  const credentials: Record<string, string> = { ...lowerCased(at.headers), ...authorization(at) };

  async function ask({ url, signal, headers, ...request }: Asking): Promise<Answer> {
    refusePrivateHost(url.hostname, at.allowPrivateAddresses);
    try {
      return await agent.request({
        ...request,
        origin: url.origin,
        path: url.pathname + url.search,
        headers: { 'user-agent': 'storeferry', ...headers, ...(url.origin === origin ? credentials : {}) },
        signal,
      });
    } catch (error) {
      signal.throwIfAborted();
      throw connectionFailure(error);
    }
  }

  /** Follows redirects as far as that gives nothing away. */
  async function follow(headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<Answer> {
    let url = new URL(at.address);
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const answer = await ask({ method: 'GET', url, headers, body: null, signal });
      if (!isRedirect(answer.statusCode)) {
        if (url.origin !== origin) refuseStripped(answer, url);
        return answer;
      }
      discard(answer);
      url = redirectedTo(headerOf(answer.headers, 'location'), url);
    }
    throw new RemoteFailure('final', `it redirects more than ${MAX_REDIRECTS} times`);
  }

  /** The server that a redirect leads to never gets what was meant for another one. */
  function refuseStripped(answer: Answer, { host }: URL): void {
    if (answer.statusCode !== 401 && answer.statusCode !== 403) return;
    if (Object.keys(credentials).length === 0) return;
    discard(answer);
    throw new RemoteFailure('final', `it redirects to ${host}, which refuses access (${answer.statusCode})`, {
      hint: 'Headers and passwords are never sent to another host than the one named: name that address itself.',
    });
  }

  return {
    find: async () => [{ location: at.location, path: at.address }],
    async get(_file, { signal, unless }) {
      const wanted = { 'accept-encoding': 'identity', accept: '*/*', ...unlessHeaders(unless) };
      const answer = await follow(wanted, signal);
      const { statusCode, headers, body } = answer;
      // A 304 to an unconditional request does not say whether there is a file.
      if (unless !== null && (statusCode === 304 || (statusCode === 200 && isSameVersion(unless, headers)))) {
        discard(answer);
        return { kind: 'unchanged' };
      }
      if (statusCode !== 200) {
        discard(answer);
        throw statusFailure(statusCode, headerOf(headers, 'retry-after'));
      }
      refuseEncoding(answer);
      const length = headerOf(headers, 'content-length');
      return {
        kind: 'content',
        content: body,
        size: length === null ? null : Number(length),
        version: versionOf(headers),
      };
    },
    async put(upload, { signal, ifVersion }) {
      const condition = ifVersion === undefined ? {} : conditionHeaders(ifVersion);
      if (condition === undefined) {
        throw new RemoteFailure('final', 'the server sends no version by which a change could be noticed', {
          hint: 'Appending needs a server that sends a strong ETag; use `mode: replace`, or another destination.',
        });
      }
      const answer = await ask({
        method: 'PUT',
        url: new URL(at.address),
        headers: {
          'content-type': 'application/octet-stream',
          'content-length': String(upload.size),
          ...condition,
        },
        body: upload.open(),
        signal,
      });
      discard(answer);
      const { statusCode, headers } = answer;
      if (isRedirect(statusCode)) {
        throw new RemoteFailure('final', `the server redirects (${statusCode}), which is not followed`, {
          hint: 'Name the address that it redirects to.',
        });
      }
      if (statusCode < 200 || statusCode > 299) {
        throw statusFailure(statusCode, headerOf(headers, 'retry-after'));
      }
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

function lowerCased(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}

function authorization({ auth }: HttpAddress): Record<string, string> {
  if (auth === null) return {};
  switch (auth.kind) {
    case 'bearer':
      return { authorization: `Bearer ${auth.token}` };
    case 'basic':
      return {
        authorization: `Basic ${Buffer.from(`${auth.user}:${auth.password}`).toString('base64')}`,
      };
    default:
      return auth satisfies never;
  }
}

/** Gzip is opened where files are staged, by its content; no other packing was asked for. */
function refuseEncoding({ headers, body }: Answer): void {
  const encoding = headerOf(headers, 'content-encoding')?.trim().toLowerCase() ?? '';
  if (['', 'identity', 'gzip', 'x-gzip'].includes(encoding)) return;
  body.on('error', () => undefined).destroy();
  throw new RemoteFailure(
    'final',
    `the server compresses it as '${encoding.slice(0, 40)}', which was not requested`,
    {
      hint: 'Configure the server to send it uncompressed, or with gzip.',
    },
  );
}

/** Discards the content of an answer. */
function discard({ body }: Answer): void {
  body.on('error', () => undefined).destroy();
}
