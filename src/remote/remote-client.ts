import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import { errorCode } from '../model/storeferry-error.ts';

/** A file that an address names. */
export interface FoundFile {
  /** The address for people; unique among the files of a source. */
  readonly location: string;
  /** How the client reaches it. */
  readonly path: string;
}

/** The result of `RemoteClient.get`. */
export type Download =
  | {
      readonly kind: 'content';
      readonly content: Readable;
      /** The announced bytes; null if the server does not announce them. */
      readonly size: number | null;
      /** Set if the content ends with the connection: nothing shows whether all of it has arrived. */
      readonly endsWithConnection?: boolean;
      /** Changes whenever the content does; null if the server sends no such validator. */
      readonly version: string | null;
    }
  /** It still has the given version. */
  | { readonly kind: 'unchanged' };

/** The version of a file for which the server sends no validators: it allows no conditional write. */
export const UNKNOWN_VERSION = '{}';

/** Bytes that can be sent repeatedly. */
export interface Upload {
  readonly size: number;
  open(): Readable;
}

/** Replace only if the file still has this version; null: only if there is none; undefined: always. */
export type WriteCondition = string | null | undefined;

/** One way to reach files. Every call is one attempt and rejects with RemoteFailure, or with the signal's reason. */
export interface RemoteClient extends AsyncDisposable {
  /** The least throughput of a download, where it differs from `RemoteDeadlines`. */
  readonly minThroughput?: { readonly windowMs: number; readonly minWindowBytes: number } | undefined;
  /** The files that the address names: one, or those its pattern matches, in the order of their names. */
  find(signal: AbortSignal): Promise<readonly FoundFile[]>;
  get(file: FoundFile, options: GetOptions): Promise<Download>;
  /** Replaces the file completely or not at all. */
  put(upload: Upload, options: PutOptions): Promise<void>;
  /** Files in the folder that the address names; absent where a kind has no folders. */
  readonly inFolder?: FolderCalls;
}

/** Reads and writes files of a folder, by their names. */
interface FolderCalls {
  /** In bytes; null if there is no such file. */
  sizeOf(name: string, signal: AbortSignal): Promise<number | null>;
  /** Removes what killed processes have left. */
  sweep(signal: AbortSignal): Promise<void>;
  /** Writes the file completely or not at all. `type`: its media type, where the server keeps one. */
  put(
    name: string,
    upload: Upload,
    options: { readonly signal: AbortSignal; readonly type: string },
  ): Promise<void>;
}

interface GetOptions {
  readonly signal: AbortSignal;
  /** Skip the download if the content still has this version. */
  readonly unless: string | null;
}

interface PutOptions {
  readonly signal: AbortSignal;
  readonly ifVersion: WriteCondition;
}

/**
 * Why a remote file could not be read or written.
 * - `transient`: a retry may succeed.
 * - `absent`: there is no such file.
 * - `changed`: somebody else wrote it in the meantime.
 * - `permanent`: a retry would fail the same way.
 */
type FailureKind = 'transient' | 'absent' | 'changed' | 'permanent';

interface FailureDetails {
  readonly hint?: string | undefined;
  readonly cause?: unknown;
  /** How long the server asks to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The HTTP status that the server answered. */
  readonly status?: number | undefined;
}

/** A failure of one attempt. Its message completes a sentence that begins with the location, and has no secret. */
export class RemoteFailure extends Error {
  readonly kind: FailureKind;
  readonly hint: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly status: number | undefined;

  constructor(
    kind: FailureKind,
    message: string,
    { cause, hint, retryAfterMs, status }: FailureDetails = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'RemoteFailure';
    this.kind = kind;
    this.hint = hint;
    this.retryAfterMs = retryAfterMs;
    this.status = status;
  }
}

/** A failure that a retry would meet again, and what to do about it. */
export function permanentFailure(message: string, hint?: string, cause?: unknown): RemoteFailure {
  return new RemoteFailure('permanent', message, { hint, cause });
}

/** A failure that may have passed when the attempt is repeated. */
export function transientFailure(message: string, hint?: string, cause?: unknown): RemoteFailure {
  return new RemoteFailure('transient', message, { hint, cause });
}

