/** Whether an HTTP status means that the same request may succeed later: 408, 429 and server errors. */
export function isPassingStatus(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/**
 * Whether the store temporarily refused to process a request: 429, or 503 with Retry-After. The request had no
 * effect.
 */
export function isPushBack(status: number | null, retryAfterMs: number | undefined): boolean {
  return status === 429 || (status === 503 && retryAfterMs !== undefined);
}

/** The longest wait: a run gives up on a store after the same time. */
export const MAX_RETRY_AFTER_MS = 15 * 60_000;

/** As in `Sun, 06 Nov 1994 08:49:37 GMT`: `Date.parse` alone would read `7.5` or `-3` as a year. */
const HTTP_DATE = /^[A-Z][a-z]{2,8},? \d{1,2}[ -][A-Z][a-z]{2}[ -]\d{2,4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * How many milliseconds a server asks to wait: `Retry-After` as seconds or as a date (RFC 9110, section 10.2.3), 15
 * minutes at most. Undefined if the header is absent or unreadable, 0 for a date in the past.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, MAX_RETRY_AFTER_MS);
  if (!HTTP_DATE.test(text)) return undefined;
  const date = Date.parse(text);
  if (Number.isNaN(date)) return undefined;
  return Math.min(Math.max(0, date - now), MAX_RETRY_AFTER_MS);
}
