import type { setTimeout as scheduleTimer } from 'node:timers';

/** The time, which tests replace. All values in milliseconds. */
export interface Clock {
  /** Since the epoch: to interpret dates in answers. */
  now(): number;
  /** Never goes back, with fractions: to measure. */
  monotonic(): number;
  /** Calls back once, after at most `MAX_TIMER_MS`, unless cancelled with the returned function. */
  after(ms: number, callback: () => void): () => void;
}

/** With a longer delay setTimeout fires at once. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback) {
    const timer: ReturnType<typeof scheduleTimer> = setTimeout(callback, Math.min(ms, MAX_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`, at most 24 days; rejects with the reason of the first of `signals` that aborts before. */
export function sleep(clock: Clock, ms: number, ...signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const aborted = signals.find((signal) => signal.aborted);
    if (aborted !== undefined) {
      reject(aborted.reason);
      return;
    }
    const removeListeners = () => {
      for (const signal of signals) signal.removeEventListener('abort', onAbort);
    };
    const onAbort = () => {
      cancel();
      removeListeners();
      reject(signals.find((signal) => signal.aborted)?.reason);
    };
    const cancel = clock.after(ms, () => {
      removeListeners();
      resolve();
    });
    for (const signal of signals) signal.addEventListener('abort', onAbort, { once: true });
  });
}

/**
 * Waits for the promise, or rejects with the signal's reason if it aborts first. Leaves nothing on a signal that outlives the
 * wait: one promise for many calls of `Promise.race` would keep the result of each in memory.
 */
export async function rejectOnAbort<T>(waiting: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(signal.reason);
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([aborted, waiting]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Calls `work` every so often until it is stopped, once at a time; stopping waits for a running call. `work` never rejects. */
export function repeatEvery(ms: number, work: () => Promise<void>): { stop(): Promise<void> } {
  let running: Promise<void> | null = null;
  const timer = setInterval(() => {
    running ??= work().finally(() => {
      running = null;
    });
  }, ms);
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}

/** Whether a time zone is known by this name, such as `Europe/London`; a bare offset such as `+02:00` names none. */
export function isTimezone(name: string): boolean {
  if (name === 'UTC') return true;
  if (/^[+-]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
