/** However quick its answers, a store is given this long. */
export const SHORTEST_WORK_MS = 1_000;
/** However slow they are, no longer than any retry waits. */
export const LONGEST_WORK_MS = 30_000;
/** So many times the mean time of an answer. */
const SLOW_FACTOR = 4;
/** How strongly the latest answer counts in the mean. */
const WEIGHT = 0.1;

/** Judges by its answers how long a store may be at work on a request whose answer was lost. */
export interface WorkTime {
  readonly longestMs: number;
  answeredIn(ms: number): void;
}

/** A judgement that no answer has shaped yet: the longest time. */
export function workTime(): WorkTime {
  let meanMs: number | null = null;
  return {
    get longestMs() {
      if (meanMs === null) return LONGEST_WORK_MS;
      return Math.min(LONGEST_WORK_MS, Math.max(SHORTEST_WORK_MS, SLOW_FACTOR * meanMs));
    },
    answeredIn(ms) {
      meanMs = meanMs === null ? ms : meanMs + WEIGHT * (ms - meanMs);
    },
  };
}