/** Ends a stream whose content is not needed, and so neither are its errors. */
export function dropContent(content: Readable): void {
  content.on('error', () => undefined).destroy();
}

/** What to do about a file that changes while it is read. */
export const CHANGING_FILE_HINT =
  'Start the job later, or let the other system write the file under another name and rename it when it is complete.';

/** The failure for a server that takes too long. */
export function timeoutFailure(cause?: unknown): RemoteFailure {
  return transientFailure('the server does not answer in time', undefined, cause);
}

/** The failure for a connection that ended while an answer was awaited. */
export function connectionLost(cause?: unknown): RemoteFailure {
  return transientFailure('the connection was lost', undefined, cause);
}

/** The failure for a file that another writer has changed; `answer` is how the server reported it. */
export function changedByOther(answer?: string, status?: number): RemoteFailure {
  const said = answer === undefined ? '' : ` (${answer})`;
  return new RemoteFailure('changed', `it was changed by another process in the meantime${said}`, { status });
}

/** The failure of a connection. */
export function connectionFailure(error: unknown): RemoteFailure {
  const inner = findRemoteFailure(error);
  if (inner !== undefined) return inner;
  const code = errorCode(error);
  const passing = (message: string) => transientFailure(message, undefined, error);
  switch (code) {
    case 'ENOTFOUND':
      return permanentFailure('there is no host of this name', 'Check the address.', error);
    case 'EAI_AGAIN':
      return passing('the name of the host cannot be resolved at the moment');
    case 'ECONNREFUSED':
      return passing('no server listens there');
    case 'UND_ERR_CONNECT_TIMEOUT':
    case 'UND_ERR_HEADERS_TIMEOUT':
    case 'UND_ERR_BODY_TIMEOUT':
    case 'ETIMEDOUT':
    case 'TimeoutError':
      return timeoutFailure(error);
    case 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH':
      return passing('its content is shorter than the length that the server announced');
    default:
      return /^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|EPROTO)/.test(code)
        ? permanentFailure(
            `the certificate of the server is not trusted (${code})`,
            'Renew the certificate. For a private CA set NODE_EXTRA_CA_CERTS.',
            error,
          )
        : passing(`the connection failed (${code})`);
  }
}

