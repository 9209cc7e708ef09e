import type { Readable } from 'node:stream';
import { Agent, type Dispatcher } from 'undici';
import type { RemoteAddress } from '../model/remote-address.ts';
import { type GoogleAccount, googleSheetHint, tokenRequestBody } from './google-account.ts';
import { guardedLookup, refusePrivateHost } from './guarded-lookup.ts';
import {
  changedByOther,
  connectionFailure,
  dropContent,
  isTransientStatus,
  permanentFailure,
  type RemoteClient,
  RemoteFailure,
  retryAfterMs,
} from './remote-client.ts';
import { CONNECTION_TIMEOUTS, type ConnectionTimeouts } from './remote-deadlines.ts';

/** A file at a web address. */
export interface HttpAddress extends RemoteAddress {
  readonly kind: 'http';
  /** May contain secrets in its query, but no user name. */
  readonly address: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly auth: HttpAuth | null;
}

/** The credentials for a web server. */
type HttpAuth =
  | { readonly kind: 'basic'; readonly user: string; readonly password: string }
  | { readonly kind: 'bearer'; readonly token: string }
  | {
      readonly kind: 'google';
      readonly account: GoogleAccount;
      /** Where the account gets its access token. */
      readonly tokenUrl: string;
    };

const MAX_REDIRECTS = 5;

export type Answer = Dispatcher.ResponseData;

interface Asking {
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent only to the origin of the address. */
  readonly credentials: Readonly<Record<string, string>>;
  readonly body: Readable | string | null;
  readonly signal: AbortSignal;
}

