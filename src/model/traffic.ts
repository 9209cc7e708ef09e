/** What went over the wire between all processes of a run and its store during a stretch of time. */
export interface TrafficSample {
  /** When the stretch began, milliseconds since the epoch. */
  readonly at: number;
  /** How long it was, in milliseconds. */
  readonly ms: number;
  /** Attempts that ended in it, retries included. */
  readonly requests: number;
  /** Attempts that are to be tried again, or were given up: no answer, 5xx, 408, 429. A refused record is an answer. */
  readonly failed: number;
  /** Attempts that were not the first of their operation. */
  readonly retries: number;
  /** Median and 95th percentile of the duration of the attempts, in milliseconds, at most 5 % wrong; null where none ended. */
  readonly p50: number | null;
  readonly p95: number | null;
  /** How many requests at once the limiter allowed, at most; over all processes that sent. */
  readonly concurrency: number;
  /** How much of it nothing was sent, since the store failed (breaker) or asked to wait; to a quarter of a second. */
  readonly pausedMs: number;
}

/**
 * The traffic of a run over time, in order, continuations included: a second each at first, longer ones in a long run,
 * 300 at most. Times in which no process worked on it are left out.
 */
export interface Traffic {
  readonly samples: readonly TrafficSample[];
}
