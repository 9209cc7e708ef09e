import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate, inflateRaw, zstdDecompress } from 'node:zlib';
import { type Dispatcher, errors, Pool } from 'undici';
import { isJsonObject } from '../model/json-object.ts';
import { AS_SENT } from '../model/operation.ts';
import { errorCode } from '../model/storeferry-error.ts';
import { isTransientStatus, retryAfterMs } from '../remote/remote-client.ts';
import { maskPeople } from '../text/mask-personal-data.ts';
import { cleanMessage } from './clean-message.ts';
import { type Expectation, type Proof, reportsFailure } from './proof.ts';
import { isExcessive, MAX_CONTAINERS, MAX_LEVELS, parseJson } from './read-page.ts';
import type { AbortListeners } from './wait-queue.ts';

/** A request to the store; `path` is relative to its base URL. */
export interface StoreRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** JSON, or null for none. */
  readonly body: string | null;
}

/** A complete answer. */
export interface RawAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly location: string | undefined;
  readonly date?: string | undefined;
  /** Decoded text. If it cannot be decoded, a sentence that says so and is not JSON. */
  readonly body: string;
}

/** No complete answer was received. */
export class NoAnswer extends Error {
  /** Stable: `connection-refused`, `host-not-found`, `connection-lost`, `timeout`, `answer-too-large`. */
  readonly code: string;
  /** Whether the request may have taken effect nevertheless. */
  readonly mayHaveArrived: boolean;

  constructor(code: string, message: string, mayHaveArrived: boolean, cause: unknown) {
    super(message, { cause });
    this.name = 'NoAnswer';
    this.code = code;
    this.mayHaveArrived = mayHaveArrived;
  }
}

/** Sends one request once. */
export interface Exchange {
  /** Rejects with NoAnswer, or with the reason of the first of `signals` that aborts. */
  send(request: StoreRequest, ...signals: readonly AbortSignal[]): Promise<RawAnswer>;
  /** Waits for requests in flight. */
  close(): Promise<void>;
}

/** A connection that takes longer is given up before the attempt's deadline: nothing has been sent yet. */
const CONNECT_DEADLINE_MS = 10_000;

/** 50 orders or one product are far smaller: a larger answer is not from this API. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

interface ExchangeOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly userAgent: string;
  readonly connections: number;
  /**
   * The deadline of an attempt, in milliseconds of the machine: connecting, sending, interim responses, headers and
   * body. After the crash of a process, other processes rely on it (`src/state/open-sending.ts`).
   */
  readonly attemptMs: number;
  readonly aborts: AbortListeners;
}

function firstOf(header: string | string[] | undefined) {
  return Array.isArray(header) ? header[0] : header;
}

