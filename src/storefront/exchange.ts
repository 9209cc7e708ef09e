import { type Dispatcher, errors, Pool } from 'undici';
import type { AbortListeners } from './abort-listeners.ts';

/** A request to the store; `path` is relative to its base URL. */
export interface StoreRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** JSON, or null for none. */
  readonly body: string | null;
}

/** An answer that arrived whole. */
export interface RawAnswer {
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly location: string | undefined;
  readonly body: string;
}

/** No answer, or none that could be read to its end. */
export class NoAnswer extends Error {
  /** Stable: `connection-refused`, `connection-lost`, `timeout`, `answer-too-large`. */
  readonly code: string;
  /** Whether the request may have taken effect all the same. */
  readonly mayHaveArrived: boolean;

  constructor(code: string, message: string, mayHaveArrived: boolean, cause: unknown) {
    super(message, { cause });
    this.name = 'NoAnswer';
    this.code = code;
    this.mayHaveArrived = mayHaveArrived;
  }
}

/** Sends one request once. Rejects with NoAnswer, or with the signal's reason. */
export interface Exchange {
  send(request: StoreRequest, signal: AbortSignal): Promise<RawAnswer>;
  /** Waits for what is under way. */
  close(): Promise<void>;
}

/** Longest waits, in milliseconds. */
export interface Timeouts {
  readonly connectMs: number;
  /** From the request to the answer's headers. */
  readonly headersMs: number;
  /** Between two pieces of an answer. */
  readonly bodyMs: number;
  /** For a whole answer that keeps dripping in. */
  readonly wholeMs: number;
}

export const DEFAULT_TIMEOUTS: Timeouts = {
  connectMs: 10_000,
  headersMs: 60_000,
  bodyMs: 30_000,
  wholeMs: 120_000,
};

/** 50 orders or one product are far smaller; anything larger is no answer of this API. */
export const MAX_ANSWER_BYTES = 16 * 1024 * 1024;

interface ExchangeOptions {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly userAgent: string;
  readonly connections: number;
  readonly timeouts: Timeouts;
  readonly aborts: AbortListeners;
}

function firstOf(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header;
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}

function noAnswer(error: Error, sent: boolean): NoAnswer {
  const code = codeOf(error);
  const of = (kind: string, message: string) => new NoAnswer(kind, message, sent, error);
  switch (code) {
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'ETIMEDOUT':
      return of('timeout', 'no answer in time');
    case 'UND_ERR_RES_EXCEEDED_MAX_SIZE':
      return of('answer-too-large', `an answer of more than ${MAX_ANSWER_BYTES >> 20} MiB`);
    case 'ECONNREFUSED':
      return of('connection-refused', 'nothing listens at the store’s address');
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return of('host-not-found', 'the store’s host name cannot be resolved');
    default:
      return of('connection-lost', `the connection failed (${code})`);
  }
}

/** Collects one answer; undici calls it. Leaner than `Pool.request`, which makes a stream of every body. */
class Collector implements Dispatcher.DispatchHandler {
  readonly #settle: (result: RawAnswer | Error) => void;
  readonly #wholeMs: number;
  #controller: Dispatcher.DispatchController | null = null;
  #sentAt = 0;
  #chunks: Buffer[] = [];
  #status = 0;
  #retryAfter: string | undefined;
  #location: string | undefined;
  #calledOff: Error | null = null;

  constructor(wholeMs: number, settle: (result: RawAnswer | Error) => void) {
    this.#settle = settle;
    this.#wholeMs = wholeMs;
  }

  get sent(): boolean {
    return this.#controller !== null;
  }

  callOff(reason: Error): void {
    this.#calledOff = reason;
    this.#controller?.abort(reason);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#calledOff === null) {
      this.#controller = controller;
      this.#sentAt = performance.now();
    } else {
      controller.abort(this.#calledOff);
    }
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    this.#status = status;
    const { 'retry-after': retryAfter, location } = headers;
    this.#retryAfter = firstOf(retryAfter);
    this.#location = firstOf(location);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#chunks.push(chunk);
    if (performance.now() - this.#sentAt > this.#wholeMs) controller.abort(new errors.BodyTimeoutError());
  }

  onResponseEnd(): void {
    const [only] = this.#chunks;
    const bytes = this.#chunks.length === 1 && only !== undefined ? only : Buffer.concat(this.#chunks);
    this.#settle({
      status: this.#status,
      retryAfter: this.#retryAfter,
      location: this.#location,
      body: bytes.toString('utf8'),
    });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#settle(error);
  }
}

/**
 * HTTP to one store over a pool of keep-alive connections, one request at a time on each (no pipelining and no
 * HTTP/2: a lost connection then leaves exactly one request in doubt). Never follows redirects, asks for no compression.
 */
export function exchange(options: ExchangeOptions): Exchange {
  const { connections, timeouts, aborts } = options;
  const base = new URL(options.baseUrl);
  const prefix = base.pathname.replace(/\/+$/, '');
  const pool = new Pool(base.origin, {
    connections,
    pipelining: 1,
    allowH2: false,
    connect: { timeout: timeouts.connectMs },
    headersTimeout: timeouts.headersMs,
    bodyTimeout: timeouts.bodyMs,
    maxResponseSize: MAX_ANSWER_BYTES,
  });
  const bare = ['authorization', `Bearer ${options.apiKey}`, 'user-agent', options.userAgent];
  const withBody = [...bare, 'content-type', 'application/json'];

  return {
    send({ method, path, body }, signal) {
      return new Promise((resolve, reject) => {
        if (signal.aborted) {
          reject(signal.reason);
          return;
        }
        const forget = aborts.add(signal, () => {
          // Rejecting comes first: calling off makes undici report an error at once, as if the connection had failed.
          reject(signal.reason);
          collector.callOff(new errors.RequestAbortedError());
        });
        const collector = new Collector(timeouts.wholeMs, (result) => {
          forget();
          if (!(result instanceof Error)) resolve(result);
          else if (result instanceof errors.InvalidArgumentError) reject(new TypeError(result.message));
          else reject(noAnswer(result, collector.sent));
        });
        pool.dispatch(
          { method, path: prefix + path, headers: body === null ? bare : withBody, body },
          collector,
        );
      });
    },
    close: () => pool.close(),
  };
}
