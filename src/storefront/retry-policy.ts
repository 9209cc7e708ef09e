/** The first retry waits up to this long. */
export const RETRY_BASE_MS = 500;
/** No retry waits longer, unless the store asks for it. */
export const RETRY_CAP_MS = 30_000;
/** Attempts after the first before an operation is unsent. */
export const MAX_RETRIES = 8;

interface RetryQuestion {
  /** 1 for the first retry. */
  readonly retry: number;
  /** In [0, 1). */
  readonly random: number;
  /** What the store asked for with Retry-After, already bounded; 0 when it asked for nothing. */
  readonly retryAfterMs?: number;
  /** How long the store may still be at work on the attempt before; 0 when that has certainly ended. */
  readonly atWorkMs?: number;
}

/**
 * How long to wait before a retry: full jitter, that is anything between nothing and a doubling ceiling, so that
 * many failed at once do not come back at once. Added to what the store asked for, and so never before it; nor
 * while it may still be at work on the attempt before: a store that looks a product up and then writes it would
 * create two.
 */
export function retryDelayMs({ retry, random, retryAfterMs = 0, atWorkMs = 0 }: RetryQuestion): number {
  const ceiling = Math.min(RETRY_CAP_MS, RETRY_BASE_MS * 2 ** (retry - 1));
  return Math.max(retryAfterMs, atWorkMs) + random * ceiling;
}
