import { uptime } from 'node:os';

/** Clocks that differ by more have not gone alike: the machine has slept, or people have turned one of them. */
const SAME_WITHIN_MS = 500;

/** A moment by three clocks, of which none is to be trusted alone. */
export interface Moment {
  /** Stands still while the machine sleeps. */
  readonly monotonicMs: number;
  /** Is put forward and back. */
  readonly wallMs: number;
  /** Neither, but costs a system call and a file. */
  readonly uptimeMs: number;
}

/** The present moment. */
export function presentMoment(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now(), uptimeMs: uptime() * 1_000 };
}

/** The milliseconds since a moment, sleep of the machine included, whatever the wall clock was set to meanwhile. */
export function elapsedMs(since: Moment): number {
  const monotonic = performance.now() - since.monotonicMs;
  const wall = Date.now() - since.wallMs;
  if (Math.abs(wall - monotonic) <= SAME_WITHIN_MS) return Math.max(monotonic, wall);
  return Math.max(monotonic, uptime() * 1_000 - since.uptimeMs);
}
