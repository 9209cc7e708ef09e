/** How much the store takes, without saying so. */
export interface Capacity {
  /** More open requests than this are refused with `refusal`. */
  readonly atOnce?: number;
  /** More requests in a second than this are refused (a bucket that holds `burst`, by default a tenth of a second's worth). */
  readonly perSecond?: number;
  readonly burst?: number;
  /** This many requests are worked on at a time, `serviceMs` each; the others queue, so that latency grows with load. */
  readonly workers?: number;
  readonly serviceMs?: number;
  /** What a refused request is answered; by default 429 without Retry-After. */
  readonly refusal?: { readonly status: number; readonly retryAfter?: string };
}

/** Decides about each arriving request. */
export interface CapacityGate {
  /** Whether to take it; `open` counts this one. */
  admits(open: number, now: number): boolean;
  /** How many milliseconds until its work is done. */
  serviceTime(now: number): number;
}

export function capacityGate(capacity: Capacity): CapacityGate {
  const { atOnce = Number.POSITIVE_INFINITY, perSecond, workers, serviceMs = 0 } = capacity;
  const burst = capacity.burst ?? Math.max(1, (perSecond ?? 0) / 10);
  let tokens = burst;
  let refilledAt: number | null = null;
  const freeAt = Array.from({ length: workers ?? 0 }, () => 0);

  return {
    admits(open, now) {
      if (open > atOnce) return false;
      if (perSecond === undefined) return true;
      tokens = Math.min(burst, tokens + ((now - (refilledAt ?? now)) * perSecond) / 1_000);
      refilledAt = now;
      if (tokens < 1) return false;
      tokens--;
      return true;
    },
    serviceTime(now) {
      if (workers === undefined) return serviceMs;
      const first = freeAt.indexOf(Math.min(...freeAt));
      const doneAt = Math.max(now, freeAt[first] ?? 0) + serviceMs;
      freeAt[first] = doneAt;
      return doneAt - now;
    },
  };
}