function noAnswer(error: Error, sent: boolean) {
  const code = errorCode(error);
  const of = (kind: string, message: string) => new NoAnswer(kind, message, sent, error);
  switch (code) {
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return of('timeout', sent ? 'no answer in time' : 'no connection in time');
    case 'UND_ERR_RES_EXCEEDED_MAX_SIZE':
      return of('answer-too-large', `an answer of more than ${MAX_ANSWER_BYTES >> 20} MiB`);
    case 'ECONNREFUSED':
      return of('connection-refused', 'no server listens at the store’s address');
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return of('host-not-found', 'the store’s host name cannot be resolved');
    default:
      return of('connection-lost', `the connection failed (${code})`);
  }
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

interface CallOptions {
  readonly resolve: (answer: RawAnswer) => void;
  readonly reject: (reason: unknown) => void;
  readonly signals: readonly AbortSignal[];
  readonly aborts: AbortListeners;
  readonly attemptMs: number;
}

/**
 * One request and its answer; undici calls it. It costs less than `Pool.request`, which makes a stream of every body, and one
 * object less than closures for each of its ends.
 */
class Call implements Dispatcher.DispatchHandler {
  readonly #options: CallOptions;
  readonly #deadline: NodeJS.Timeout;
  #controller: Dispatcher.DispatchController | null = null;
  #chunks: Buffer[] = [];
  #status = 0;
  #headers: Headers = {};
  #canceled: Error | null = null;

  constructor(options: CallOptions) {
    this.#options = options;
    for (const signal of options.signals) options.aborts.add(signal, this.#onAbort);
    this.#deadline = setTimeout(this.#onDeadline, options.attemptMs);
  }

  readonly #onAbort = () => {
    this.#cancel(this.#options.signals.find(({ aborted }) => aborted)?.reason);
  };

  readonly #onDeadline = () => {
    const message = `no complete answer within ${this.#options.attemptMs / 1_000} seconds`;
    this.#cancel(new NoAnswer('timeout', message, this.#controller !== null, undefined));
  };

  /** Rejects first: undici reports the abort at once, as if the connection had failed. */
  #cancel(reason: unknown): void {
    this.#forget();
    this.#options.reject(reason);
    this.#canceled = new errors.RequestAbortedError();
    this.#controller?.abort(this.#canceled);
  }

  #settle(result: RawAnswer | Error): void {
    this.#forget();
    const { resolve, reject } = this.#options;
    if (!(result instanceof Error)) resolve(result);
    else if (result instanceof errors.InvalidArgumentError) reject(new TypeError(result.message));
    else reject(noAnswer(result, this.#controller !== null));
  }

  #forget(): void {
    clearTimeout(this.#deadline);
    const { signals, aborts } = this.#options;
    for (const signal of signals) aborts.remove(signal, this.#onAbort);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#canceled === null) this.#controller = controller;
    else controller.abort(this.#canceled);
  }

  /** Also called for interim responses, before the final one. */
  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: Headers): void {
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    const [only] = this.#chunks;
    const bytes = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
    const encoding = firstOf(this.#headers['content-encoding']);
    if (encoding === undefined) this.#settle(this.#answer(bytes.toString('utf8')));
    else void this.#decode(bytes, encoding);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle(error);
  }

  #answer(body: string): RawAnswer {
    const { 'retry-after': retryAfter, location, date } = this.#headers;
    return {
      status: this.#status,
      retryAfter: firstOf(retryAfter),
      location: firstOf(location),
      date: firstOf(date),
      body,
    };
  }

  async #decode(bytes: Buffer, encoding: string): Promise<void> {
    const decoded = await decodeBody(bytes, encoding, MAX_ANSWER_BYTES);
    switch (decoded.kind) {
      case 'decoded':
        this.#settle(this.#answer(decoded.bytes.toString('utf8')));
        break;
      case 'unreadable':
        this.#settle(this.#answer(`(${decoded.encoding} that cannot be decoded)`));
        break;
      case 'too-large':
        this.#settle(new errors.ResponseExceededMaxSizeError());
        break;
      default:
        throw new Error(`Unknown body: ${decoded satisfies never}`);
    }
  }
}

/**
 * HTTP to one store over a pool of keep-alive connections, one request at a time on each (no pipelining and no
 * HTTP/2: a lost connection then leaves exactly one request in doubt). Never follows redirects. Requests no
 * compression, but decodes it.
 */
export function exchange(options: ExchangeOptions): Exchange {
  const { connections, attemptMs, aborts } = options;
  const base = new URL(options.baseUrl);
  const prefix = base.pathname.replace(/(?<!\/)\/+$/, '');
  const pool = new Pool(base.origin, {
    connections,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: Math.min(CONNECT_DEADLINE_MS, attemptMs) },
    // The deadline of a call includes both; undici would set and clear a timer of its own for each.
    headersTimeout: 0,
    bodyTimeout: 0,
    maxResponseSize: MAX_ANSWER_BYTES,
  });
  const bare = ['authorization', `Bearer ${options.apiKey}`, 'user-agent', options.userAgent];
  const withBody = [...bare, 'content-type', 'application/json'];

  return {
    send({ method, path, body }, ...signals) {
      return new Promise((resolve, reject) => {
        const aborted = signals.find((signal) => signal.aborted);
        if (aborted !== undefined) {
          reject(aborted.reason);
          return;
        }
        pool.dispatch(
          { method, path: prefix + path, headers: body === null ? bare : withBody, body },
          new Call({ resolve, reject, signals, aborts, attemptMs }),
        );
      });
    },
    close: () => pool.close(),
  };
}