/** A RemoteFailure among the causes of a library's error, such as a refused private address. */
export function findRemoteFailure(error: unknown): RemoteFailure | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof RemoteFailure) return at;
    if (at instanceof AggregateError) {
      const [found] = at.errors.flatMap((each) => findRemoteFailure(each) ?? []);
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** Whether an HTTP status means that the same request may succeed later: 408, 429 and server errors. */
export function isTransientStatus(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** The longest wait for a store: a run gives up on it after the same time. */
export const MAX_RETRY_AFTER_MS = 15 * 60_000;

/** As in `Sun, 06 Nov 1994 08:49:37 GMT`: `Date.parse` alone would read `7.5` or `-3` as a year. */
const HTTP_DATE = /^[A-Z][a-z]{2,8},? \d{1,2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * How many milliseconds a server asks to wait: `Retry-After` as seconds or as a date (RFC 9110, section 10.2.3), 15
 * minutes at most. Undefined if the header is absent or unreadable, 0 for a date in the past.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, MAX_RETRY_AFTER_MS);
  if (!HTTP_DATE.test(text)) return undefined;
  const date = Date.parse(text);
  if (Number.isNaN(date)) return undefined;
  return Math.min(Math.max(0, date - now), MAX_RETRY_AFTER_MS);
}

/** The answer of a query; all values are texts as the server writes them, so that none loses digits. */
export interface QueryRows {
  readonly columns: readonly string[];
  /** In batches; null is a blank cell. The connection closes when the reader ends, for whatever reason. */
  readonly batches: AsyncIterable<readonly (readonly (string | null)[])[]>;
}

/** Many times the bytes of the rows of a fetch; the buffers of a client can take four times as much. */
const MAX_PENDING_BYTES = 64 * 1024 * 1024;
const PENDING_CHECK_MS = 5;

/** Calls `onExcess` once, if more bytes arrive than any answer should have before `bytesSinceLast` is called again. */
export function watchAnswerBytes(
  socket: { readonly bytesRead: number },
  onExcess: (failure: RemoteFailure) => void,
) {
  let before = socket.bytesRead;
  const timer = setInterval(() => {
    if (socket.bytesRead - before <= MAX_PENDING_BYTES) return;
    clearInterval(timer);
    const message = `more than ${MAX_PENDING_BYTES / 1024 / 1024} MiB came for a few rows`;
    onExcess(permanentFailure(message, 'Leave out columns with long values, or shorten them in the query.'));
  }, PENDING_CHECK_MS);
  return {
    /** The bytes since the last answer; the next one begins. */
    bytesSinceLast(): number {
      const bytes = socket.bytesRead - before;
      before = socket.bytesRead;
      return bytes;
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}

/** A connection whose statements run one after the other. `run` gives rows as texts, and rejects with RemoteFailure. */
export interface DatabaseSession extends AsyncDisposable {
  readonly kind: 'postgres' | 'mysql' | 'sqlite';
  /** `values` fill the placeholders of the kind: `$1` in PostgreSQL, else `?`. Names may be in `"`. */
  run(
    sql: string,
    values?: readonly (string | null)[],
  ): Promise<readonly (readonly (string | null | undefined)[])[]>;
}

/** How often and when a transient failure is retried. */
export interface RetryPolicy {
  readonly retries: number;
  /** The wait before the first retry; it triples with each further retry, with jitter. */
  readonly firstWaitMs: number;
}

const DEFAULT_RETRY_POLICY: RetryPolicy = { retries: 4, firstWaitMs: 500 };

/** The longest wait for a file server, whatever it asks for. */
const MAX_WAIT_MS = 60_000;

/** Retries transient failures according to the policy; rejects with the last failure, or with the signal's reason. */
export async function retryTransient<T>(
  attempt: () => Promise<T>,
  signal: AbortSignal,
  { retries, firstWaitMs }: RetryPolicy = DEFAULT_RETRY_POLICY,
): Promise<T> {
  return await pRetry(attempt, {
    retries,
    minTimeout: firstWaitMs,
    factor: 3,
    maxTimeout: MAX_WAIT_MS,
    randomize: true,
    signal,
    shouldRetry: ({ error }) => error instanceof RemoteFailure && error.kind === 'transient',
    onFailedAttempt: async ({ error, retriesLeft }) => {
      if (!(error instanceof RemoteFailure) || retriesLeft === 0) return;
      const { retryAfterMs = 0 } = error;
      if (retryAfterMs > 0) await sleep(Math.min(retryAfterMs, MAX_WAIT_MS), undefined, { signal });
    },
  }).catch((error: unknown) => {
    // An aborted timer rejects with its own error, not with the reason of the signal.
    signal.throwIfAborted();
    throw error;
  });
}

/** The bytes of a full buffer. */
export const READ_BYTES = 256 * 1024;
const MAX_KEPT = 4;

/** By their memory, so that bytes of other origin change nothing. */
const lent = new WeakSet<ArrayBufferLike>();
const free: ArrayBufferLike[] = [];

/**
 * The next bytes of a file, in a buffer that `releaseBuffer` uses again; empty at the end of the file. Without it each file leaves
 * garbage of its size, which V8 notices late: 60 MiB more at the peak, and twenty collections of the whole heap in a gigabyte.
 */
export async function readNext(handle: FileHandle, position: number): Promise<Buffer> {
  const bytes = Buffer.from(free.pop() ?? Buffer.allocUnsafeSlow(READ_BYTES).buffer);
  lent.add(bytes.buffer);
  const { bytesRead } = await handle.read(bytes, 0, READ_BYTES, position);
  return bytes.subarray(0, bytesRead);
}

/**
 * Call it once, with the last reference to bytes of a file: the next read overwrites them. Optional, and safe for bytes of other origin;
 * a second call may give back what has been lent again.
 */
export function releaseBuffer({ buffer }: Uint8Array): void {
  if (lent.delete(buffer) && free.length < MAX_KEPT) free.push(buffer);
}
