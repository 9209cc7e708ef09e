/** How strongly the latest round trip counts in the average (as in Vector's adaptive request concurrency). */
const AVERAGE_WEIGHT = 0.4;
/** Round trips this many deviations above the average are slow. */
const SLOW_DEVIATIONS = 2.5;
/** What a push-back or slow answers leave of the limit. */
const DECREASE = 0.9;
/** Below this, in milliseconds, an answer is quick whatever the average says: no network is faster. */
const QUICK_MS = 5;
/** Answers without push-back, per request in flight, before going beyond a limit that was pushed back from. */
const CAUTION_ANSWERS = 20;
/** Each time that fails, the next try waits twice as long, up to this factor. */
const MAX_CAUTION = 32;

/** How an attempt ended, as far as the limit is concerned. */
export type Pressure =
  /** Answered: its time counts. */
  | 'none'
  /** The store said that it is too much (429). */
  | 'too-many'
  /** It failed in a way that may come from load: 5xx, 408, connection lost, timeout. */
  | 'unwell';

/**
 * How many requests may be in flight. Starts at 1; plus one per round trip while answers are quick and the limit
 * is used; times 0.9 on push-back and when a round trip is slower than its recent average by more than chance.
 *
 * After Vector's adaptive request concurrency, with three changes for a client of one store: a push-back cuts at
 * once instead of at the end of the round, and only if its request was sent after the last cut; a limit that was
 * answered with 429 is remembered and passed again only after a long quiet time, which keeps 429s rare; answers
 * below 5 ms are always quick.
 */
export interface ConcurrencyLimit {
  readonly current: number;
  /** Why it is what it is, for people. */
  readonly because: string;
  /** A request was sent; `inFlight` counts it. */
  sent(inFlight: number): void;
  ended(attempt: { sentAt: number; endedAt: number; pressure: Pressure }): void;
  /** Back to 1, as after an outage. */
  restart(because: string): void;
}

export function concurrencyLimit(ceiling: number): ConcurrencyLimit {
  let current = 1;
  let because = 'starting';
  let averageMs: number | null = null;
  let variance = 0;
  let roundEndsAt = Number.NEGATIVE_INFINITY;
  let roundSumMs = 0;
  let roundAnswers = 0;
  let reached = false;
  let cutAt = Number.NEGATIVE_INFINITY;
  /** The highest limit not known to be too much. */
  let knownGood = Number.POSITIVE_INFINITY;
  let caution = 1;
  let quietAnswers = 0;

  const cut = (now: number, why: string): void => {
    current = Math.max(1, Math.floor(current * DECREASE));
    cutAt = now;
    quietAnswers = 0;
    because = why;
  };

  const pushedBack = (sentAt: number, now: number, pressure: Pressure): void => {
    quietAnswers = 0;
    if (sentAt < cutAt) return;
    if (pressure === 'too-many') {
      caution = current > knownGood ? Math.min(MAX_CAUTION, caution * 2) : 1;
      knownGood = Math.max(1, current - 1);
    }
    cut(now, pressure === 'too-many' ? 'the store said too many requests' : 'the store failed');
  };

  const mayGrow = (): boolean => {
    if (current < knownGood) return true;
    if (quietAnswers < CAUTION_ANSWERS * caution * current) return false;
    if (current > knownGood) {
      knownGood = Number.POSITIVE_INFINITY;
      caution = 1;
    }
    quietAnswers = 0;
    return true;
  };

  const endRound = (now: number): void => {
    const roundMs = roundSumMs / roundAnswers;
    const average = averageMs ?? roundMs;
    const slowMs = Math.max(QUICK_MS, average + SLOW_DEVIATIONS * Math.sqrt(variance));
    if (roundMs > slowMs && averageMs !== null) {
      cut(now, 'answers became slow');
    } else if (reached && (roundMs <= average || roundMs <= QUICK_MS) && current < ceiling && mayGrow()) {
      current++;
      because = current === ceiling ? 'the ceiling' : 'answers are quick';
    }
    const difference = roundMs - average;
    averageMs = average + AVERAGE_WEIGHT * difference;
    variance = (1 - AVERAGE_WEIGHT) * (variance + AVERAGE_WEIGHT * difference ** 2);
    roundEndsAt = now + averageMs;
    roundSumMs = 0;
    roundAnswers = 0;
    reached = false;
  };

  return {
    get current() {
      return current;
    },
    get because() {
      return because;
    },
    sent(inFlight) {
      if (inFlight >= current) reached = true;
    },
    ended({ sentAt, endedAt, pressure }) {
      if (pressure !== 'none') {
        pushedBack(sentAt, endedAt, pressure);
        return;
      }
      quietAnswers++;
      roundSumMs += endedAt - sentAt;
      roundAnswers++;
      if (endedAt >= roundEndsAt) endRound(endedAt);
    },
    restart(why) {
      current = 1;
      because = why;
      averageMs = null;
      variance = 0;
      roundSumMs = 0;
      roundAnswers = 0;
    },
  };
}
