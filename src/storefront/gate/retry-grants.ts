import type { AbortListeners } from '../abort-listeners.ts';
import type { Clock } from '../clock.ts';
import { retryBudget } from './retry-budget.ts';
import { waitingLine } from './waiting-line.ts';

/** Hands the retry budget out, first come, first served. */
export interface RetryGrants {
  /** Retries that may go at once. */
  readonly balance: number;
  readonly waiting: number;
  /** A first attempt was sent. */
  earn(): void;
  /** Resolves when one retry may be sent. Never fails but by the signal, or when closed. */
  grant(signal: AbortSignal): Promise<void>;
  /** Whoever waits is turned away. */
  turnAwayAll(error: Error): void;
  close(reason: Error): void;
}

export function retryGrants(clock: Clock, aborts: AbortListeners): RetryGrants {
  const budget = retryBudget();
  const line = waitingLine<void, void>(aborts);
  let cancelTimer: (() => void) | null = null;

  const pump = (): void => {
    cancelTimer?.();
    cancelTimer = null;
    while (line.length > 0) {
      const now = clock.monotonic();
      const waitMs = budget.waitMs(now);
      if (waitMs > 0) {
        cancelTimer = clock.after(waitMs, pump);
        return;
      }
      budget.spend(now);
      line.next()?.let();
    }
  };

  return {
    get balance() {
      return budget.balance;
    },
    get waiting() {
      return line.length;
    },
    earn() {
      budget.earn();
      if (line.length > 0) pump();
    },
    grant(signal) {
      if (signal.aborted) return Promise.reject(signal.reason);
      const granted = line.join(undefined, signal);
      pump();
      return granted;
    },
    turnAwayAll(error) {
      line.turnAwayAll(error);
      pump();
    },
    close(reason) {
      cancelTimer?.();
      line.turnAwayAll(reason);
    },
  };
}
