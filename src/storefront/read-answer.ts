import { isPassingStatus, isPushBack, retryAfterMs } from '../model/clock.ts';
import { isJsonObject } from '../model/json-object.ts';
import { AS_SENT } from '../model/operation.ts';
import { truncate } from '../model/truncate.ts';
import { secretRedactor, withoutPeople } from '../text/masked.ts';
import type { RawAnswer } from './exchange.ts';
import { type Expectation, type Proof, reportsFailure } from './proof.ts';
import { isDeeperThan, MAX_LEVELS } from './read-page.ts';

/** The uncertainty that failed attempts leave about an operation. */
export interface Doubt {
  /** It may have taken effect in the store. */
  readonly mayHaveArrived: boolean;
  /** The store may still be processing it: none of its own answers has ended it. */
  readonly mayBeAtWork: boolean;
}

/** Every attempt certainly had no effect. */
export const NO_DOUBT: Doubt = { mayHaveArrived: false, mayBeAtWork: false };

/** Why an attempt will be repeated. */
export interface Failure extends Doubt {
  /** Stable: `store-503`, `store-redirect`, `answer-unreadable`, `answer-unproved`, `answer-not-success`, or a code of NoAnswer. */
  readonly code: string;
  readonly message: string;
  /** Null without an answer. */
  readonly status: number | null;
  readonly retryAfterMs: number | undefined;
}

/** The meaning of an answer (storefront-api.md, section 7, and the design's "Errors"). */
export type Verdict =
  | {
      readonly kind: 'ok';
      readonly status: number;
      readonly value: unknown;
      readonly text: string;
      readonly proof: Proof;
    }
  /** A 4xx: the store would give the same answer again. */
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly message: string;
      /** The answer has the API's error body, so it comes from the store and not from a gateway. */
      readonly isFromApi: boolean;
    }
  | { readonly kind: 'unauthorized'; readonly status: number; readonly message: string }
  | { readonly kind: 'failed'; readonly failure: Failure };

/** An answer that ends a request, because no retry can change it. */
export type Settled = Exclude<Verdict, { kind: 'failed' }>;

interface Reader {
  readonly apiKey: string;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** What acknowledges a write; undefined for a read. */
  readonly expected: Expectation | undefined;
}

/** A message quotes this many characters of an unexpected answer. */
const START_LENGTH = 120;

/** The proof of a read. */
const NOTHING_TO_PROVE: Proof = { id: null };

/** The text values of JSON, also if it is cut. */
const TEXT_VALUES = /(:\s*)"(?:[^"\\]|\\.)*"?/g;

/** A shorter text cannot take much memory, whatever it contains. */
const HARMLESS_LENGTH = 64 * 1_024;
/** Each takes up to 60 bytes of memory for two bytes of text. */
const MAX_CONTAINERS = 1_000_000;

/**
 * The value of a JSON text, with or without a byte order mark; undefined for other text, and for a long one of more levels, or of
 * more objects and lists, than any answer has: parsing it would take fifty times its size.
 */
export function parseJson(body: string): { readonly value: unknown } | undefined {
  if (isExcessive(body)) return undefined;
  try {
    return { value: JSON.parse(body.charCodeAt(0) === 0xfeff ? body.slice(1) : body) };
  } catch {
    return undefined;
  }
}

function isExcessive(body: string): boolean {
  return body.length > HARMLESS_LENGTH && isDeeperThan(body, MAX_LEVELS, MAX_CONTAINERS);
}

/** The message of an error body, or else a sentence with the status. */
function messageOf(answer: RawAnswer, value: unknown, reader: Reader): string {
  const { apiKey, expected } = reader;
  const text = isJsonObject(value) ? value['message'] : undefined;
  // Only the refusal of a product must name the wrong field or value; `withoutPersonalData` masks it before it leaves
  // this machine.
  const isOfProduct = expected?.personalData === null && isRefusal(answer.status);
  const unnamed = (words: string) =>
    isOfProduct ? words : withoutPeople(words, expected?.personalData?.() ?? []);
  const message = typeof text === 'string' ? cleanMessage(text, apiKey, { unnamed }) : '';
  return message === '' ? withoutMessage(answer, value, reader) : message;
}

/**
 * The description of an answer without a usable message: its start, and whether it can come from the API, which sends
 * JSON.
 */
function withoutMessage(answer: RawAnswer, value: unknown, reader: Reader): string {
  const { status, body } = answer;
  if (body.trim() === '') return `the store answered ${status} without a message`;
  const start = startOf(answer, reader);
  if (typeof value === 'object') return `the store answered ${status} without a message; ${start}`;
  return `the store answered ${status}, but not in the format of its API; a proxy in front of the store may have answered; ${start}`;
}

/** The beginning of an answer, for a message. */
function startOf({ body }: RawAnswer, { apiKey, expected }: Reader): string {
  const unnamed = (words: string) =>
    expected?.personalData == null ? words : impersonal(words, expected.personalData());
  const line = cleanMessage(body, apiKey, { unnamed, length: START_LENGTH });
  return line === '' ? 'the answer has no body' : `the answer begins: ${line}`;
}

/**
 * The start of an answer about a contact: JSON keeps its shape, other text keeps its words except those about people.
 */
