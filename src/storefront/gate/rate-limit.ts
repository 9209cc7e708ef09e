import type { Clock } from '../../model/clock.ts';
import { sumOf } from '../../model/json-object.ts';

/** A limit on requests per second that several processes share, for example through Redis. */
export interface SharedRate {
  /**
   * Reserves start times for so many requests, `perSecond` of them per second. Gives the milliseconds until the first one; the
   * others follow at that rate.
   */
  reserve(perSecond: number, requests: number): Promise<number>;
}

/**
 * Requests are spread over the round trip, at this many times the rate of answers. Otherwise each increase of the
 * concurrency limit would send two at once, and a store that counts per second would refuse the second one.
 */
const SPREAD_FACTOR = 2;

/** An answer that refused a request; `explicit`: 429, or 503 with Retry-After. */
interface Refusal {
  readonly sentAt: number;
  readonly endedAt: number;
  readonly explicit: boolean;
}

interface RateLimitOptions {
  readonly clock: Clock;
  /** The configured limit; Infinity for none. */
  readonly requestsPerSecond: number;
  /** `requestsPerSecond` applies to all processes that share it. */
  readonly shared: SharedRate | undefined;
  /** Called when `sharedWaitMs` has changed. */
  readonly onReserved: () => void;
}

/**
 * How many requests per second may be sent: the lowest of the limits of the store, the configuration and shared
 * processes.
 */
export function rateLimit({ clock, requestsPerSecond, shared, onReserved }: RateLimitOptions) {
  const learned = learnedRate(requestsPerSecond);
  const bucket = tokenBucket(requestsPerSecond);
  const spread = tokenBucket();
  const reservations =
    shared === undefined || !Number.isFinite(requestsPerSecond)
      ? null
      : sharedReservations({ clock, requestsPerSecond, shared, onReserved });
  let hasWaited = false;

  return {
    /** Infinity without a limit. */
    get perSecond() {
      return bucket.rate;
    },
    /** Whether a limit of the store itself is known. */
    get isLearned() {
      return learned.rate !== Number.POSITIVE_INFINITY;
    },
    /** Milliseconds until this process may send its next request. */
    waitMs(now: number): number {
      const waitMs = bucket.waitMs(now);
      if (waitMs > 0) hasWaited = true;
      return Math.max(waitMs, spread.waitMs(now));
    },
    /** The same for all processes together if `wanted` requests wait. Infinity during a reservation. */
    sharedWaitMs: (now: number, wanted: number) => reservations?.waitMs(now, wanted) ?? 0,
    /** The next request is sent; true if it had to wait for the rate limit. */
    take(now: number): boolean {
      bucket.take(now);
      spread.take(now);
      reservations?.take();
      const waited = hasWaited;
      hasWaited = false;
      return waited;
    },
    /** The store accepted a request. `answersPerSecond`: with as many in flight as the concurrency limit allows. */
    accepted(now: number, answersPerSecond: number): void {
      spread.rate = SPREAD_FACTOR * answersPerSecond;
      learned.accepted(now);
      bucket.rate = Math.min(requestsPerSecond, learned.rate);
    },
    /** The store refused a request; true if the rate fell. */
    refused(attempt: Refusal): boolean {
      const before = learned.rate;
      learned.refused(attempt);
      bucket.rate = Math.min(requestsPerSecond, learned.rate);
      return learned.rate < before;
    },
  };
}

/** The factor that a push-back applies to the rate at which requests were accepted. */
const DECREASE = 0.95;
/** The factor for push-backs that continue before a whole second was measured. */
const DECREASE_UNMEASURED = 0.7;
const MEASURED_AFTER_MS = 1_000;
/** This many push-backs since the last reduction, at least half of the answers, reduce the rate before that. */
const MIN_REFUSALS = 3;
/**
 * Requests this many times denser than their average came in a burst: the store may accept far more if they are
 * spread.
 */
const BURST_FACTOR = 2;
/** Growth per second, as a share of the rate: it doubles with each second without a push-back. */
const MIN_INCREASE = 0.02;
const ESTIMATED_INCREASE = 0.25;
const MAX_INCREASE = 0.5;
/** How long the rate rests after a reduction; shorter if it was estimated before a second was measured, and is probably too low. */
const REST_MS = 2_000;
const ESTIMATED_REST_MS = 500;
/** The lowest rate, in requests per second: only the breaker and Retry-After stop sending. */
const MIN_REQUESTS_PER_SECOND = 0.5;
/**
 * 503s without Retry-After count as "too many" only if they are this share of the answers since the last reduction, of at least this
 * many.
 */
