/** Accepted answers are counted over the last second, in slots of this many milliseconds. */
const SLOT_MS = 50;
const SLOTS = 20;
const WINDOW_MS = SLOT_MS * SLOTS;
/** What a push-back leaves of the rate at which requests were accepted. */
const DECREASE = 0.95;
/** What it leaves of our own rate while there is not yet a whole second to measure. */
const DECREASE_UNMEASURED = 0.7;
/** Growth per second, as a share of the rate, once the last push-back is long enough ago. */
const INCREASE = 0.02;
/** How long the rate rests after a push-back; doubled each time growing soon led to the next. */
const REST_MS = 2_000;
const MAX_REST_MS = 32_000;
/** Never slower than this, in requests a second: the breaker and Retry-After pause altogether. */
const SLOWEST = 0.5;
/** 503s count as "too many" only when they are this share of the answers since the last cut, of at least so many. */
const UNWELL_SHARE = 1 / 3;
const UNWELL_ANSWERS = 6;

/**
 * The rate the store seems to allow, in requests a second: Infinity until it first says 429 (or so many 503s that
 * they can only mean the same), then what it was seen to accept, tried upwards slowly.
 */
export interface Pace {
  readonly rate: number;
  /** An attempt that the store took, with whatever result. */
  accepted(now: number): void;
  /** `explicit`: 429, or 503 with Retry-After. */
  refused(attempt: { sentAt: number; endedAt: number; explicit: boolean }): void;
}

export function pace(): Pace {
  let rate = Number.POSITIVE_INFINITY;
  const counts = new Array<number>(SLOTS).fill(0);
  let slot = 0;
  let firstAt: number | null = null;
  let cutAt = Number.NEGATIVE_INFINITY;
  let grownAt = 0;
  let restMs = REST_MS;
  let answersSinceCut = 0;
  let unwellSinceCut = 0;

  const forward = (now: number): void => {
    const current = Math.floor(now / SLOT_MS);
    for (let passed = Math.max(slot + 1, current - SLOTS + 1); passed <= current; passed++) {
      counts[passed % SLOTS] = 0;
    }
    slot = Math.max(slot, current);
  };

  const acceptedPerSecond = (now: number): number => {
    forward(now);
    const span = Math.min(WINDOW_MS, Math.max(SLOT_MS, now - (firstAt ?? now)));
    return (counts.reduce((sum, count) => sum + count, 0) * 1_000) / span;
  };

  const cut = (now: number): void => {
    const accepted = acceptedPerSecond(now) * DECREASE;
    if (rate === Number.POSITIVE_INFINITY || now - cutAt >= WINDOW_MS) {
      restMs = now - cutAt < 2 * restMs + WINDOW_MS ? Math.min(MAX_REST_MS, restMs * 2) : REST_MS;
      rate = accepted;
    } else {
      rate = Math.min(rate * DECREASE_UNMEASURED, accepted);
    }
    rate = Math.max(SLOWEST, rate);
    cutAt = now;
    grownAt = now + restMs;
    answersSinceCut = 0;
    unwellSinceCut = 0;
  };

  const grow = (now: number): void => {
    if (rate === Number.POSITIVE_INFINITY || now <= grownAt) return;
    // A rate that is not used says nothing about what the store would take.
    if (acceptedPerSecond(now) > 0.8 * rate) rate *= (1 + INCREASE) ** ((now - grownAt) / 1_000);
    grownAt = now;
  };

  return {
    get rate() {
      return rate;
    },
    accepted(now) {
      firstAt ??= now;
      forward(now);
      counts[slot % SLOTS] = (counts[slot % SLOTS] ?? 0) + 1;
      answersSinceCut++;
      grow(now);
    },
    refused({ sentAt, endedAt, explicit }) {
      firstAt ??= endedAt;
      answersSinceCut++;
      if (!explicit) unwellSinceCut++;
      if (sentAt < cutAt) return;
      const soMany = answersSinceCut >= UNWELL_ANSWERS && unwellSinceCut >= UNWELL_SHARE * answersSinceCut;
      if (explicit || soMany) cut(endedAt);
    },
  };
}
