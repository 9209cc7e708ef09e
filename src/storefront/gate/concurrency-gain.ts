/** How strongly the latest round counts in what is remembered of a limit. */
const MEMORY_WEIGHT = 0.4;
/** Up to this limit, one round says too little. */
const JUDGED_ABOVE = 4;
/** Twice the requests in flight should bring at least this much more answers per second. */
const WORTH_IT = 1.1;
/** What was measured at another limit is trusted a little less with each round that it holds back. */
const DISTRUST = 1.002;

/** `less`: fewer answers a second than with half as many in flight; `little`: hardly more; `unknown`: not known. */
export type Gain = 'worth it' | 'little' | 'less' | 'unknown';

/**
 * Remembers how long answers took at each limit, to see whether more at once brings more answers: by Little's
 * law, answers per second are requests in flight by the time of each.
 */
export interface ConcurrencyGain {
  /** A round in which the limit was used: compares it with half of it. */
  judge(limit: number, roundMs: number): Gain;
}

export function concurrencyGain(): ConcurrencyGain {
  const remembered: (number | undefined)[] = [];
  return {
    judge(limit, roundMs) {
      const before = remembered[limit] ?? roundMs;
      const hereMs = before + MEMORY_WEIGHT * (roundMs - before);
      remembered[limit] = hereMs;
      const half = Math.floor(limit / 2);
      const halfMs = remembered[half];
      if (limit <= JUDGED_ABOVE || halfMs === undefined) return 'unknown';
      const gain = limit / hereMs / (half / halfMs);
      if (gain >= WORTH_IT) return 'worth it';
      if (gain < 1) return 'less';
      remembered[half] = halfMs * DISTRUST;
      return 'little';
    },
  };
}
