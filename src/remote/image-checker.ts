import { refusePrivateHost } from './guarded-lookup.ts';
import {
  type Answer,
  followRedirects,
  guardedAgent,
  headerOf,
  unlessHeaders,
  versionOf,
} from './http-client.ts';
import { connectionFailure, dropContent } from './remote-client.ts';

/**
 * The facts about an image address. `unknown`: it could not be checked, which says nothing about the image: many servers
 * refuse programs. `busy`: the same, and the server asks for fewer requests.
 */
type ImageVerdict =
  | { readonly kind: 'good'; readonly version: string | null }
  | { readonly kind: 'broken' | 'unknown' | 'busy'; readonly problem: string };

/** Checks image addresses, without reading the images. */
interface ImageChecker extends AsyncDisposable {
  /**
   * Checks one address. `version`: what an earlier check found, so that the server can answer that nothing has changed.
   * Rejects only with the reason of the signal.
   */
  check(address: string, version: string | null, signal: AbortSignal): Promise<ImageVerdict>;
}

const ANSWER_MS = 10_000;
const TIMEOUTS = { connectMs: ANSWER_MS, headersMs: ANSWER_MS, silenceMs: ANSWER_MS };
/** A larger image is not suitable for a shop. */
const MAX_BYTES = 50_000_000;

/** Opens a checker; private addresses are refused, unless they are allowed. */
export function imageChecker({
  allowPrivateAddresses,
}: {
  readonly allowPrivateAddresses: boolean;
}): ImageChecker {
  const agent = guardedAgent(allowPrivateAddresses, TIMEOUTS);

  async function requestImage(
    address: string,
    method: 'HEAD' | 'GET',
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ) {
    const { answer } = await followRedirects(new URL(address), 'redirects', async (url) => {
      refusePrivateHost(url.hostname, allowPrivateAddresses);
      const asked = await agent.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        signal,
        headers: { 'user-agent': 'storeferry', accept: 'image/*,*/*;q=0.5', ...headers },
      });
      dropContent(asked.body);
      return asked;
    });
    return answer;
  }

  return {
    async check(address, version, signal) {
      if (!URL.canParse(address)) return { kind: 'broken', problem: 'no valid address' };
      try {
        const head = await requestImage(address, 'HEAD', unlessHeaders(version), signal);
        const { statusCode: status } = head;
        if (status === 304) return { kind: 'good', version };
        if (isBusy(status) || isConclusive(head)) return verdictOf(head);
        // Some servers answer only GET correctly: one byte is enough.
        return verdictOf(await requestImage(address, 'GET', { range: 'bytes=0-0' }, signal));
      } catch (error) {
        signal.throwIfAborted();
        const failure = connectionFailure(error);
        return { kind: failure.kind === 'permanent' ? 'broken' : 'unknown', problem: failure.message };
      }
    },
    [Symbol.asyncDispose]: () => agent.destroy(),
  };
}

function isBusy(status: number) {
  return status === 429 || status === 503;
}

/** Whether the answer to a HEAD shows that there is an image. */
function isConclusive({ statusCode, headers }: Answer) {
  return (
    statusCode === 200 &&
    contentType(headers).startsWith('image/') &&
    headerOf(headers, 'content-length') !== '0'
  );
}

function verdictOf({ statusCode: status, headers }: Answer): ImageVerdict {
  if (isBusy(status)) return { kind: 'busy', problem: `the server asks for fewer requests (${status})` };
  if (status === 404 || status === 410) return { kind: 'broken', problem: `not found (${status})` };
  if (status !== 200 && status !== 206 && status !== 416) {
    return { kind: 'unknown', problem: `the server answers ${status}` };
  }
  const type = contentType(headers);
  if (!(type === '' || type.startsWith('image/') || type === 'application/octet-stream')) {
    return { kind: 'broken', problem: `is ${type}` };
  }
  const size = contentSize(headers);
  if (size === 0) return { kind: 'broken', problem: 'is empty' };
  if (size !== null && size > MAX_BYTES) return { kind: 'broken', problem: 'is larger than 50 MB' };
  return { kind: 'good', version: versionOf(headers) };
}

function contentType(headers: Answer['headers']) {
  return (headerOf(headers, 'content-type') ?? '').split(';', 1).join('').trim().toLowerCase();
}

/** In bytes; null if the server does not give it. */
function contentSize(headers: Answer['headers']) {
  const whole = /\/(\d+)$/.exec(headerOf(headers, 'content-range') ?? '')?.[1];
  const length = whole ?? headerOf(headers, 'content-length');
  return length === null ? null : Number(length);
}