function impersonal(start: string, values: readonly string[]): string {
  return /^\s*[[{]/.test(start) ? start.replaceAll(TEXT_VALUES, '$1"…"') : withoutPeople(start, values);
}

function failed(
  answer: RawAnswer,
  reader: Reader,
  failure: Pick<Failure, 'code' | 'message'> & Doubt,
): Verdict {
  const retryAfter = retryAfterMs(answer.retryAfter, reader.now);
  return { kind: 'failed', failure: { ...failure, status: answer.status, retryAfterMs: retryAfter } };
}

function readSuccess(answer: RawAnswer, reader: Reader): Verdict {
  const { status, body } = answer;
  const { expected } = reader;
  const repeated = expected?.proveRepeated?.(body);
  if (repeated !== undefined) return { kind: 'ok', status, value: AS_SENT, text: body, proof: repeated };
  const isEmpty = body.trim() === '';
  const parsed = isEmpty ? { value: undefined } : parseJson(body);
  const value = parsed?.value;
  const proof = expected === undefined ? NOTHING_TO_PROVE : expected.prove(value);
  const unknown = (code: string, message: string): Verdict =>
    failed(answer, reader, { code, message, mayHaveArrived: true, mayBeAtWork: false });
  if (parsed === undefined || (isEmpty && (expected === undefined || typeof proof === 'string'))) {
    const what = isExcessive(body)
      ? `with JSON of more than ${MAX_LEVELS} levels, or ${MAX_CONTAINERS} objects and lists`
      : 'without complete JSON';
    const message = `the store answered ${status} ${what}; ${startOf(answer, reader)}; check that baseUrl is the address of the store`;
    return unknown('answer-unreadable', message);
  }
  if (reportsFailure(value)) return unknown('answer-not-success', messageOf(answer, value, reader));
  if (typeof proof === 'string') {
    const message = `the store answered ${status}, but not with ${proof}; ${startOf(answer, reader)}`;
    return unknown('answer-unproved', message);
  }
  return { kind: 'ok', status, value, text: body, proof };
}

/** Whether a status other than 401 means that the request is wrong and always will be. */
function isRefusal(status: number): boolean {
  return status >= 400 && status !== 401 && !isPassingStatus(status);
}

/**
 * Whether a status comes from a gateway, behind which the store may still be processing the request: 520 and more are
 * those of CDNs.
 */
function isOfGateway(status: number): boolean {
  return status === 502 || status === 504 || status >= 520;
}

/**
 * Classifies an answer:
 *
 * - ok: a 2xx that proves what was expected; a read expects whole JSON without `success: false`.
 * - unauthorized: 401, and 403 to a read.
 * - refused: any other 4xx but 408 and 429. A retry would be refused as well.
 * - failed, to be retried: everything else. The request may have taken effect, except after 429 and after 503 with
 *   Retry-After. Redirects are never followed, since the API key would be sent to another address.
 */
export function readAnswer(answer: RawAnswer, reader: Reader): Verdict {
  const { status } = answer;
  if (status >= 200 && status < 300) return readSuccess(answer, reader);
  if (status >= 300 && status < 400) {
    const to = answer.location === undefined ? '' : ` to ${cleanMessage(answer.location, reader.apiKey)}`;
    const message = `the store answered ${status}, a redirect${to}; set baseUrl to the final address`;
    return failed(answer, reader, {
      code: 'store-redirect',
      message,
      mayHaveArrived: true,
      mayBeAtWork: false,
    });
  }
  const value = parseJson(answer.body)?.value;
  const message = messageOf(answer, value, reader);
  if (status === 401 || (status === 403 && reader.expected === undefined)) {
    return { kind: 'unauthorized', status, message };
  }
  if (isRefusal(status)) {
    return { kind: 'refused', status, message, isFromApi: reportsFailure(value) };
  }
  const isRefusedForNow = isPushBack(status, retryAfterMs(answer.retryAfter, reader.now));
  return failed(answer, reader, {
    code: `store-${status}`,
    message,
    ...(isRefusedForNow ? NO_DOUBT : { mayHaveArrived: true, mayBeAtWork: isOfGateway(status) }),
  });
}

/** The longest message of a store that is shown, in characters. */
const MAX_MESSAGE_LENGTH = 300;
/** The number of characters that are searched for keys: far more than are shown, so that no cut key is among them. */
const MAX_CLEANED_LENGTH = 64 * 1_024;
/** Personal data is searched in so many characters, which end with a word: more than are shown, so that no cut name is among them. */
const MAX_MASKED_LENGTH = 1_024;

/**
 * Separators of words, and characters that do not belong in a line of text: control, format and bidirectional marks.
 */
const BREAKS = /[\p{Cc}\p{Zl}\p{Zp}\s]+/gu;
const INVISIBLE = /[\p{Cf}\p{Co}\p{Cs}\p{Cn}]/gu;

interface Cleaning {
  /** In characters. */
  readonly length?: number;
  /** Removes personal data from the words. */
  readonly unnamed?: (words: string) => string;
}

/**
 * A text of the store that is safe to log and show: one line, of limited length, without our API key in any form. It
 * is cut last, because part of a key or a name would not be recognised.
 */
export function cleanMessage(
  text: string,
  apiKey: string,
  { length = MAX_MESSAGE_LENGTH, unnamed = (words) => words }: Cleaning = {},
): string {
  const key = secretRedactor('[API key]');
  key.add(apiKey);
  const line = text.slice(0, MAX_CLEANED_LENGTH).replace(BREAKS, ' ').replace(INVISIBLE, '').trim();
  const redacted = key.redact(line);
  const start = unnamed(wholeWords(redacted));
  if (start.length <= length && redacted.length <= MAX_MASKED_LENGTH) return start;
  return truncate(`${start}…`, length);
}

/** The start of a line, cut between words if there are several. */
function wholeWords(line: string): string {
  if (line.length <= MAX_MASKED_LENGTH) return line;
  const end = line.lastIndexOf(' ', MAX_MASKED_LENGTH);
  return line.slice(0, end > 0 ? end : MAX_MASKED_LENGTH).replace(HALF_OF_PAIR, '');
}

const HALF_OF_PAIR = /[\ud800-\udbff]$/;
