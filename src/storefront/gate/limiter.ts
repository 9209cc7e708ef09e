import { concurrencyLimit } from './concurrency-limit.ts';
import { pace } from './pace.ts';
import { pushBackCauses } from './push-back-cause.ts';
import { tokenBucket } from './token-bucket.ts';

/**
 * Requests are spread over the round trip, at this many times the pace at which answers let new ones go: a limit that
 * grows would send two at once again and again, and a store that counts by the second refuses the second one.
 */
const SPREAD = 2;

/** What was used up when a request was sent. */
export interface Place {
  readonly sentAt: number;
  /** It was the last that the concurrency limit allowed. */
  readonly full: boolean;
  /** It had to wait for the rate. */
  readonly paced: boolean;
}

/** A failed attempt, as far as limits are concerned. */
export interface FailedAttempt {
  /** Null when there was no answer. */
  readonly status: number | null;
  /** The store said when to come back. */
  readonly hasRetryAfter: boolean;
}

/** How many requests at once, and how many a second: found out from how the store answers. */
export interface Limiter {
  readonly inFlight: number;
  /** Milliseconds until the next request may go; Infinity when the end of another decides. */
  waitMs(now: number): number;
  /** The next request goes. */
  take(now: number): Place;
  answered(place: Place, now: number): void;
  /** True when the rate fell because of it. */
  failed(place: Place, attempt: FailedAttempt, now: number): boolean;
  /** It was called off: that says nothing. */
  abandoned(): void;
  /** Harmless requests are to come: see ConcurrencyLimit. */
  startAt(concurrency: number): void;
  /** Starts with one at a time again, as after an outage. */
  restart(because: string): void;
  readonly concurrency: number;
  /** Why `concurrency` is what it is, for people. */
  readonly because: string;
  /** Infinity when there is no limit. */
  readonly requestsPerSecond: number;
}

interface LimiterOptions {
  /** The most requests at once. */
  readonly concurrency: number;
  /** The most a second, by the configuration; Infinity for no limit. */
  readonly requestsPerSecond: number;
}

export function limiter({ concurrency, requestsPerSecond }: LimiterOptions): Limiter {
  const limit = concurrencyLimit(concurrency);
  const allowed = pace();
  const bucket = tokenBucket(requestsPerSecond);
  const spread = tokenBucket();
  const causeOf = pushBackCauses();
  let inFlight = 0;
  let heldByRate = false;

  const slowDown = (sentAt: number, endedAt: number, explicit: boolean): boolean => {
    const before = allowed.rate;
    allowed.refused({ sentAt, endedAt, explicit });
    bucket.rate = Math.min(requestsPerSecond, allowed.rate);
    return allowed.rate < before;
  };

  return {
    get inFlight() {
      return inFlight;
    },
    get concurrency() {
      return limit.current;
    },
    get because() {
      return limit.because;
    },
    get requestsPerSecond() {
      return bucket.rate;
    },
    waitMs(now) {
      if (inFlight >= limit.current) return Number.POSITIVE_INFINITY;
      const waitMs = bucket.waitMs(now);
      if (waitMs > 0) heldByRate = true;
      return Math.max(waitMs, spread.waitMs(now));
    },
    take(now) {
      bucket.take(now);
      spread.take(now);
      inFlight++;
      const paced = heldByRate;
      heldByRate = false;
      limit.sent(inFlight);
      return { sentAt: now, full: inFlight >= limit.current && limit.current > 1, paced };
    },
    answered({ sentAt }, now) {
      inFlight--;
      limit.ended({ sentAt, endedAt: now, pressure: 'none' });
      spread.rate = (SPREAD * limit.current * 1_000) / limit.averageMs;
      allowed.accepted(now);
      bucket.rate = Math.min(requestsPerSecond, allowed.rate);
    },
    failed(place, { status, hasRetryAfter }, now) {
      inFlight--;
      const { sentAt } = place;
      if (status === 429 || (status === 503 && hasRetryAfter)) {
        const hasRate = allowed.rate !== Number.POSITIVE_INFINITY;
        const { current, averageMs } = limit;
        const cause = causeOf({ ...place, endedAt: now, limit: current, averageMs, hasRate });
        if (cause.tooManyAtOnce) limit.ended({ sentAt, endedAt: now, pressure: 'too-many' });
        return cause.tooManyASecond && slowDown(sentAt, now, true);
      }
      limit.ended({ sentAt, endedAt: now, pressure: 'unwell' });
      return status === 503 && slowDown(sentAt, now, false);
    },
    abandoned() {
      inFlight--;
    },
    startAt: (concurrency) => limit.startAt(concurrency),
    restart: (because) => limit.restart(because),
  };
}
