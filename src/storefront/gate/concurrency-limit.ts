/** The weight of the latest round trip in the average (as in Vector's adaptive request concurrency). */
const AVERAGE_WEIGHT = 0.4;
/** Round trips are slow if they are this many deviations above the average, and longer by this factor. */
const SLOW_DEVIATIONS = 2.5;
const SLOW_FACTOR = 1.25;
/** The factor by which a push-back, a failure or slow answers reduce the limit. */
const DECREASE = 0.9;
/** A round with a mean below this counts as quick, even if the average is lower. */
const QUICK_MS = 5;
/** A limit that doubles does so up to this: growing one by one takes longer than reading a hundred pages. */
const DOUBLES_UP_TO = 32;
/** Above this limit, one failure among this many answers is an accident and not a sign of load. */
const ACCIDENTS_ABOVE = 10;
const ACCIDENT_ANSWERS = 20;

/** The end of an attempt from the view of the limit. */
export type Pressure =
  /** Answered: its duration counts. */
  | 'none'
  /** The store pushed back (429, or 503 with Retry-After), and the concurrency limit may have been too high. */
  | 'too-many'
  /** It failed in a way that load can cause: 5xx, 408, a redirect, an answer that proves nothing, connection lost, timeout. */
  | 'failure';

/**
 * How many requests may be in flight. It starts at 1, grows by one per round trip while answers are quick and the
 * limit is used, and shrinks to 0.9 of itself, rounded down, after a push-back or a failure, and
 * when answers become slow.
 * After Vector's adaptive request concurrency, with changes for a client of one store. A push-back reduces the limit
 * at once instead of at the end of the round, and only if its request was sent after the last reduction. A limit that
 * was pushed back is reached again only after a quiet time, which keeps push-backs rare. Slow means slower than the
 * average by more than chance, or that twice the requests in flight bring no more answers, because the average alone
 * follows a growing queue without end. Answers below 5 ms are always quick. With `doubles`, where a configured rate spaces the
 * requests, it doubles at first.
 */
