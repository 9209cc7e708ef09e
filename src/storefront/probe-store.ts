import { hash } from 'node:crypto';
import { isJsonObject } from '../model/json-object.ts';
import { isTransientStatus } from '../remote/remote-client.ts';
import { cleanMessage } from './clean-message.ts';
import { exchange, NoAnswer, redirectedBase } from './exchange.ts';
import { isDeeperThan, MAX_LEVELS, parseJson } from './read-page.ts';
import { abortListeners } from './wait-queue.ts';

/** The result of one harmless request to a store. */
export type StoreProbe =
  | {
      readonly kind: 'answers';
      readonly ms: number;
      readonly lists: number;
      /** A digest of the ids, names and dates of the lists, which differs between stores; null without lists. */
      readonly listsDigest: string | null;
      /** How far its clock is ahead of ours, in milliseconds; null if the answer has no date. */
      readonly aheadMs: number | null;
    }
  | { readonly kind: 'wrong-key'; readonly status: number; readonly message: string }
  /** Another service answers at the address; `what` describes the answer. */
  | { readonly kind: 'not-the-api'; readonly status: number; readonly what: string }
  /** `base`: the address of the store that it leads to; undefined where it names none. */
  | {
      readonly kind: 'redirect';
      readonly status: number;
      readonly to: string;
      readonly base: string | undefined;
    }
  | { readonly kind: 'failing'; readonly status: number; readonly message: string }
  /** No answer; `code` is the code of the system, such as ECONNREFUSED or CERT_HAS_EXPIRED. */
  | { readonly kind: 'unreachable'; readonly code: string };

interface ProbeOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly userAgent: string;
  readonly signal: AbortSignal;
}

const PATH = '/api/site/subscriber-lists';
/** A check ends earlier, by its signal. */
const ATTEMPT_MS = 60_000;

/**
 * Requests the subscriber lists of the store (storefront-api.md, section 4.3) once; rejects only with the signal's
 * reason.
 */
export async function probeStore({ signal, ...store }: ProbeOptions): Promise<StoreProbe> {
  const wire = exchange({ ...store, connections: 1, attemptMs: ATTEMPT_MS, aborts: abortListeners() });
  const began = performance.now();
  try {
    const answer = await wire.send({ method: 'GET', path: PATH, body: null }, signal);
    const { status, location, date, body: text } = answer;
    const ms = Math.round(performance.now() - began);
    return judgeAnswer({ status, location, date, text, ms }, { apiKey: store.apiKey, now: Date.now() });
  } catch (error) {
    signal.throwIfAborted();
    // The code of the system is more precise than ours: a certificate may have expired.
    return { kind: 'unreachable', code: codeOf(error instanceof NoAnswer ? (error.cause ?? error) : error) };
  } finally {
    await wire.close();
  }
}

interface ProbedAnswer {
  readonly status: number;
  readonly location: string | undefined;
  readonly date: string | undefined;
  readonly text: string;
  readonly ms: number;
}

/** The conclusions from an answer about address and key. */
export function judgeAnswer(
  answer: ProbedAnswer,
  ours: { readonly apiKey: string; readonly now: number },
): StoreProbe {
  const { status, text, ms } = answer;
  const { json, what } = contentOf(text);
  const said = isJsonObject(json) ? json['message'] : undefined;
  const message = typeof said === 'string' ? cleanMessage(said, ours.apiKey) : '';
  if (status === 401 || status === 403) {
    // An answer without JSON does not come from the API: a gateway or a firewall may not know the key.
    const isForeign = json === undefined && text.trim() !== '';
    const foreign = `${what}; a proxy in front of the store may have answered`;
    return { kind: 'wrong-key', status, message: isForeign ? foreign : message };
  }
  if (status >= 300 && status < 400) {
    const base = redirectedBase(answer.location);
    return {
      kind: 'redirect',
      status,
      to: cleanMessage(answer.location ?? '', ours.apiKey),
      base: base === undefined ? undefined : cleanMessage(base, ours.apiKey),
    };
  }
  if (isTransientStatus(status)) return { kind: 'failing', status, message };
  const items = isJsonObject(json) ? json['items'] : json;
  if (status >= 400 || !Array.isArray(items)) {
    return {
      kind: 'not-the-api',
      status,
      what: message === '' || status < 400 ? what : `the message: ${message}`,
    };
  }
  const date = Date.parse(answer.date ?? '');
  const aheadMs = Number.isNaN(date) ? null : date - ours.now;
  return { kind: 'answers', ms, lists: items.length, listsDigest: digestOf(items), aheadMs };
}

/** Figures are left out, because they change from one request to the next. */
function digestOf(lists: readonly unknown[]): string | null {
  const known = lists.flatMap((list) =>
    isJsonObject(list) && 'id' in list ? [JSON.stringify([list['id'], list['name'], list['created']])] : [],
  );
  if (known.length === 0 || known.length < lists.length) return null;
  return hash('sha256', known.sort().join('\n'), 'base64url');
}

/** The JSON of an answer, if it can be read, and the name for an unexpected answer. */
function contentOf(text: string): { readonly json: unknown; readonly what: string } {
  if (text.trim() === '') return { json: undefined, what: 'nothing' };
  if (/^\s*</.test(text)) return { json: undefined, what: 'a web page' };
  if (isDeeperThan(text, MAX_LEVELS))
    return { json: undefined, what: `JSON that nests more than ${MAX_LEVELS} levels` };
  const parsed = parseJson(text);
  return parsed === undefined
    ? { json: undefined, what: 'text that is not JSON' }
    : { json: parsed.value, what: 'JSON of another shape' };
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error.cause instanceof Error ? codeOf(error.cause) : error.name;
}