/** The uncertainty that failed attempts leave about an operation. */
export interface Uncertainty {
  /** It may have taken effect in the store. */
  readonly mayHaveArrived: boolean;
  /** The store may still be processing it: none of its own answers has ended it. */
  readonly mayBeAtWork: boolean;
}

/** Every attempt certainly had no effect. */
export const NO_EFFECT: Uncertainty = { mayHaveArrived: false, mayBeAtWork: false };

/** Why an attempt will be repeated. */
export interface Failure extends Uncertainty {
  /** Stable: `store-503`, `store-redirect`, `answer-unreadable`, `answer-unproved`, `answer-not-success`, or a code of NoAnswer. */
  readonly code: string;
  readonly message: string;
  /** Null without an answer. */
  readonly status: number | null;
  readonly retryAfterMs: number | undefined;
  /** The address of a store to which a redirect leads, as a configuration has it. */
  readonly movedTo?: string | undefined;
}

/** The meaning of an answer (storefront-api.md, section 7). */
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

/** The proof of a read. */
const NOTHING_TO_PROVE: Proof = { id: null };

/** A message quotes this many characters of an unexpected answer. */
const START_LENGTH = 120;

/** The text values of JSON, also if it is cut. */
const TEXT_VALUES = /(:\s*)"(?:[^"\\]|\\.)*"?/g;

/** The message of an error body, or else a sentence with the status. */
function messageOf(answer: RawAnswer, value: unknown, reader: Reader) {
  const { apiKey, expected } = reader;
  const text = isJsonObject(value) ? value['message'] : undefined;
  // Only the refusal of a product must name the wrong field or value; `withoutPersonalData` masks it before it leaves
  // this machine.
  const isOfProduct = expected?.personalData === null && isRefusal(answer.status);
  const unnamed = (words: string) =>
    isOfProduct ? words : maskPeople(words, expected?.personalData?.() ?? []);
  const message = typeof text === 'string' ? cleanMessage(text, apiKey, { unnamed }) : '';
  return message === '' ? withoutMessage(answer, value, reader) : message;
}

/**
 * The description of an answer without a usable message: its start, and whether it can come from the API, which sends
 * JSON.
 */
function withoutMessage(answer: RawAnswer, value: unknown, reader: Reader) {
  const { status, body } = answer;
  if (body.trim() === '') return `the store answered ${status} without a message`;
  const start = startOf(answer, reader);
  if (typeof value === 'object') return `the store answered ${status} without a message; ${start}`;
  return `the store answered ${status}, but not in the format of its API; a proxy in front of the store may have answered; ${start}`;
}

/** The beginning of an answer, for a message. */
function startOf({ body }: RawAnswer, { apiKey, expected }: Reader) {
  const unnamed = (words: string) =>
    expected?.personalData == null ? words : withoutPersonalText(words, expected.personalData());
  const line = cleanMessage(body, apiKey, { unnamed, length: START_LENGTH });
  return line === '' ? 'the answer has no body' : `the answer begins: ${line}`;
}

/**
 * The start of an answer about a contact: JSON keeps its shape, other text keeps its words except those about people.
 */
