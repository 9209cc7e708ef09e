import { createHash } from 'node:crypto';
import { Agent, request } from 'undici';
import { isPassingStatus } from '../model/retry-after.ts';
import { decodeBody } from './decode-body.ts';
import { cleanMessage } from './read-answer.ts';

/** What one harmless request to a store has shown. */
export type StoreProbe =
  | {
      readonly kind: 'answers';
      readonly ms: number;
      readonly lists: number;
      /** A digest of the ids, names and dates of the lists, which differs between stores; null without lists. */
      readonly listsDigest: string | null;
      /** How far its clock is ahead of ours, in milliseconds; null when the answer has no date. */
      readonly aheadMs: number | null;
    }
  | { readonly kind: 'wrong-key'; readonly status: number; readonly message: string }
  /** Something answers there, and it is not the API; `what` says what came instead. */
  | { readonly kind: 'not-the-api'; readonly status: number; readonly what: string }
  | { readonly kind: 'redirect'; readonly status: number; readonly to: string }
  | { readonly kind: 'unwell'; readonly status: number; readonly message: string }
  /** No answer; `code` is that of the system, such as ECONNREFUSED or CERT_HAS_EXPIRED. */
  | { readonly kind: 'unreachable'; readonly code: string };

export interface ProbeOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly userAgent: string;
  readonly signal: AbortSignal;
}

const PATH = '/api/site/subscriber-lists';
const MOST_BYTES = 4 * 1024 * 1024;

/** Asks the store for its subscriber lists (storefront-api.md, section 4.3), once; rejects with the signal's reason only. */
export async function probeStore({ baseUrl, apiKey, userAgent, signal }: ProbeOptions): Promise<StoreProbe> {
  const agent = new Agent({ allowH2: false, maxResponseSize: MOST_BYTES });
  const began = performance.now();
  try {
    const { statusCode, headers, body } = await request(`${baseUrl}${PATH}`, {
      dispatcher: agent,
      signal,
      headers: { authorization: `Bearer ${apiKey}`, 'user-agent': userAgent },
    });
    const bytes = Buffer.from(await body.arrayBuffer());
    const first = (header: string | string[] | undefined) => (Array.isArray(header) ? header[0] : header);
    const decoded = await decodeBody(bytes, first(headers['content-encoding']) ?? '', MOST_BYTES);
    const text = decoded.kind === 'decoded' ? decoded.bytes.toString('utf8') : `(${decoded.kind})`;
    const ms = Math.round(performance.now() - began);
    return judgeAnswer(
      { status: statusCode, location: first(headers['location']), date: first(headers['date']), text, ms },
      { apiKey, now: Date.now() },
    );
  } catch (error) {
    signal.throwIfAborted();
    return { kind: 'unreachable', code: codeOf(error) };
  } finally {
    await agent.destroy();
  }
}

/** An answer as it came. */
export interface ProbedAnswer {
  readonly status: number;
  readonly location: string | undefined;
  readonly date: string | undefined;
  readonly text: string;
  readonly ms: number;
}

/** What an answer says about address and key. */
export function judgeAnswer(
  answer: ProbedAnswer,
  ours: { readonly apiKey: string; readonly now: number },
): StoreProbe {
  const { status, text, ms } = answer;
  const content = contentOf(text);
  const said = typeof content.json === 'object' && content.json !== null && 'message' in content.json;
  const message =
    said && typeof content.json.message === 'string' ? cleanMessage(content.json.message, ours.apiKey) : '';
  if (status === 401 || status === 403) {
    // Without JSON it is no word of the API: a gateway or a firewall may know nothing of the key.
    const isForeign = content.json === undefined && content.what !== 'nothing';
    const what = `${content.what}; perhaps something in front of the store answers`;
    return { kind: 'wrong-key', status, message: isForeign ? what : message };
  }
  if (status >= 300 && status < 400) {
    return { kind: 'redirect', status, to: cleanMessage(answer.location ?? '', ours.apiKey) };
  }
  if (isPassingStatus(status)) return { kind: 'unwell', status, message };
  if (status >= 400)
    return { kind: 'not-the-api', status, what: message === '' ? content.what : `the message: ${message}` };
  const items = itemsIn(content.json);
  if (items === undefined) return { kind: 'not-the-api', status, what: content.what };
  const date = Date.parse(answer.date ?? '');
  const aheadMs = Number.isNaN(date) ? null : date - ours.now;
  return { kind: 'answers', ms, lists: items.length, listsDigest: digestOf(items), aheadMs };
}

/** Figures are left out: they change from one request to the next. */
function digestOf(lists: readonly unknown[]): string | null {
  const known = lists.flatMap((list) => {
    if (typeof list !== 'object' || list === null || !('id' in list)) return [];
    const { id, name, created }: { id: unknown; name?: unknown; created?: unknown } = list;
    return [JSON.stringify([id, name, created])];
  });
  if (known.length === 0 || known.length < lists.length) return null;
  return createHash('sha256').update(known.sort().join('\n')).digest('base64url');
}

/** The items of a list, bare or in the envelope of section 8; undefined when it is neither. */
function itemsIn(json: unknown): readonly unknown[] | undefined {
  const list = typeof json === 'object' && json !== null && 'items' in json ? json.items : json;
  return Array.isArray(list) ? list : undefined;
}

function contentOf(text: string): { readonly json: unknown; readonly what: string } {
  try {
    return { json: JSON.parse(text.replace(/^\ufeff/, '')), what: 'JSON of another shape' };
  } catch {
    if (text.trim() === '') return { json: undefined, what: 'nothing' };
    return { json: undefined, what: /^\s*</.test(text) ? 'a web page' : 'something else than JSON' };
  }
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error.cause instanceof Error ? codeOf(error.cause) : error.name;
}
