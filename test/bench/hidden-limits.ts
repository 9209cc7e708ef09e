import type { Capacity } from '../support/store/capacity.ts';

/** A capacity of a store that clients must find out. */
export interface HiddenLimit {
  readonly name: string;
  readonly latencyMs: (open: number) => number;
  readonly capacity: Capacity;
}

/** One packet in a hundred is lost, of a request or of its answer; TCP sends it again after its timeout (RFC 6298). */
const LOST_SHARE = 0.02;
const MIN_RETRANSMISSION_MS = 200;

/** A store so far away, in milliseconds there and back, that takes so many requests a second. */
export const FAR_STORES = [20, 100, 300].flatMap((latencyMs) =>
  [5, 20, 200].map((perSecond) => ({
    name: `${perSecond} a second, ${latencyMs} ms away`,
    latencyMs: () =>
      Math.random() < LOST_SHARE ? latencyMs + Math.max(MIN_RETRANSMISSION_MS, 2 * latencyMs) : latencyMs,
    capacity: { perSecond },
  })),
);

/** The three of issue 4. */
export const HIDDEN_LIMITS: readonly HiddenLimit[] = [
  { name: '5 at once', latencyMs: () => 20, capacity: { atOnce: 5 } },
  { name: '20 requests a second', latencyMs: () => 5, capacity: { perSecond: 20 } },
  { name: 'latency that grows with load', latencyMs: (open) => 50 + open ** 2 / 2, capacity: {} },
];