const MIN_UNAVAILABLE_SHARE = 1 / 3;
const MIN_UNAVAILABLE_ANSWERS = 6;

/** The first rate where a store refuses before it has accepted anything, because others send to it as well. */
const FIRST_REQUESTS_PER_SECOND = 2;

/**
 * The rate that the store allows, in requests per second, at most `ceiling`. Infinity until a 429, or a 503 with Retry-After, is attributed to it, or enough 503s
 * leave no other explanation. Then a little less than the store has accepted, raised again step by step.
 */
export function learnedRate(ceiling = Number.POSITIVE_INFINITY) {
  const accepted = acceptedRate();
  let rate = Number.POSITIVE_INFINITY;
  let reducedAt = Number.NEGATIVE_INFINITY;
  let grownAt = 0;
  let increase = MIN_INCREASE;
  let answers = 0;
  let refusals = 0;

  const reduce = (now: number) => {
    const before = Math.min(rate, ceiling);
    const isKnown = before !== Number.POSITIVE_INFINITY;
    const isSpread = accepted.densityPerSecond(now) <= BURST_FACTOR * accepted.perSecond(now);
    const isMeasured =
      accepted.coversWindow(now) && now - reducedAt >= MEASURED_AFTER_MS && (isKnown || isSpread);
    const perSecond = isMeasured ? accepted.bestPerSecond(now) : accepted.perSecond(now);
    const belowAccepted =
      perSecond === 0 && rate === Number.POSITIVE_INFINITY ? FIRST_REQUESTS_PER_SECOND : perSecond * DECREASE;
    const left = before * (isMeasured ? DECREASE : DECREASE_UNMEASURED);
    rate = Math.max(MIN_REQUESTS_PER_SECOND, isKnown && !isMeasured ? left : Math.min(left, belowAccepted));
    reducedAt = now;
    grownAt = now + (isMeasured ? REST_MS : ESTIMATED_REST_MS);
    increase = isMeasured ? MIN_INCREASE : ESTIMATED_INCREASE;
    answers = 0;
    refusals = 0;
  };

  const grow = (now: number) => {
    if (rate === Number.POSITIVE_INFINITY || now - grownAt < MEASURED_AFTER_MS) return;
    // A rate that is not used shows nothing about what the store would accept.
    if (accepted.perSecond(now) > 0.8 * rate) {
      rate *= 1 + increase;
      increase = Math.min(MAX_INCREASE, increase * 2);
    }
    grownAt = now;
  };

  return {
    get rate() {
      return rate;
    },
    /** The store accepted a request, whatever its result. */
    accepted(now: number): void {
      accepted.count(now);
      answers++;
      grow(now);
    },
    refused({ sentAt, endedAt, explicit }: Refusal): void {
      if (sentAt < reducedAt) return;
      answers++;
      refusals++;
      const isFresh = endedAt - reducedAt >= MEASURED_AFTER_MS;
      const isContinuing = refusals >= MIN_REFUSALS && refusals >= answers / 2;
      const isTooMany =
        explicit || (answers >= MIN_UNAVAILABLE_ANSWERS && refusals >= MIN_UNAVAILABLE_SHARE * answers);
      if (isTooMany && (isFresh || isContinuing)) reduce(endedAt);
    },
  };
}

/** Requests are counted in slots of this many milliseconds, over the last second. */
const SLOT_MS = 50;
const SLOTS = 20;
const WINDOW_MS = SLOT_MS * SLOTS;

/** This many whole seconds before the last one are kept. */
const MAX_SECONDS_KEPT = 5;

