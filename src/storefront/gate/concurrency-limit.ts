import { cautiousCeiling } from './cautious-ceiling.ts';
import { concurrencyGain } from './concurrency-gain.ts';

/** How strongly the latest round trip counts in the average (as in Vector's adaptive request concurrency). */
const AVERAGE_WEIGHT = 0.4;
/** Round trips this many deviations above the average, and this much longer, are slow. */
const SLOW_DEVIATIONS = 2.5;
const SLOW_FACTOR = 1.25;
/** What a push-back or slow answers leave of the limit. */
const DECREASE = 0.9;
/** Below this, in milliseconds, an answer is quick whatever the average says: no network is faster. */
const QUICK_MS = 5;
/** What begins with harmless requests doubles the limit up to this: a hundred pages are read before it has grown one by one. */
const DOUBLES_UP_TO = 32;
/** Above this limit, one failure among so many answers is an accident and not a sign of load. */
const ACCIDENTS_ABOVE = 10;
const ACCIDENT_ANSWERS = 20;

/** How an attempt ended, as far as the limit is concerned. */
export type Pressure =
  /** Answered: its time counts. */
  | 'none'
  /** The store said that it is too much (429), and the limit may be what was too high. */
  | 'too-many'
  /** It failed in a way that may come from load: 5xx, 408, connection lost, timeout. */
  | 'unwell';

/**
 * How many requests may be in flight. Starts at 1; plus one per round trip while answers are quick and the limit
 * is used; times 0.9 on push-back and when answers become slow.
 *
 * After Vector's adaptive request concurrency, with changes that a client of one store needs: a push-back cuts at
 * once instead of at the end of the round, and only if its request was sent after the last cut; a limit that was
 * answered with 429 is passed again only cautiously, which keeps 429s rare; slow means slower than the average by
 * more than chance, or that twice the requests in flight bring no more answers, since the average alone follows a
 * queue up for ever; answers below 5 ms are always quick.
 */
export interface ConcurrencyLimit {
  readonly current: number;
  /** Why it is what it is, for people. */
  readonly because: string;
  /** How long answers take, in milliseconds; 0 before the first. */
  readonly averageMs: number;
  /** Harmless requests are to come: if nothing is known yet, so many may go at once, and more soon. */
  startAt(limit: number): void;
  /** A request was sent; `inFlight` counts it. */
  sent(inFlight: number): void;
  ended(attempt: { sentAt: number; endedAt: number; pressure: Pressure }): void;
  /** Back to 1, as after an outage. */
  restart(because: string): void;
}

export function concurrencyLimit(ceiling: number): ConcurrencyLimit {
  const caution = cautiousCeiling();
  const gain = concurrencyGain();
  let current = 1;
  let because = 'starting';
  let averageMs: number | null = null;
  let variance = 0;
  let round = { endsAt: Number.NEGATIVE_INFINITY, sumMs: 0, answers: 0, reached: false };
  let doubling = false;
  let cutAt = Number.NEGATIVE_INFINITY;
  let answersSinceFailure = 0;

  const cut = (now: number, why: string): void => {
    current = Math.max(1, Math.floor(current * DECREASE));
    doubling = false;
    cutAt = now;
    because = why;
    round = { endsAt: now + (averageMs ?? 0), sumMs: 0, answers: 0, reached: false };
  };

  const failed = (sentAt: number, now: number, pressure: 'too-many' | 'unwell'): void => {
    const accident =
      pressure === 'unwell' && current > ACCIDENTS_ABOVE && answersSinceFailure >= ACCIDENT_ANSWERS;
    answersSinceFailure = 0;
    if (accident || sentAt < cutAt) return;
    if (pressure === 'too-many') caution.exceeded(current, now);
    cut(now, pressure === 'too-many' ? 'the store said too many requests' : 'the store failed');
  };

  const grow = (): void => {
    current = doubling ? Math.min(ceiling, DOUBLES_UP_TO, current * 2) : current + 1;
    if (current >= DOUBLES_UP_TO) doubling = false;
    because = current === ceiling ? 'the ceiling' : 'answers are quick';
  };

  const endRound = (now: number): void => {
    const roundMs = round.sumMs / round.answers;
    const average = averageMs ?? roundMs;
    const deviation = Math.sqrt(variance);
    const isQuick = roundMs <= QUICK_MS;
    const gained = round.reached ? gain.judge(current, roundMs) : 'unknown';
    const isSlow = roundMs > Math.max(SLOW_FACTOR * average, average + SLOW_DEVIATIONS * deviation);
    const difference = roundMs - average;
    averageMs = average + AVERAGE_WEIGHT * difference;
    variance = (1 - AVERAGE_WEIGHT) * (variance + AVERAGE_WEIGHT * difference ** 2);
    if (!isQuick && (isSlow || gained === 'less')) {
      cut(now, isSlow ? 'answers became slow' : 'more at once brings no more answers');
      return;
    }
    // While it doubles, a round that is not slow is quick enough: there is no deviation to measure it by yet.
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
    get because() {
      return because;
    },
    get averageMs() {
      return averageMs ?? 0;
    },
    startAt(limit) {
      if (averageMs !== null || current > 1 || cutAt !== Number.NEGATIVE_INFINITY) return;
      current = Math.min(ceiling, limit);
      doubling = current < DOUBLES_UP_TO;
    },
    sent(inFlight) {
      if (inFlight >= current) round.reached = true;
    },
    ended({ sentAt, endedAt, pressure }) {
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
    restart(why) {
      current = 1;
      doubling = false;
      because = why;
      averageMs = null;
      variance = 0;
      round = { endsAt: Number.NEGATIVE_INFINITY, sumMs: 0, answers: 0, reached: false };
    },
  };
}
