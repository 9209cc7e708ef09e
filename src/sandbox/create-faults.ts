import type { Random } from './seeded-random.ts';

/** The fault injected into one request. */
export type Fault =
  | { readonly kind: 'none' }
  /** 429 with `Retry-After` in whole seconds; nothing is applied. */
  | { readonly kind: 'too-many'; readonly retryAfterSeconds: number }
  /** 503; nothing is applied. */
  | { readonly kind: 'fail-before' }
  /** 503 after the request was applied; for a client it looks like `fail-before`. */
  | { readonly kind: 'fail-after' };

export interface FaultOptions {
  /** Share of requests answered with 503, 0 to 1; half of them are applied all the same. */
  readonly failRate: number;
  /** Requests let through in a second, with a burst of as many (at least one); more are answered with 429. */
  readonly requestsPerSecond: number | undefined;
  readonly random: Random;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Decides the fault of each request in turn: a token bucket first, then chance. */
export function createFaults({ failRate, requestsPerSecond, random, now }: FaultOptions): () => Fault {
  const takeToken = requestsPerSecond === undefined ? () => 0 : tokenBucket(requestsPerSecond, now);
  return () => {
    const waitMs = takeToken();
    if (waitMs > 0) return { kind: 'too-many', retryAfterSeconds: Math.ceil(waitMs / 1000) };
    if (failRate === 0 || random() >= failRate) return { kind: 'none' };
    return { kind: random() < 0.5 ? 'fail-before' : 'fail-after' };
  };
}

/** Takes a token and gives 0, or gives the milliseconds until there will be one. */
function tokenBucket(perSecond: number, now: () => number): () => number {
  const capacity = Math.max(1, perSecond);
  let tokens = capacity;
  let filledAt = now();
  return () => {
    const time = now();
    tokens = Math.min(capacity, tokens + (Math.max(0, time - filledAt) * perSecond) / 1000);
    filledAt = time;
    if (tokens < 1) return ((1 - tokens) * 1000) / perSecond;
    tokens -= 1;
    return 0;
  };
}
