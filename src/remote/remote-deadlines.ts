import { type Got, lateAnswer, type RemoteClient, RemoteFailure } from './remote-client.ts';

/** How long a connection may take, in milliseconds. */
export interface ConnectionTimeouts {
  readonly connectMs: number;
  /** Until an answer begins. */
  readonly headersMs: number;
  /** Without a byte in either direction. */
  readonly silenceMs: number;
}

export const CONNECTION_TIMEOUTS: ConnectionTimeouts = {
  connectMs: 10_000,
  headersMs: 60_000,
  silenceMs: 30_000,
};

/** How long a server may take. */
export interface RemoteDeadlines {
  /** To list files or to begin a download, including redirects and interim responses. */
  readonly answerMs: number;
  /** In each interval of this length at least `windowBytes` must arrive. */
  readonly windowMs: number;
  readonly windowBytes: number;
  /** For one file, whatever its speed. */
  readonly wholeMs: number;
}

export const REMOTE_DEADLINES: RemoteDeadlines = {
  answerMs: 120_000,
  windowMs: 60_000,
  windowBytes: 60 * 1024,
  wholeMs: 6 * 60 * 60_000,
};

/** Adds a deadline to every call of a client; a late call is a passing failure. */
export function withDeadlines(
  client: RemoteClient,
  deadlines: RemoteDeadlines = REMOTE_DEADLINES,
): RemoteClient {
  const { answerMs, windowMs, windowBytes } = deadlines;
  return {
    find: (signal) => within(answerMs, signal, (bounded) => client.find(bounded)),
    get(file, options) {
      const get = (bounded: AbortSignal) => client.get(file, { ...options, signal: bounded });
      return within(answerMs, options.signal, get, discard);
    },
    put(upload, options) {
      const sendingMs = (upload.size / windowBytes) * windowMs;
      const put = (bounded: AbortSignal) => client.put(upload, { ...options, signal: bounded });
      return within(answerMs + sendingMs, options.signal, put);
    },
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/**
 * Ends an action at its deadline, even if it ignores its signal; `discard` gets a late result. Rejects with the signal's
 * reason, or a RemoteFailure.
 */
async function within<T>(
  ms: number,
  signal: AbortSignal,
  action: (signal: AbortSignal) => Promise<T>,
  discard: (late: T) => void = () => undefined,
): Promise<T> {
  signal.throwIfAborted();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ms);
  const over = Promise.withResolvers<never>();
  const bounded = AbortSignal.any([signal, late.signal]);
  const end = () => over.reject(signal.aborted ? signal.reason : lateAnswer());
  bounded.addEventListener('abort', end, { once: true });
  const acting = action(bounded);
  try {
    return await Promise.race([acting, over.promise]);
  } catch (error) {
    acting.then(discard, () => undefined);
    signal.throwIfAborted();
    throw late.signal.aborted ? lateAnswer() : error;
  } finally {
    clearTimeout(timer);
    bounded.removeEventListener('abort', end);
  }
}

function discard(got: Got): void {
  if (got.kind === 'content') got.content.on('error', () => undefined).destroy();
}

/** Calls `onSlow` once, if a download is too slow in a window or takes too long as a whole. */
export function watchPace(
  { windowMs, windowBytes, wholeMs }: RemoteDeadlines,
  onSlow: (failure: RemoteFailure) => void,
) {
  let now = 0;
  let before = 0;
  const slow = (message: string) => {
    stop();
    onSlow(new RemoteFailure('passing', message));
  };
  const window = setInterval(() => {
    const came = now - before;
    before = now;
    if (came < windowBytes) slow(`the download is too slow: ${came} bytes in ${windowMs / 1000} s`);
  }, windowMs);
  const whole = setTimeout(
    () => slow(`the download is not complete after ${wholeMs / 3_600_000} hours`),
    wholeMs,
  );
  const stop = () => {
    clearInterval(window);
    clearTimeout(whole);
  };
  return {
    /** The bytes that have arrived in total. */
    came(bytes: number) {
      now = bytes;
    },
    [Symbol.dispose]: stop,
  };
}
