import type { Clock } from '../../model/clock.ts';

/** A limit on requests per second that several processes share, for example through Redis. */
export interface SharedRate {
  /**
   * Reserves start times (places) for up to `most` requests, `perSecond` of them per second. Returns how many were reserved,
   * and how long until the first one; the others follow at that rate.
   */
  reserve(perSecond: number, most: number): Promise<{ readonly places: number; readonly afterMs: number }>;
}

/**
 * Requests are spread over the round trip, at this many times the rate of answers. Otherwise each increase of the
 * concurrency limit would send two at once, and a store that counts per second would refuse the second one.
 */
const SPREAD = 2;

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
  const places =
    shared === undefined || !Number.isFinite(requestsPerSecond)
      ? null
      : sharedPlaces({ clock, requestsPerSecond, shared, onReserved });
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
    /** The same for all processes together if `wanted` requests wait. Infinity while places are being reserved. */
    sharedWaitMs: (now: number, wanted: number): number => places?.waitMs(now, wanted) ?? 0,
    /** The next request is sent; true if it had to wait for the rate limit. */
    take(now: number): boolean {
      bucket.take(now);
      spread.take(now);
      places?.take();
      const waited = hasWaited;
      hasWaited = false;
      return waited;
    },
    /** The store accepted a request. `answersPerSecond`: with as many in flight as the concurrency limit allows. */
    accepted(now: number, answersPerSecond: number): void {
      spread.rate = SPREAD * answersPerSecond;
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
const KEEP_COMING = 3;
/**
 * Requests this many times denser than their average came in a burst: the store may accept far more if they are
 * spread.
 */
const BURST = 2;
/** Growth per second, as a share of the rate: it doubles with each second without a push-back. */
const SLOWEST_INCREASE = 0.02;
const GUESSED_INCREASE = 0.25;
const FASTEST_INCREASE = 0.5;
/** How long the rate rests after a push-back, before a second is measured; shorter if it was estimated, and probably too low. */
const REST_MS = 2_000;
const GUESSED_REST_MS = 500;
/** The lowest rate, in requests per second: only the breaker and Retry-After stop sending. */
const SLOWEST = 0.5;
/**
 * 503s without Retry-After count as "too many" only if they are this share of the answers since the last reduction, of at least this
 * many.
 */
const UNAVAILABLE_SHARE = 1 / 3;
const UNAVAILABLE_ANSWERS = 6;

/** The first rate where a store refuses before it has accepted anything: others send to it as well. */
const FIRST_RATE = 2;

/**
 * The rate that the store allows, in requests per second, at most `ceiling`. Infinity until a 429, or a 503 with Retry-After, is attributed to it, or enough 503s
 * leave no other explanation. Then a little less than the store has accepted, raised again step by step.
 */
export function learnedRate(ceiling = Number.POSITIVE_INFINITY) {
  const taken = acceptedRate();
  let rate = Number.POSITIVE_INFINITY;
  let cutAt = Number.NEGATIVE_INFINITY;
  let grownAt = 0;
  let increase = SLOWEST_INCREASE;
  let answers = 0;
  let refusals = 0;

  const cut = (now: number): void => {
    const before = Math.min(rate, ceiling);
    const isKnown = before !== Number.POSITIVE_INFINITY;
    const isEven = taken.densityPerSecond(now) <= BURST * taken.perSecond(now);
    const isMeasured = taken.isWhole(now) && now - cutAt >= MEASURED_AFTER_MS && (isKnown || isEven);
    const perSecond = isMeasured ? taken.bestPerSecond(now) : taken.perSecond(now);
    const accepted = perSecond === 0 && rate === Number.POSITIVE_INFINITY ? FIRST_RATE : perSecond * DECREASE;
    const left = before * (isMeasured ? DECREASE : DECREASE_UNMEASURED);
    rate = Math.max(SLOWEST, isKnown && !isMeasured ? left : Math.min(left, accepted));
    cutAt = now;
    grownAt = now + (isMeasured ? REST_MS : GUESSED_REST_MS);
    increase = isMeasured ? SLOWEST_INCREASE : GUESSED_INCREASE;
    answers = 0;
    refusals = 0;
  };

  const grow = (now: number): void => {
    if (rate === Number.POSITIVE_INFINITY || now - grownAt < MEASURED_AFTER_MS) return;
    // A rate that is not used shows nothing about what the store would accept.
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
    /** The store accepted a request, whatever its result. */
    accepted(now: number): void {
      taken.count(now);
      answers++;
      grow(now);
    },
    refused({ sentAt, endedAt, explicit }: Refusal): void {
      if (sentAt < cutAt) return;
      answers++;
      refusals++;
      const isFresh = endedAt - cutAt >= MEASURED_AFTER_MS;
      const keepComing = refusals >= KEEP_COMING && refusals >= answers / 2;
      const isTooMany =
        explicit || (answers >= UNAVAILABLE_ANSWERS && refusals >= UNAVAILABLE_SHARE * answers);
      if (isTooMany && (isFresh || keepComing)) cut(endedAt);
    },
  };
}

/** Requests are counted in slots of this many milliseconds, over the last second. */
const SLOT_MS = 50;
const SLOTS = 20;
const WINDOW_MS = SLOT_MS * SLOTS;

/** This many whole seconds before the last one are kept. */
const SECONDS_REMEMBERED = 5;

/** How many requests per second the store has accepted. */
function acceptedRate() {
  const counts = new Array<number>(SLOTS).fill(0);
  let slot = 0;
  let startedAt: number | null = null;
  let seconds: number[] = [];

  const total = (): number => counts.reduce((sum, count) => sum + count, 0);

  const forward = (now: number): void => {
    startedAt ??= now;
    const current = Math.floor(now / SLOT_MS);
    if (Math.floor(current / SLOTS) > Math.floor(slot / SLOTS)) {
      seconds = [total(), ...seconds].slice(0, SECONDS_REMEMBERED);
    }
    for (let passed = Math.max(slot + 1, current - SLOTS + 1); passed <= current; passed++)
      counts[passed % SLOTS] = 0;
    slot = Math.max(slot, current);
  };

  /** Over the last second, or since the first request if that is shorter. */
  const perSecond = (now: number): number => {
    forward(now);
    const spanMs = Math.min(WINDOW_MS, Math.max(SLOT_MS, now - (startedAt ?? now)));
    return (total() * 1_000) / spanMs;
  };

  return {
    count(now: number): void {
      forward(now);
      counts[slot % SLOTS] = (counts[slot % SLOTS] ?? 0) + 1;
    },
    perSecond,
    /** The highest of the last second and the whole seconds before it: a busy process sends less than it could. */
    bestPerSecond: (now: number): number => Math.max(perSecond(now), ...seconds),
    /** Over the last tenth of a second: the density within a burst. */
    densityPerSecond(now: number): number {
      forward(now);
      const recent = (counts[slot % SLOTS] ?? 0) + (counts[(slot + SLOTS - 1) % SLOTS] ?? 0);
      return (recent * 1_000) / (2 * SLOT_MS);
    },
    /** Whether a whole second has been counted. */
    isWhole: (now: number): boolean => startedAt !== null && now - startedAt >= WINDOW_MS,
  };
}

/** A timer fires late by about this much. A delay up to this is compensated, and no more. */
const SLACK_MS = 20;

/** Spaces requests evenly, so that no second has more than its share. `rate`: requests per second. */
export function tokenBucket(rate = Number.POSITIVE_INFINITY) {
  let nextAt = Number.NEGATIVE_INFINITY;
  return {
    rate,
    /** Milliseconds until the next request may be sent; 0 is now. */
    waitMs(now: number): number {
      return this.rate === Number.POSITIVE_INFINITY ? 0 : Math.max(0, nextAt - now);
    },
    /** Takes the place of the request that is sent now. */
    take(now: number): void {
      nextAt = Math.max(nextAt, now - SLACK_MS) + 1_000 / this.rate;
    },
  };
}

/** Places are reserved this far ahead: ten reservations per second, and a process that dies loses no more than this. */
const AHEAD_MS = 100;
/** A place that was not used for this long is lost, so that no second has more than its share. */
const STALE_MS = 100;
/** A failed reservation is repeated after this time. */
const RESERVE_AGAIN_MS = 500;

interface SharedPlacesOptions extends RateLimitOptions {
  readonly shared: SharedRate;
}

/**
 * Enforces `requestsPerSecond` over all processes: each reserves places for its waiting requests, a few at a time,
 * and uses them one after another. While reservations fail, nothing is sent.
 */
function sharedPlaces(options: SharedPlacesOptions) {
  const { clock, requestsPerSecond, shared, onReserved } = options;
  const gapMs = 1_000 / requestsPerSecond;
  const most = Math.max(1, Math.floor(AHEAD_MS / gapMs));
  let left = 0;
  let nextAt = 0;
  let reserving = false;

  const reserve = async (wanted: number): Promise<void> => {
    reserving = true;
    try {
      const { places, afterMs } = await shared.reserve(requestsPerSecond, Math.min(most, wanted));
      left = places;
      nextAt = clock.monotonic() + afterMs;
    } catch {
      await new Promise<void>((resolve) => clock.after(RESERVE_AGAIN_MS, resolve));
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