export function concurrencyLimit(ceiling: number, doubles = false) {
  const caution = cautiousCeiling();
  const gain = concurrencyGain();
  let current = 1;
  let because = 'starting';
  let averageMs: number | null = null;
  let variance = 0;
  let round = { endsAt: Number.NEGATIVE_INFINITY, sumMs: 0, answers: 0, reached: false };
  let doubling = doubles;
  let cutAt = Number.NEGATIVE_INFINITY;
  let answersSinceFailure = 0;

  const cut = (now: number, why: string) => {
    current = Math.max(1, Math.floor(current * DECREASE));
    doubling = false;
    cutAt = now;
    because = why;
    round = { endsAt: now + (averageMs ?? 0), sumMs: 0, answers: 0, reached: false };
  };

  const failed = (sentAt: number, now: number, pressure: 'too-many' | 'failure') => {
    const accident =
      pressure === 'failure' && current > ACCIDENTS_ABOVE && answersSinceFailure >= ACCIDENT_ANSWERS;
    answersSinceFailure = 0;
    if (accident || sentAt < cutAt) return;
    if (pressure === 'too-many') caution.exceeded(current, now);
    cut(now, pressure === 'too-many' ? 'the store said too many requests' : 'the store failed');
  };

  const grow = () => {
    current = doubling ? Math.min(ceiling, DOUBLES_UP_TO, current * 2) : current + 1;
    if (current >= DOUBLES_UP_TO) doubling = false;
    because = current === ceiling ? 'the ceiling' : 'answers are quick';
  };

  const endRound = (now: number) => {
    const roundMs = round.sumMs / round.answers;
    const average = averageMs ?? roundMs;
    const deviation = Math.sqrt(variance);
    const isQuick = roundMs <= QUICK_MS;
    const gained = round.reached ? gain.judge(current, roundMs) : 'unknown';
    const isSlow = roundMs > Math.max(SLOW_FACTOR * average, average + SLOW_DEVIATIONS * deviation);
    const difference = roundMs - average;
    averageMs = average + AVERAGE_WEIGHT * difference;
    variance = (1 - AVERAGE_WEIGHT) * (variance + AVERAGE_WEIGHT * difference ** 2);
    if (!isQuick && current > JUDGED_ABOVE && (isSlow || gained === 'less')) {
      cut(now, isSlow ? 'answers became slow' : 'more concurrent requests bring no more answers');
      return;
    }
    // While the limit doubles, a round that is not slow counts as quick, because no deviation is known yet.
    const isUsual = doubling || roundMs <= average + deviation;
    if (gained === 'little') doubling = false;
    const mayGrow = isQuick || (isUsual && gained !== 'little');
    if (round.reached && mayGrow && current < ceiling && caution.allowsMoreThan(current, now)) grow();
    round = { endsAt: now + averageMs, sumMs: 0, answers: 0, reached: false };
  };

  return {
    get current() {
      return current;
    },
    /** The reason for its value, as text for reports. */
    get because() {
      return because;
    },
    /** The average duration of answers, in milliseconds; 0 before the first round, and again after `restart`. */
    get averageMs() {
      return averageMs ?? 0;
    },
    /** Only reads follow: if nothing is known yet, this many may be sent at once, and soon more. */
    startAt(limit: number): void {
      if (averageMs !== null || current > 1 || cutAt !== Number.NEGATIVE_INFINITY) return;
      current = Math.min(ceiling, limit);
      doubling = current < DOUBLES_UP_TO;
    },
    /** A request was sent; `inFlight` counts it. */
    sent(inFlight: number): void {
      if (inFlight >= current) round.reached = true;
    },
    ended({ sentAt, endedAt, pressure }: { sentAt: number; endedAt: number; pressure: Pressure }): void {
      if (pressure !== 'none') {
        failed(sentAt, endedAt, pressure);
        return;
      }
      caution.answered();
      answersSinceFailure++;
      round.sumMs += endedAt - sentAt;
      round.answers++;
      if (endedAt >= round.endsAt) endRound(endedAt);
    },
    /** Back to 1, when the breaker opens. */
    restart(why: string): void {
      current = 1;
      doubling = false;
      because = why;
      averageMs = null;
      variance = 0;
      round = { endsAt: Number.NEGATIVE_INFINITY, sumMs: 0, answers: 0, reached: false };
    },
  };
}

/** The time and the number of answers without a push-back that are needed before a rejected limit is tried again. */
const QUIET_MS = 2_000;
const QUIET_ANSWERS = 20;
/** After each further push-back the waiting time before the next attempt doubles, up to this factor. */
const MAX_CAUTION = 16;

/**
 * Remembers how many concurrent requests were too many, so that the limit does not reach that number every few round
 * trips.
 */
export function cautiousCeiling() {
  let highestGood = Number.POSITIVE_INFINITY;
  let caution = 1;
  let quietSince = Number.NEGATIVE_INFINITY;
  let quietAnswers = 0;
  return {
    /** This many concurrent requests were pushed back. */
    exceeded(limit: number, now: number): void {
      caution = limit > highestGood ? Math.min(MAX_CAUTION, caution * 2) : 1;
      highestGood = Math.max(1, limit - 1);
      quietSince = now;
      quietAnswers = 0;
    },
    answered(): void {
      quietAnswers++;
    },
    /** Whether the limit may grow beyond `limit` now. The number that was pushed back is tried again after a long quiet time. */
    allowsMoreThan(limit: number, now: number): boolean {
      if (limit < highestGood) return true;
      if (quietAnswers < QUIET_ANSWERS || now - quietSince < QUIET_MS * caution) return false;
      if (limit > highestGood) {
        highestGood = Number.POSITIVE_INFINITY;
        caution = 1;
      }
      quietSince = now;
      quietAnswers = 0;
      return true;
    },
  };
}

