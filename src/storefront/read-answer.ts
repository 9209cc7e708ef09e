import { isPassingStatus } from '../model/passing-status.ts';
import { retryAfterMs } from '../model/retry-after.ts';
import type { RawAnswer } from './exchange.ts';
import { cleanMessage } from './store-message.ts';

/** Why an attempt is to be repeated. */
export interface Failure {
  /** Stable: `store-503`, `store-redirect`, `answer-unreadable`, `answer-not-success`, or a code of NoAnswer. */
  readonly code: string;
  readonly message: string;
  /** Null without an answer. */
  readonly status: number | null;
  readonly retryAfterMs: number | undefined;
  /** Whether the request may have taken effect all the same. */
  readonly mayHaveArrived: boolean;
  /** Whether the store may go on working on it: nothing that answers has ended it. */
  readonly mayBeAtWork: boolean;
}

/** What an answer means (storefront-api.md, section 7, and the design's "Errors"). */
export type Verdict =
  | { readonly kind: 'ok'; readonly status: number; readonly value: unknown; readonly text: string }
  /** A 4xx: the store will say the same again. */
  | { readonly kind: 'refused'; readonly status: number; readonly message: string }
  | { readonly kind: 'unauthorized'; readonly status: number; readonly message: string }
  | { readonly kind: 'failed'; readonly failure: Failure };

interface Reader {
  readonly apiKey: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

function parse(body: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(body.charCodeAt(0) === 0xfeff ? body.slice(1) : body) };
  } catch {
    return undefined;
  }
}

/** The human-readable message of an error body, or else what the status says. */
function messageOf({ status }: RawAnswer, value: unknown, apiKey: string): string {
  const text = typeof value === 'object' && value !== null && 'message' in value ? value.message : undefined;
  const message = typeof text === 'string' ? cleanMessage(text, apiKey) : '';
  return message === '' ? `the store answered ${status} without a message` : message;
}

function failed(
  answer: RawAnswer,
  reader: Reader,
  failure: Pick<Failure, 'code' | 'message' | 'mayHaveArrived'>,
): Verdict {
  const retryAfter = retryAfterMs(answer.retryAfter, reader.now);
  const { status } = answer;
  const mayBeAtWork = GATEWAY_GAVE_UP.has(status);
  return { kind: 'failed', failure: { ...failure, status, retryAfterMs: retryAfter, mayBeAtWork } };
}

function readSuccess(answer: RawAnswer, reader: Reader): Verdict {
  const parsed = parse(answer.body);
  if (parsed === undefined) {
    const message = `the store answered ${answer.status} without whole JSON: is its baseUrl the store's own?`;
    return failed(answer, reader, { code: 'answer-unreadable', message, mayHaveArrived: true });
  }
  const { value } = parsed;
  if (typeof value === 'object' && value !== null && 'success' in value && value.success === false) {
    const message = messageOf(answer, value, reader.apiKey);
    return failed(answer, reader, { code: 'answer-not-success', message, mayHaveArrived: false });
  }
  return { kind: 'ok', status: answer.status, value, text: answer.body };
}

/** These come from something before the store, which may still be at work. */
const GATEWAY_GAVE_UP = new Set([502, 504]);

/** These say that nothing was done; other server errors may come after the deed. */
const CERTAINLY_NOT_DONE = new Set([408, 429, 503]);

/**
 * Success is a 2xx with whole JSON that does not say `success: false`. 401 and 403 mean the key; other 4xx, but
 * not 408 and 429, are the store's last word on the record; everything else is a failure that may pass, redirects
 * included: they are never followed, since the key would go with them.
 */
export function readAnswer(answer: RawAnswer, reader: Reader): Verdict {
  const { status } = answer;
  if (status >= 200 && status < 300) return readSuccess(answer, reader);
  if (status >= 300 && status < 400) {
    const to = answer.location === undefined ? '' : ` to ${cleanMessage(answer.location, reader.apiKey)}`;
    const message = `the store answered ${status}, a redirect${to}: baseUrl must be the address that answers itself`;
    return failed(answer, reader, { code: 'store-redirect', message, mayHaveArrived: false });
  }
  const message = messageOf(answer, parse(answer.body)?.value, reader.apiKey);
  if (status === 401 || status === 403) return { kind: 'unauthorized', status, message };
  if (status >= 400 && !isPassingStatus(status)) return { kind: 'refused', status, message };
  const mayHaveArrived = !CERTAINLY_NOT_DONE.has(status);
  return failed(answer, reader, { code: `store-${status}`, message, mayHaveArrived });
}
