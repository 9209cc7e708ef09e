/** A sleeping timer wakes late by about this much; what it missed may be made up for, and no more. */
const SLACK_MS = 20;

/** Spaces requests evenly, so that no second holds more than its share. */
export interface TokenBucket {
  /** Requests a second; Infinity for as many as come. */
  rate: number;
  /** Milliseconds until the next request may go; 0 is now. */
  waitMs(now: number): number;
  /** Takes the place of the request that may go now. */
  take(now: number): void;
}

/** A bucket for so many requests a second. */
export function tokenBucket(rate = Number.POSITIVE_INFINITY): TokenBucket {
  let nextAt = Number.NEGATIVE_INFINITY;
  return {
    rate,
    waitMs(now) {
      return this.rate === Number.POSITIVE_INFINITY ? 0 : Math.max(0, nextAt - now);
    },
    take(now) {
      nextAt = Math.max(nextAt, now - SLACK_MS) + 1_000 / this.rate;
    },
  };
}