/** How many requests per second the store has accepted. */
function acceptedRate() {
  const counts = new Array<number>(SLOTS).fill(0);
  let slot = 0;
  let startedAt: number | null = null;
  let seconds: number[] = [];

  const total = () => sumOf(counts);

  const discardExpired = (now: number) => {
    startedAt ??= now;
    const current = Math.floor(now / SLOT_MS);
    if (Math.floor(current / SLOTS) > Math.floor(slot / SLOTS)) {
      seconds = [total(), ...seconds].slice(0, MAX_SECONDS_KEPT);
    }
    for (let passed = Math.max(slot + 1, current - SLOTS + 1); passed <= current; passed++)
      counts[passed % SLOTS] = 0;
    slot = Math.max(slot, current);
  };

  /** Over the last second, or since the first request if that is shorter. */
  const perSecond = (now: number) => {
    discardExpired(now);
    const spanMs = Math.min(WINDOW_MS, Math.max(SLOT_MS, now - (startedAt ?? now)));
    return (total() * 1_000) / spanMs;
  };

  return {
    count(now: number): void {
      discardExpired(now);
      counts[slot % SLOTS] = (counts[slot % SLOTS] ?? 0) + 1;
    },
    perSecond,
    /** The highest of the last second and the whole seconds before it: a busy process sends less than it could. */
    bestPerSecond: (now: number) => Math.max(perSecond(now), ...seconds),
    /** The rate over the last two slots: how dense a burst is. */
    densityPerSecond(now: number): number {
      discardExpired(now);
      const recent = (counts[slot % SLOTS] ?? 0) + (counts[(slot + SLOTS - 1) % SLOTS] ?? 0);
      return (recent * 1_000) / (2 * SLOT_MS);
    },
    /** Whether a whole second has been counted. */
    coversWindow: (now: number) => startedAt !== null && now - startedAt >= WINDOW_MS,
  };
}

/** Timers fire late by about this much. The next request makes up for a delay up to this, and no more. */
const MAX_TIMER_DELAY_MS = 20;

/** Spaces requests evenly, so that no second has more than its share. `rate`: requests per second. */
export function tokenBucket(rate = Number.POSITIVE_INFINITY) {
  let nextAt = Number.NEGATIVE_INFINITY;
  return {
    rate,
    /** Milliseconds until the next request may be sent; 0 is now. */
    waitMs(now: number): number {
      return this.rate === Number.POSITIVE_INFINITY ? 0 : Math.max(0, nextAt - now);
    },
    /** Records the request that is sent now. */
    take(now: number): void {
      nextAt = Math.max(nextAt, now - MAX_TIMER_DELAY_MS) + 1_000 / this.rate;
    },
  };
}

/** Start times are reserved this far ahead: ten reservations per second, and a process that dies loses no more than this. */
const RESERVE_AHEAD_MS = 100;
/** A reservation that was not used for this long is lost, so that no second has more than its share. */
const STALE_MS = 100;
/** A failed reservation is repeated after this time. */
const RESERVE_RETRY_DELAY_MS = 500;

interface SharedReservationsOptions extends RateLimitOptions {
  readonly shared: SharedRate;
}

/**
 * Enforces `requestsPerSecond` over all processes: each reserves start times for its waiting requests, a few at a time,
 * and uses them one after another. While reservations fail, nothing is sent.
 */
function sharedReservations(options: SharedReservationsOptions) {
  const { clock, requestsPerSecond, shared, onReserved } = options;
  const gapMs = 1_000 / requestsPerSecond;
  const maxReserved = Math.max(1, Math.floor(RESERVE_AHEAD_MS / gapMs));
  let left = 0;
  let nextAt = 0;
  let reserving = false;

  const reserve = async (wanted: number) => {
    reserving = true;
    try {
      const requests = Math.min(maxReserved, wanted);
      const afterMs = await shared.reserve(requestsPerSecond, requests);
      left = requests;
      nextAt = clock.monotonic() + afterMs;
    } catch {
      await new Promise<void>((resolve) => clock.after(RESERVE_RETRY_DELAY_MS, resolve));
    }
    reserving = false;
    onReserved();
  };

  return {
    /** Milliseconds until the next request may be sent. Infinity during a reservation, which ends with `onReserved`. */
    waitMs(now: number, wanted: number): number {
      for (; left > 0 && nextAt < now - STALE_MS; left--) nextAt += gapMs;
      if (left > 0) return Math.max(0, nextAt - now);
      if (!reserving) void reserve(Math.max(1, wanted));
      return Number.POSITIVE_INFINITY;
    },
    /** The next request is sent. */
    take(): void {
      left--;
      nextAt += gapMs;
    },
  };
}
