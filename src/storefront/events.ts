import type { Clock } from './clock.ts';

/** What a storefront tells about itself while it works; for logs and progress, never needed for correctness. */
export type StorefrontEvent =
  /** Half of the last answers were failures: sending pauses until a probe is answered. */
  | { readonly kind: 'breaker-opened'; readonly reason: string }
  | { readonly kind: 'breaker-closed'; readonly openForMs: number }
  /** The store asked (or another process was asked) to wait. */
  | { readonly kind: 'paused'; readonly forMs: number; readonly reason: string }
  /** The store said that it is too much; from now on at most this many requests a second are sent. */
  | { readonly kind: 'rate-limited'; readonly requestsPerSecond: number };

export type OnStorefrontEvent = (event: StorefrontEvent) => void;

/** One request as it went over the wire, for logs. */
export interface Attempt {
  /** The same for all attempts of one request, and unlike any other. */
  readonly requestId: string;
  /** What the caller said it is about; undefined when it said nothing. */
  readonly about: string | undefined;
  readonly method: string;
  /** With its query; carries neither keys of products nor secrets. */
  readonly path: string;
  /** Counted from 1. */
  readonly attempt: number;
  /** Null when there was no answer. */
  readonly status: number | null;
  readonly durationMs: number;
  /** Why it is to be tried again, or is given up: null when the store had its last word. */
  readonly failure: string | null;
}

export type OnAttempt = (attempt: Attempt) => void;

/** A pause that several processes share, such as through Redis. Durations, since machines disagree about the time. */
export interface SharedPause {
  /** Tells the others to send nothing for so long. */
  announce(forMs: number): void;
  /** Called when one of the others says so; gives a way to stop listening. */
  listen(onPause: (forMs: number) => void): () => void;
}

/** The requests a second that several processes share, such as through Redis. */
export interface SharedRate {
  /**
   * Takes up to `most` places in the line of requests, which moves at so many places a second: how many were taken,
   * and how long until the first may be used; the others follow at that pace.
   */
  reserve(perSecond: number, most: number): Promise<{ readonly places: number; readonly afterMs: number }>;
}

/** What the pieces of a storefront have in common. */
export interface Surroundings {
  readonly clock: Clock;
  /** In [0, 1), as Math.random. */
  readonly random: () => number;
  readonly onEvent: OnStorefrontEvent;
}