/** Reads and writes a file by http or https. */
export function httpClient(at: HttpAddress, timeouts = CONNECTION_TIMEOUTS): RemoteClient {
  const agent = guardedAgent(at.allowPrivateAddresses, timeouts);
  const origin = new URL(at.address).origin;
  const advice = at.auth?.kind === 'google' ? sharingHint(at.auth.account) : googleSheetHint(at.address);

  /** An access token of Google lasts an hour: each attempt gets its own. */
  async function credentialsFor(signal: AbortSignal): Promise<Record<string, string>> {
    const { auth } = at;
    const headers = lowerCased(at.headers);
    if (auth?.kind !== 'google') return { ...headers, ...authorization(auth) };
    const { account, tokenUrl } = auth;
    const answer = await ask({
      method: 'POST',
      url: new URL(tokenUrl),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      credentials: {},
      body: tokenRequestBody(account, tokenUrl, Date.now()),
      signal,
    });
    return { ...headers, authorization: `Bearer ${await tokenIn(answer)}` };
  }

  async function ask({ url, signal, headers, credentials, ...request }: Asking): Promise<Answer> {
    refusePrivateHost(url.hostname, at.allowPrivateAddresses, new URL(at.address).hostname);
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

  /** Follows redirects; credentials go to the original server only. */
  async function follow(headers: Readonly<Record<string, string>>, signal: AbortSignal) {
    const credentials = await credentialsFor(signal);
    const { answer, url } = await followRedirects(new URL(at.address), 'it redirects', (to) =>
      ask({ method: 'GET', url: to, headers, credentials, body: null, signal }),
    );
    if (url.origin !== origin) refuseStripped(answer, url, credentials);
    return answer;
  }

  /** A redirect target never gets the credentials of the original server: explains its refusal. */
  function refuseStripped(answer: Answer, { host }: URL, credentials: Asking['credentials']) {
    if (answer.statusCode !== 401 && answer.statusCode !== 403) return;
    if (Object.keys(credentials).length === 0) return;
    dropContent(answer.body);
    throw permanentFailure(
      `it redirects to ${host}, which refuses access (${answer.statusCode})`,
      'Storeferry sends headers and passwords only to the host in the job. Use the address that it redirects to.',
    );
  }

  return {
    find: async () => [{ location: at.location, path: at.address }],
    async get(_file, { signal, unless }) {
      const condition = unlessHeaders(unless);
      const wanted = { 'accept-encoding': 'identity', accept: '*/*', ...condition };
      const answer = await follow(wanted, signal);
      const { statusCode, headers, body } = answer;
      // A 304 to an unconditional request shows nothing.
      const isNotModified = statusCode === 304 && Object.keys(condition).length > 0;
      if (isNotModified || (statusCode === 200 && isSameVersion(unless, headers))) {
        dropContent(answer.body);
        return { kind: 'unchanged' };
      }
      if (statusCode !== 200) {
        dropContent(answer.body);
        throw statusFailure(statusCode, headerOf(headers, 'retry-after'), advice);
      }
      refuseEncoding(answer);
      if (at.auth?.kind === 'google') refusePage(answer, at.auth.account);
      const length = headerOf(headers, 'content-length');
      return {
        kind: 'content',
        content: body,
        size: length === null ? null : Number(length),
        endsWithConnection: length === null && headerOf(headers, 'transfer-encoding') === null,
        version: versionOf(headers),
      };
    },
    async put(upload, { signal, ifVersion }) {
      const condition = ifVersion === undefined ? {} : conditionHeaders(ifVersion);
      if (condition === undefined) {
        throw permanentFailure(
          'the server sends no version that shows changes',
          'Appending needs a server that sends a strong ETag; use `mode: replace`, or another destination.',
        );
      }
      const answer = await ask({
        method: 'PUT',
        url: new URL(at.address),
        credentials: await credentialsFor(signal),
        headers: {
          'content-type': 'application/octet-stream',
          'content-length': String(upload.size),
          ...condition,
        },
        body: upload.open(),
        signal,
      });
      dropContent(answer.body);
      const { statusCode, headers } = answer;
      if (isRedirect(statusCode)) {
        throw permanentFailure(
          `the server redirects (${statusCode}); Storeferry does not follow this redirect`,
          'Use the address that it redirects to.',
        );
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

function authorization(auth: Exclude<HttpAuth, { readonly kind: 'google' }> | null): Record<string, string> {
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

function sharingHint({ email }: GoogleAccount) {
  return `Share the file with ${email} as Viewer (in Google Sheets: Share).`;
}

/** Google answers with a page to sign in, and 200, where an account may not read a file. */
function refusePage({ headers, body }: Answer, account: GoogleAccount) {
  if (headerOf(headers, 'content-type')?.startsWith('text/html') !== true) return;
  dropContent(body);
  throw permanentFailure('Google answers with a page to sign in', sharingHint(account));
}

const MAX_TOKEN_BYTES = 64 * 1024;

/** The access token in an answer of Google; RemoteFailure where there is none. */
async function tokenIn(answer: Answer) {
  const { statusCode, headers, body } = answer;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(Buffer.from(chunk));
      size += chunk.length;
      if (size > MAX_TOKEN_BYTES) break;
    }
  } catch (error) {
    throw connectionFailure(error);
  }
  const { access_token: token, error } = tokenAnswer(Buffer.concat(chunks).toString());
  if (statusCode === 200 && typeof token === 'string') return token;
  if (isTransientStatus(statusCode)) throw statusFailure(statusCode, headerOf(headers, 'retry-after'));
  const why = typeof error === 'string' && /^[a-z_]{1,40}$/.test(error) ? ` ${error}` : '';
  throw permanentFailure(
    `Google refuses the service account (${statusCode}${why})`,
    'Check that its key was not deleted, and the clock of this machine. Create a new key in the Google Cloud console if needed.',
  );
}

function tokenAnswer(text: string): { readonly access_token?: unknown; readonly error?: unknown } {
  try {
    return { ...JSON.parse(text) };
  } catch {
    return {};
  }
}

/** Staging unpacks gzip by content; other encodings were not requested. */
function refuseEncoding({ headers, body }: Answer) {
  const encoding = headerOf(headers, 'content-encoding')?.trim().toLowerCase() ?? '';
  if (['', 'identity', 'gzip', 'x-gzip'].includes(encoding)) return;
  dropContent(body);
  throw permanentFailure(
    `the server compresses it as '${encoding.slice(0, 40)}', which was not requested`,
    'Configure the server to send it uncompressed, or with gzip.',
  );
}

/** Connects to public addresses, or also to private ones. */
export function guardedAgent(
  allowPrivateAddresses: boolean,
  { connectMs, headersMs, silenceMs }: ConnectionTimeouts,
): Agent {
  return new Agent({
    connect: { lookup: guardedLookup(allowPrivateAddresses), timeout: connectMs },
    headersTimeout: headersMs,
    bodyTimeout: silenceMs,
    allowH2: false,
  });
}

/** The answer that a few redirects lead to, and its address. `what` begins the message about too many. RemoteFailure. */
export async function followRedirects(from: URL, what: string, ask: (url: URL) => Promise<Answer>) {
  let url = from;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
    const answer = await ask(url);
    if (!isRedirect(answer.statusCode)) return { answer, url };
    dropContent(answer.body);
    url = redirectedTo(headerOf(answer.headers, 'location'), url);
  }
  throw permanentFailure(`${what} more than ${MAX_REDIRECTS} times`);
}

function isRedirect(status: number) {
  return status >= 300 && status < 400 && status !== 304;
}

/** The target of a redirect: http or https only, and never from https to http. RemoteFailure. */
export function redirectedTo(location: string | null, from: URL): URL {
  const to = URL.canParse(location ?? '', from.href) ? new URL(location ?? '', from) : undefined;
  if (location === null || to === undefined) {
    throw permanentFailure('it redirects to no address');
  }
  if (to.protocol === 'https:' || (to.protocol === 'http:' && from.protocol === 'http:')) return to;
  const where =
    to.protocol === 'http:' ? `http://${to.host}, without encryption` : `a ${to.protocol} address`;
  throw permanentFailure(`it redirects to ${where}, which is not followed`);
}

/** 425 Too Early: the server refuses a possible replay, so the request is retried. */
const TOO_EARLY = 425;

const LOGIN_HINT = 'Check `headers` or `auth` beside the address, and the variables that they name.';

/** The failure for a status, with the wait that `Retry-After` requests. */
function statusFailure(status: number, retryAfter: string | null, advice?: string) {
  switch (status) {
    case 401:
    case 403:
      return permanentFailure(`the server refuses access (${status})`, advice ?? LOGIN_HINT);
    case 407:
      return permanentFailure('a proxy asks for a password (407)');
    case 404:
    case 410:
      return new RemoteFailure('absent', `there is no such file (${status})`, {
        hint: advice ?? 'Check the address, and whether the file exists yet.',
      });
    case 412:
    case 409:
      return changedByOther(String(status));
    default:
      return isTransientStatus(status) || status === TOO_EARLY
        ? new RemoteFailure('transient', `the server answers ${status}`, {
            retryAfterMs: retryAfterMs(retryAfter ?? undefined, Date.now()),
          })
        : permanentFailure(`the server answers ${status}`);
  }
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The validators by which a server identifies a version of a file (RFC 9110, section 8.8). */
interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
  /** The file was too young: it may have other content under the same validators, which then only guard a write. */
  readonly young?: true;
}

/**
 * `Last-Modified` counts seconds, and many servers make the entity tag of it and the size: a file modified this recently may change again
 * under the same date and tag.
 */
const SETTLED_MS = 2_000;

export function headerOf(headers: Headers, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** The version in an answer; null when none of its validators is sure to change with the content. */
export function versionOf(headers: Headers): string | null {
  const etag = headerOf(headers, 'etag');
  const lastModified = headerOf(headers, 'last-modified');
  const answeredAt = Date.parse(headerOf(headers, 'date') ?? '');
  const age = (Number.isNaN(answeredAt) ? Date.now() : answeredAt) - Date.parse(lastModified ?? '');
  const isYoung = lastModified !== null && !(age >= SETTLED_MS);
  if (etag === null && (lastModified === null || isYoung)) return null;
  const validators: Validators = isYoung ? { etag, lastModified: null, young: true } : { etag, lastModified };
  return JSON.stringify(validators);
}

function validatorsIn(version: string): Validators {
  const { etag, lastModified, young }: Partial<Validators> = JSON.parse(version);
  return { etag: etag ?? null, lastModified: lastModified ?? null, ...(young && { young }) };
}

/** Headers that request the file only if it no longer has this version. */
export function unlessHeaders(version: string | null): Record<string, string> {
  if (version === null) return {};
  const { etag, lastModified, young } = validatorsIn(version);
  if (young) return {};
  // If-None-Match takes precedence over If-Modified-Since (section 13.1.3).
  if (etag !== null) return { 'if-none-match': etag };
  return lastModified === null ? {} : { 'if-modified-since': lastModified };
}

/**
 * Whether an answer with content has that version: some servers ignore conditions. Only an entity tag
 * proves it.
 */
function isSameVersion(version: string | null, headers: Headers) {
  if (version === null) return false;
  const { etag, young } = validatorsIn(version);
  return etag !== null && young !== true && headerOf(headers, 'etag') === etag;
}

/** Headers that replace a file only if it still has this version; undefined when the version allows no condition. */
function conditionHeaders(version: string | null): Record<string, string> | undefined {
  if (version === null) return { 'if-none-match': '*' };
  const { etag, lastModified } = validatorsIn(version);
  if (etag !== null && !etag.startsWith('W/')) return { 'if-match': etag };
  return lastModified === null ? undefined : { 'if-unmodified-since': lastModified };
}
