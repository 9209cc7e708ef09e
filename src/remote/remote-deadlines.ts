import { rejectOnAbort } from '../model/clock.ts';
import {
  type Download,
  dropContent,
  permanentFailure,
  type RemoteClient,
  RemoteFailure,
  timeoutFailure,
} from './remote-client.ts';

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
  /**
   * For one attempt, including redirects and interim responses: of a download until its first byte; an upload has besides the time of its
   * bytes at `minWindowBytes` in `windowMs`.
   */
  readonly attemptMs: number;
  /** For all attempts together until one has an answer, without the waits between them. */
  readonly allAttemptsMs: number;
  /** In each interval of this length at least `minWindowBytes` must arrive. */
  readonly windowMs: number;
  readonly minWindowBytes: number;
  /** For one file, whatever its speed. */
  readonly downloadMs: number;
}

export const REMOTE_DEADLINES: RemoteDeadlines = {
  attemptMs: 60_000,
  allAttemptsMs: 120_000,
  windowMs: 60_000,
  minWindowBytes: 60 * 1024,
  downloadMs: 6 * 60 * 60_000,
};

/**
 * Adds deadlines to the calls of a client, which must not overlap: a late call is a transient failure, and a permanent one when all
 * attempts together have taken too long.
 */
export function withDeadlines(
  client: RemoteClient,
  deadlines: RemoteDeadlines = REMOTE_DEADLINES,
): RemoteClient {
  const { attemptMs, allAttemptsMs, windowMs, minWindowBytes } = deadlines;
  let spentMs = 0;
  let attempts = 0;
  const callWithDeadline = async <T>(
    signal: AbortSignal,
    action: (signal: AbortSignal) => Promise<T>,
    { sendingMs = 0, discard }: { readonly sendingMs?: number; readonly discard?: (late: T) => void } = {},
  ) => {
    const allMs = allAttemptsMs + sendingMs;
    const begunAt = performance.now();
    attempts += 1;
    try {
      const answer = await withDeadline(
        Math.min(attemptMs + sendingMs, allMs - spentMs),
        signal,
        action,
        discard,
      );
      spentMs = 0;
      attempts = 0;
      return answer;
    } catch (error) {
      spentMs += Math.ceil(performance.now() - begunAt);
      const isOver = spentMs >= allMs && error instanceof RemoteFailure && error.kind === 'transient';
      if (!isOver || signal.aborted) throw error;
      const count = attempts === 1 ? '1 attempt' : `${attempts} attempts`;
      const message = `the server does not answer: given up after ${count} and ${Math.round(spentMs / 1_000)} s`;
      throw permanentFailure(message, undefined, error);
    }
  };
  const { inFolder } = client;
  const sending = ({ size }: { readonly size: number }) => ({
    sendingMs: (size / minWindowBytes) * windowMs,
  });
  return {
    minThroughput: client.minThroughput,
    ...(inFolder && {
      inFolder: {
        sizeOf: (name, signal) => callWithDeadline(signal, (until) => inFolder.sizeOf(name, until)),
        sweep: (signal) => callWithDeadline(signal, (until) => inFolder.sweep(until)),
        put: (name, upload, options) =>
          callWithDeadline(
            options.signal,
            (until) => inFolder.put(name, upload, { ...options, signal: until }),
            sending(upload),
          ),
      },
    }),
    find: (signal) => callWithDeadline(signal, (until) => client.find(until)),
    get: (file, options) =>
      callWithDeadline(options.signal, (until) => client.get(file, { ...options, signal: until }), {
        discard,
      }),
    put: (upload, options) =>
      callWithDeadline(
        options.signal,
        (until) => client.put(upload, { ...options, signal: until }),
        sending(upload),
      ),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/**
 * Ends an action at its deadline, even if it ignores its signal; `discard` gets a late result. Rejects with the signal's
 * reason, or a RemoteFailure.
 */
async function withDeadline<T>(
  ms: number,
  signal: AbortSignal,
  action: (signal: AbortSignal) => Promise<T>,
  discard: ((late: T) => void) | undefined,
) {
  signal.throwIfAborted();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ms);
  const bounded = AbortSignal.any([signal, late.signal]);
  const acting = action(bounded);
  try {
    return await rejectOnAbort(acting, bounded);
  } catch (error) {
    acting.then(discard ?? (() => undefined), () => undefined);
    signal.throwIfAborted();
    throw late.signal.aborted ? timeoutFailure() : error;
  } finally {
    clearTimeout(timer);
  }
}

function discard(download: Download) {
  if (download.kind === 'content') dropContent(download.content);
}

/** Calls `onSlow` once, if a download is too slow in a window (a transient failure) or takes too long as a whole (a permanent one). */
export function watchThroughput(
  { windowMs, minWindowBytes, downloadMs }: RemoteDeadlines,
  onSlow: (failure: RemoteFailure) => void,
) {
  let received = 0;
  let receivedBefore = 0;
  const slow = (kind: 'transient' | 'permanent', message: string) => {
    stop();
    onSlow(new RemoteFailure(kind, message));
  };
  const window = setInterval(() => {
    const receivedInWindow = received - receivedBefore;
    receivedBefore = received;
    if (receivedInWindow < minWindowBytes)
      slow('transient', `the download is too slow: ${receivedInWindow} bytes in ${windowMs / 1000} s`);
  }, windowMs);
  const whole = setTimeout(
    () => slow('permanent', `the download is not complete after ${downloadMs / 3_600_000} hours`),
    downloadMs,
  );
  const stop = () => {
    clearInterval(window);
    clearTimeout(whole);
  };
  return {
    /** The bytes that have arrived in total. */
    update(bytes: number) {
      received = bytes;
    },
    [Symbol.dispose]: stop,
  };
}
