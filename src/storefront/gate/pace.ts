import { acceptedRate } from './accepted-rate.ts';

/** What a push-back leaves of the rate at which requests were accepted. */
const DECREASE = 0.95;
/** What push-backs leave of our own rate when they keep coming before there is a second to measure. */
const DECREASE_UNMEASURED = 0.7;
const MEASURED_AFTER_MS = 1_000;
const KEEP_COMING = 3;
/** Requests this many times denser than their average came in a clump: the store may take far more that are spread. */
const CLUMPED = 2;
/** Growth per second, as a share of the rate: the longer nothing was pushed back, the faster. */
const SLOWEST_INCREASE = 0.02;
const GUESSED_INCREASE = 0.25;
const FASTEST_INCREASE = 0.5;
/** How long the rate rests after a push-back; shorter when it was guessed, and probably guessed too low. */
const REST_MS = 2_000;
const GUESSED_REST_MS = 500;
/** Never slower than this, in requests a second: the breaker and Retry-After pause altogether. */
const SLOWEST = 0.5;
/** 503s count as "too many" only when they are this share of the answers since the last cut, of at least so many. */
const UNWELL_SHARE = 1 / 3;
const UNWELL_ANSWERS = 6;

/**
 * The rate the store seems to allow, in requests a second: Infinity until a 429 is laid to it (or so many 503s come
 * that they can only mean the same), then a little less than it was seen to accept, tried upwards again and again.
 */
export interface Pace {
  readonly rate: number;
  /** The store took a request, with whatever result. */
  accepted(now: number): void;
  /** `explicit`: 429, or 503 with Retry-After. */
  refused(attempt: { sentAt: number; endedAt: number; explicit: boolean }): void;
}

export function pace(): Pace {
  const taken = acceptedRate();
  let rate = Number.POSITIVE_INFINITY;
  let cutAt = Number.NEGATIVE_INFINITY;
  let grownAt = 0;
  let increase = SLOWEST_INCREASE;
  let answers = 0;
  let refusals = 0;

  const cut = (now: number): void => {
    const isKnown = rate !== Number.POSITIVE_INFINITY;
    const isEven = taken.densityPerSecond(now) <= CLUMPED * taken.perSecond(now);
    const isMeasured = taken.isWhole(now) && now - cutAt >= MEASURED_AFTER_MS && (isKnown || isEven);
    const accepted = (isMeasured ? taken.bestPerSecond(now) : taken.perSecond(now)) * DECREASE;
    const left = rate * (isMeasured ? DECREASE : DECREASE_UNMEASURED);
    rate = Math.max(SLOWEST, isKnown && !isMeasured ? left : Math.min(left, accepted));
    cutAt = now;
    grownAt = now + (isMeasured ? REST_MS : GUESSED_REST_MS);
    increase = isMeasured ? SLOWEST_INCREASE : GUESSED_INCREASE;
    answers = 0;
    refusals = 0;
  };

  const grow = (now: number): void => {
    if (rate === Number.POSITIVE_INFINITY || now - grownAt < MEASURED_AFTER_MS) return;
    // A rate that is not used says nothing about what the store would take.
    if (taken.perSecond(now) > 0.8 * rate) {
      rate *= 1 + increase;
      increase = Math.min(FASTEST_INCREASE, increase * 2);
    }
    grownAt = now;
  };

  return {
    get rate() {
      return rate;
    },
    accepted(now) {
      taken.count(now);
      answers++;
      grow(now);
    },
    refused({ sentAt, endedAt, explicit }) {
      if (sentAt < cutAt) return;
      answers++;
      refusals++;
      const isFresh = endedAt - cutAt >= MEASURED_AFTER_MS;
      const keepComing = refusals >= KEEP_COMING && refusals >= answers / 2;
      const means = explicit || (answers >= UNWELL_ANSWERS && refusals >= UNWELL_SHARE * answers);
      if (means && (isFresh || keepComing)) cut(endedAt);
    },
  };
}
