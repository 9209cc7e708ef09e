/** How many answers are looked back at, and how many of them make the store unwell. */
export const BREAKER_WINDOW = 20;
export const BREAKER_FAILURES = BREAKER_WINDOW / 2;
/** While open, the store is tried this often, one request at a time. */
export const PROBE_EVERY_MS = 1_000;

/**
 * Stops sending while the store is unwell. Closed: everything goes. Open: one probe at a time, at most one a
 * second, until one is answered. Failures are what would be retried: a 4xx other than 408 and 429 is an answer.
 */
export interface Breaker {
  readonly open: boolean;
  /** An answer to a request that was no probe; true when it opened the breaker. */
  answered(ok: boolean, now: number): boolean;
  /** While open: milliseconds until a probe may go; Infinity while one is under way. */
  probeWaitMs(now: number): number;
  probeSent(now: number): void;
  /** How the probe ended; true when it closed the breaker. */
  probeEnded(ok: boolean): boolean;
}

/** A closed breaker. */
export function breaker(): Breaker {
  let answers: boolean[] = [];
  let failures = 0;
  let isOpen = false;
  let probeUnderWay = false;
  let lastProbeAt = Number.NEGATIVE_INFINITY;

  return {
    get open() {
      return isOpen;
    },
    answered(ok, now) {
      if (isOpen) return false;
      answers.push(ok);
      if (!ok) failures++;
      if (answers.length > BREAKER_WINDOW && answers.shift() === false) failures--;
      if (failures < BREAKER_FAILURES) return false;
      isOpen = true;
      lastProbeAt = now;
      return true;
    },
    probeWaitMs(now) {
      return probeUnderWay ? Number.POSITIVE_INFINITY : Math.max(0, lastProbeAt + PROBE_EVERY_MS - now);
    },
    probeSent(now) {
      probeUnderWay = true;
      lastProbeAt = now;
    },
    probeEnded(ok) {
      probeUnderWay = false;
      if (!ok || !isOpen) return false;
      isOpen = false;
      answers = [];
      failures = 0;
      return true;
    },
  };
}
