import { isPassingStatus } from '../model/passing-status.ts';
import { withoutPeople } from '../model/personal-data.ts';
import { retryAfterMs } from '../model/retry-after.ts';
import type { RawAnswer } from './exchange.ts';
import { type Expectation, type Proof, saysFailure } from './proof.ts';
import { cleanMessage } from './store-message.ts';

/** Why an attempt is to be repeated. */
export interface Failure {
  /** Stable: `store-503`, `store-redirect`, `answer-unreadable`, `answer-unproved`, `answer-not-success`, or a code of NoAnswer. */
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
  | {
      readonly kind: 'ok';
      readonly status: number;
      readonly value: unknown;
      readonly text: string;
      readonly proof: Proof;
    }
  /** A 4xx: the store will say the same again. */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly message: string;
      /** The answer has the API's error body: it is not that of something before the store. */
      readonly isFromApi: boolean;
    }
  | { readonly kind: 'unauthorized'; readonly status: number; readonly message: string }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** The store's last word on a request. */
export type Settled = Exclude<Verdict, { kind: 'failed' }>;

interface Reader {
  readonly apiKey: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** What acknowledges a write; undefined for a read. */
  readonly expected: Expectation | undefined;
}

/** Of an answer that is not what was expected, a message shows so many characters. */
const START_LENGTH = 120;

/** The text values of JSON, also where it is cut. */
const TEXT_VALUES = /(:\s*)"(?:[^"\\]|\\.)*"?/g;

function parse(body: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(body.charCodeAt(0) === 0xfeff ? body.slice(1) : body) };
  } catch {
    return undefined;
  }
}

/** The human-readable message of an error body, or else what the status says. */
function messageOf({ status }: RawAnswer, value: unknown, { apiKey, expected }: Reader): string {
  const text = typeof value === 'object' && value !== null && 'message' in value ? value.message : undefined;
  const words = typeof text === 'string' ? cleanMessage(text, apiKey) : '';
  const message = expected?.personalData == null ? words : withoutPeople(words, expected.personalData());
  return message === '' ? `the store answered ${status} without a message` : message;
}

/** How an answer begins, fit for a message. */
function startOf({ body }: RawAnswer, { apiKey, expected }: Reader): string {
  const start = body.slice(0, 4 * START_LENGTH);
  const shown = expected?.personalData != null ? start.replaceAll(TEXT_VALUES, '$1"…"') : start;
  const line = cleanMessage(shown, apiKey);
  if (line === '') return 'the answer has no body';
  return `the answer begins: ${line.length > START_LENGTH ? `${line.slice(0, START_LENGTH - 1)}…` : line}`;
}

function failed(
  answer: RawAnswer,
  reader: Reader,
  failure: Pick<Failure, 'code' | 'message' | 'mayHaveArrived' | 'mayBeAtWork'>,
): Verdict {
  const retryAfter = retryAfterMs(answer.retryAfter, reader.now);
  return { kind: 'failed', failure: { ...failure, status: answer.status, retryAfterMs: retryAfter } };
}

function readSuccess(answer: RawAnswer, reader: Reader): Verdict {
  const { status, body } = answer;
  const { expected } = reader;
  const isEmpty = body.trim() === '';
  const parsed = isEmpty ? { value: undefined } : parse(body);
  const value = parsed?.value;
  const proof = expected === undefined ? NOTHING_TO_PROVE : expected.prove(value);
  const unknown = (code: string, message: string): Verdict =>
    failed(answer, reader, { code, message, mayHaveArrived: true, mayBeAtWork: false });
  if (parsed === undefined || (isEmpty && (expected === undefined || typeof proof === 'string'))) {
    const message = `the store answered ${status} without whole JSON; ${startOf(answer, reader)}; is its baseUrl the store's own?`;
    return unknown('answer-unreadable', message);
  }
  if (saysFailure(value)) return unknown('answer-not-success', messageOf(answer, value, reader));
  if (typeof proof === 'string') {
    const message = `the store answered ${status}, but not with ${proof}; ${startOf(answer, reader)}`;
    return unknown('answer-unproved', message);
  }
  return { kind: 'ok', status, value, text: body, proof };
}

const NOTHING_TO_PROVE: Proof = { id: null };

/** Whether a status comes from something before the store, which may still be at work: 520 and more are those of CDNs. */
function isOfGateway(status: number): boolean {
  return status === 502 || status === 504 || status >= 520;
}

/**
 * Success is a 2xx that proves what was expected; a read expects whole JSON that does not say `success: false`. 401
 * means the key, and 403 where nothing was to be written; other 4xx, but not 408 and 429, are the store's last word on
 * the record; everything else is a failure that may pass, redirects included: they are never followed, since the key
 * would go with them. Only 429, and 503 with Retry-After, say that nothing was done.
 */
export function readAnswer(answer: RawAnswer, reader: Reader): Verdict {
  const { status } = answer;
  if (status >= 200 && status < 300) return readSuccess(answer, reader);
  if (status >= 300 && status < 400) {
    const to = answer.location === undefined ? '' : ` to ${cleanMessage(answer.location, reader.apiKey)}`;
    const message = `the store answered ${status}, a redirect${to}: baseUrl must be the address that answers itself`;
    return failed(answer, reader, {
      code: 'store-redirect',
      message,
      mayHaveArrived: true,
      mayBeAtWork: false,
    });
  }
  const value = parse(answer.body)?.value;
  const message = messageOf(answer, value, reader);
  if (status === 401 || (status === 403 && reader.expected === undefined)) {
    return { kind: 'unauthorized', status, message };
  }
  if (status >= 400 && !isPassingStatus(status)) {
    return { kind: 'refused', status, message, isFromApi: saysFailure(value) };
  }
  const isPushBack =
    status === 429 || (status === 503 && retryAfterMs(answer.retryAfter, reader.now) !== undefined);
  return failed(answer, reader, {
    code: `store-${status}`,
    message,
    mayHaveArrived: !isPushBack,
    mayBeAtWork: isOfGateway(status),
  });
}
