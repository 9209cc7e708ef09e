import { abortable, type Got, lateAnswer, type RemoteClient, RemoteFailure } from './remote-client.ts';

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

/** How long a server that is asked to end a connection may take to close its side. */
export const CLOSE_MS = 1_000;

/** How long a server may take. */
export interface RemoteDeadlines {
  /** For one attempt to list files or to begin a download, including redirects and interim responses. */
  readonly answerMs: number;
  /** For all attempts until one has an answer, without the waits between them. */
  readonly answersMs: number;
  /** In each interval of this length at least `windowBytes` must arrive. */
  readonly windowMs: number;
  readonly windowBytes: number;
  /** For one file, whatever its speed. */
  readonly wholeMs: number;
}

export const REMOTE_DEADLINES: RemoteDeadlines = {
  answerMs: 60_000,
  answersMs: 120_000,
  windowMs: 60_000,
  windowBytes: 60 * 1024,
  wholeMs: 6 * 60 * 60_000,
};

/**
 * Adds deadlines to the calls of a client, one at a time: a late call is a passing failure, and a final one when all attempts together have
 * taken too long.
 */
export function withDeadlines(
  client: RemoteClient,
  deadlines: RemoteDeadlines = REMOTE_DEADLINES,
): RemoteClient {
  const { answerMs, answersMs, windowMs, windowBytes } = deadlines;
  let spentMs = 0;
  let attempts = 0;
  const bounded = async <T>(
    signal: AbortSignal,
    action: (signal: AbortSignal) => Promise<T>,
    { sendingMs = 0, discard }: { readonly sendingMs?: number; readonly discard?: (late: T) => void } = {},
  ): Promise<T> => {
    const allMs = answersMs + sendingMs;
    const begunAt = performance.now();
    attempts += 1;
    try {
      const answer = await within(Math.min(answerMs + sendingMs, allMs - spentMs), signal, action, discard);
      spentMs = 0;
      attempts = 0;
      return answer;
    } catch (error) {
      spentMs += Math.ceil(performance.now() - begunAt);
      const isOver = spentMs >= allMs && error instanceof RemoteFailure && error.kind === 'passing';
      if (!isOver || signal.aborted) throw error;
      const count = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
      const message = `the server does not answer: given up after ${count} and ${Math.round(spentMs / 1_000)} s`;
      throw new RemoteFailure('final', message, { cause: error });
    }
  };
  const { inFolder } = client;
  const sending = ({ size }: { readonly size: number }) => ({ sendingMs: (size / windowBytes) * windowMs });
  return {
    pace: client.pace,
    ...(inFolder && {
      inFolder: {
        sizeOf: (name, signal) => bounded(signal, (until) => inFolder.sizeOf(name, until)),
        sweep: (signal) => bounded(signal, (until) => inFolder.sweep(until)),
        put: (name, upload, options) =>
          bounded(
            options.signal,
            (until) => inFolder.put(name, upload, { ...options, signal: until }),
            sending(upload),
          ),
      },
    }),
    find: (signal) => bounded(signal, (until) => client.find(until)),
    get: (file, options) =>
      bounded(options.signal, (until) => client.get(file, { ...options, signal: until }), { discard }),
    put: (upload, options) =>
      bounded(options.signal, (until) => client.put(upload, { ...options, signal: until }), sending(upload)),
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
  discard: ((late: T) => void) | undefined,
): Promise<T> {
  signal.throwIfAborted();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ms);
  const bounded = AbortSignal.any([signal, late.signal]);
  const acting = action(bounded);
  try {
    return await abortable(acting, bounded);
  } catch (error) {
    acting.then(discard ?? (() => undefined), () => undefined);
    signal.throwIfAborted();
    throw late.signal.aborted ? lateAnswer() : error;
  } finally {
    clearTimeout(timer);
  }
}

function discard(got: Got): void {
  if (got.kind === 'content') got.content.on('error', () => undefined).destroy();
}

/** Calls `onSlow` once, if a download is too slow in a window (a passing failure) or takes too long as a whole (a final one). */
export function watchPace(
  { windowMs, windowBytes, wholeMs }: RemoteDeadlines,
  onSlow: (failure: RemoteFailure) => void,
) {
  let now = 0;
  let before = 0;
  const slow = (kind: 'passing' | 'final', message: string) => {
    stop();
    onSlow(new RemoteFailure(kind, message));
  };
  const window = setInterval(() => {
    const came = now - before;
    before = now;
    if (came < windowBytes)
      slow('passing', `the download is too slow: ${came} bytes in ${windowMs / 1000} s`);
  }, windowMs);
  const whole = setTimeout(
    () => slow('final', `the download is not complete after ${wholeMs / 3_600_000} hours`),
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