function withoutPersonalText(start: string, values: readonly string[]): string {
  return /^\s*[[{]/.test(start) ? start.replaceAll(TEXT_VALUES, '$1"…"') : maskPeople(start, values);
}

function failedVerdict(
  answer: RawAnswer,
  reader: Reader,
  failure: Pick<Failure, 'code' | 'message' | 'movedTo'> & Uncertainty,
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
    failedVerdict(answer, reader, { code, message, mayHaveArrived: true, mayBeAtWork: false });
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

/**
 * Whether the store temporarily refused to process a request: 429, or 503 with Retry-After. The request had no
 * effect.
 */
export function isPushBack(status: number | null, retryAfterMs: number | undefined): boolean {
  return status === 429 || (status === 503 && retryAfterMs !== undefined);
}

/** Whether a status other than 401 means that the request is wrong and always will be. */
function isRefusal(status: number) {
  return status >= 400 && status !== 401 && !isTransientStatus(status);
}

/**
 * Whether a status comes from a gateway, behind which the store may still be processing the request: 520 and more are
 * those of CDNs.
 */
function isOfGateway(status: number) {
  return status === 502 || status === 504 || status >= 520;
}

/** The address of a store, as a configuration has it, that a redirect of an API request leads to; undefined where it names none. */
export function redirectedBase(location: string | undefined): string | undefined {
  const to = location === undefined ? null : URL.parse(location);
  if (to === null || !/^https?:$/.test(to.protocol)) return undefined;
  const [path = ''] = to.pathname.split('/api/site');
  return `${to.origin}${path.replace(/(?<!\/)\/+$/, '')}`;
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
    const base = redirectedBase(answer.location);
    const movedTo = base === undefined ? undefined : cleanMessage(base, reader.apiKey);
    const message = `the store answered ${status}, a redirect${to}; set baseUrl to ${movedTo ?? 'the final address'}`;
    return failedVerdict(answer, reader, {
      code: 'store-redirect',
      message,
      movedTo,
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
  return failedVerdict(answer, reader, {
    code: `store-${status}`,
    message,
    ...(isRefusedForNow ? NO_EFFECT : { mayHaveArrived: true, mayBeAtWork: isOfGateway(status) }),
  });
}

/** The body of an answer before it was encoded, or why it is not available. */
type Decoded =
  | { readonly kind: 'decoded'; readonly bytes: Buffer }
  | { readonly kind: 'too-large' }
  /** Cut, damaged, or in an unknown encoding. */
  | { readonly kind: 'unreadable'; readonly encoding: string };

interface Limits {
  readonly maxOutputLength: number;
}

type Decode = (bytes: Buffer, limits: Limits) => Promise<Buffer>;

const inflateBody: Decode = promisify(inflate);
const inflateRawBody: Decode = promisify(inflateRaw);

/** By the names of RFC 9110, section 8.4.1; some servers encode answers without a request. */
const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', inflateAny],
  ['br', promisify(brotliDecompress)],
  ['zstd', promisify(zstdDecompress)],
]);

/** More encodings than this only cost time. */
const MAX_ENCODINGS = 3;

/** With a header as in the standard, or without one as some servers send it. */
function inflateAny(bytes: Buffer, limits: Limits) {
  const hasHeader = ((bytes[0] ?? 0) & 0x0f) === 0x08;
  return hasHeader ? inflateBody(bytes, limits) : inflateRawBody(bytes, limits);
}

/** Reverses the `Content-Encoding` of an answer, last encoding first, each within `maxBytes`. */
export async function decodeBody(bytes: Buffer, contentEncoding: string, maxBytes: number): Promise<Decoded> {
  const encodings = contentEncoding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity')
    .reverse();
  if (encodings.length > MAX_ENCODINGS) return { kind: 'unreadable', encoding: contentEncoding };
  let decoded = bytes;
  for (const encoding of encodings) {
    // An answer without a body, such as a 204, may still name an encoding.
    if (decoded.length === 0) break;
    const decode = DECODERS.get(encoding);
    if (decode === undefined) return { kind: 'unreadable', encoding };
    try {
      decoded = await decode(decoded, { maxOutputLength: maxBytes });
    } catch (error) {
      const isTooLarge = errorCode(error) === 'ERR_BUFFER_TOO_LARGE';
      return isTooLarge ? { kind: 'too-large' } : { kind: 'unreadable', encoding };
    }
  }
  return { kind: 'decoded', bytes: decoded };
}
