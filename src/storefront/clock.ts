import type { setTimeout as scheduleTimer } from 'node:timers';

/** Time as the storefront sees it; tests bring their own. All in milliseconds. */
export interface Clock {
  /** Since the epoch: to read dates in answers. */
  now(): number;
  /** Never goes back, with fractions: to measure. */
  monotonic(): number;
  /** Calls back once, later, unless cancelled with what it returns. */
  after(ms: number, callback: () => void): () => void;
}

/** setTimeout fires at once beyond this. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The clock of the machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback) {
    const timer: ReturnType<typeof scheduleTimer> = setTimeout(callback, Math.min(ms, LONGEST_TIMER_MS));
    return () => clearTimeout(timer);
  },
};

/** Resolves after `ms`; rejects with the signal's reason when aborted before. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = () => {
      cancel();
      reject(signal?.reason);
    };
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