/** The weight of the latest round in the measurement of a limit. */
const MEMORY_WEIGHT = 0.4;
/** Up to this limit, one round is not significant: a single answer that was lost on the way decides how long it took. */
const JUDGED_ABOVE = 4;
/** Twice the requests in flight should give at least this many times the answers per second. */
const WORTH_IT = 1.1;
/** The measurement at half the limit is multiplied by this in each round in which it prevents growth, because it may be outdated. */
const AGEING = 1.002;

/**
 * `less`: fewer answers per second than with half as many in flight; `little`: hardly more; `unknown`: not measured.
 */
type Gain = 'worth it' | 'little' | 'less' | 'unknown';

/**
 * Remembers the duration of answers at each limit, to see whether more concurrency gives more answers: by Little's
 * law, answers per second are requests in flight divided by the duration of each.
 */
export function concurrencyGain() {
  const remembered: (number | undefined)[] = [];
  return {
    /** A round in which the limit was used: compares it with half of it. */
    judge(limit: number, roundMs: number): Gain {
      const before = remembered[limit] ?? roundMs;
      const hereMs = before + MEMORY_WEIGHT * (roundMs - before);
      remembered[limit] = hereMs;
      const half = Math.floor(limit / 2);
      const halfMs = remembered[half];
      if (limit <= JUDGED_ABOVE || halfMs === undefined) return 'unknown';
      const gain = limit / hereMs / (half / halfMs);
      if (gain >= WORTH_IT) return 'worth it';
      if (gain < 1) return 'less';
      remembered[half] = halfMs * AGEING;
      return 'little';
    },
  };
}

/** A push-back this soon after a reduction of the concurrency limit shows that the limit was not the cause. */
const AGAIN_MS = 1_000;
/** The same in round trips, because with slow answers a limit needs time to grow back. */
const AGAIN_ROUND_TRIPS = 6;
/** This many push-backs are attributed to the concurrency limit; with slow answers, a rate limit can look like one. */
const ATTRIBUTED_TO_LIMIT = 2;

/** Which limit a push-back was about: one, both, or neither if its request was sent before the last reduction. */
interface PushBackCause {
  readonly tooManyAtOnce: boolean;
  readonly tooManyASecond: boolean;
}

interface PushBack {
  readonly sentAt: number;
  readonly endedAt: number;
  /** The concurrency limit now. */
  readonly limit: number;
  /** The average duration of answers. */
  readonly averageMs: number;
  /** The request was the last one that the limit allowed. */
  readonly atLimit: boolean;
  /** The request had to wait for the rate limit. */
  readonly wasRateLimited: boolean;
  /** Whether there is a rate limit yet. */
  readonly hasRate: boolean;
}

/**
 * Distinguishes too many concurrent requests from too many per second, which a store answers alike. The first
 * assumption is concurrency. If lower concurrency is pushed back as well, or repeatedly, it is the rate. When a rate
 * limit is known, the cause is the limit that was used up when the request was sent.
 */
export function createCauseTracker(): (pushBack: PushBack) => PushBackCause {
  let attributedAt = Number.NEGATIVE_INFINITY;
  let attributed = 0;

  const judge = ({
    sentAt,
    endedAt,
    limit,
    averageMs,
    atLimit,
    wasRateLimited,
    hasRate,
  }: PushBack): PushBackCause => {
    if (sentAt < attributedAt) return { tooManyAtOnce: false, tooManyASecond: false };
    if (hasRate) return { tooManyAtOnce: atLimit, tooManyASecond: !atLimit || wasRateLimited };
    const soonMs = Math.max(AGAIN_MS, AGAIN_ROUND_TRIPS * averageMs);
    const again = limit === 1 || endedAt - attributedAt < soonMs || attributed >= ATTRIBUTED_TO_LIMIT;
    return { tooManyAtOnce: !again, tooManyASecond: again };
  };

  return (pushBack) => {
    const cause = judge(pushBack);
    if (cause.tooManyAtOnce) {
      attributedAt = pushBack.endedAt;
      attributed++;
    }
    return cause;
  };
}
