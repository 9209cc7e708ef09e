/** Retries a store is granted before it has taken anything. */
export const INITIAL_RETRIES = 100;
/** What each first attempt adds. */
export const RETRIES_PER_ATTEMPT = 0.1;
/** With nothing left, one retry is let through this often, so that no row waits for ever. */
export const PROBE_INTERVAL_MS = 1_000;

/** Keeps retries in proportion to work, however much fails. It makes retries wait; it never fails them. */
export interface RetryBudget {
  readonly balance: number;
  earn(): void;
  /** Milliseconds until a retry may go; 0 is now. */
  waitMs(now: number): number;
  /** Takes the retry that may go now. */
  spend(now: number): void;
}

export function retryBudget(): RetryBudget {
  let balance = INITIAL_RETRIES;
  let lastProbeAt = Number.NEGATIVE_INFINITY;
  return {
    get balance() {
      return balance;
    },
    earn() {
      balance += RETRIES_PER_ATTEMPT;
    },
    waitMs(now) {
      return balance >= 1 ? 0 : Math.max(0, lastProbeAt + PROBE_INTERVAL_MS - now);
    },
    spend(now) {
      if (balance >= 1) balance -= 1;
      else lastProbeAt = now;
    },
  };
}
