/** What a storefront reports about itself while it works; for logs and progress, never needed for correctness. */
export type StorefrontEvent =
  /** Half of the last answers were failures: nothing but probes is sent until one is answered. */
  | { readonly kind: 'breaker-opened'; readonly reason: string }
  | { readonly kind: 'breaker-closed'; readonly openForMs: number }
  /** The store asked (or another process was asked) to wait. */
  | { readonly kind: 'paused'; readonly forMs: number; readonly reason: string }
  /** The store refused requests as too many; from now on at most this many per second are sent. */
  | { readonly kind: 'rate-limited'; readonly requestsPerSecond: number };

export type OnStorefrontEvent = (event: StorefrontEvent) => void;

/** One attempt of a request, for logs. */
export interface Attempt {
  /** Unique; the same for all attempts of one request. */
  readonly requestId: string;
  /** What the caller gave as `about`. */
  readonly about: string | undefined;
  readonly method: string;
  /** With its query; holds neither keys of products nor secrets. */
  readonly path: string;
  /** Counted from 1. */
  readonly attempt: number;
  /** Null when there was no answer. */
  readonly status: number | null;
  readonly durationMs: number;
  /** Why it is to be repeated, or is given up; null when the store accepted or refused it. */
  readonly failure: string | null;
}

export type OnAttempt = (attempt: Attempt) => void;
