import { uptime } from 'node:os';

/** Clocks that differ by more have not gone alike: the machine has slept, or people have turned one of them. */
const SAME_WITHIN_MS = 500;

/** A moment within this process, by three clocks of which none is to be trusted alone. */
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

/** A moment that is stored for other processes, also for those that run after the machine was restarted. */
export interface StoredMoment {
  /** Is put forward and back. */
  readonly wallMs: number;
  /** Since the machine was started: the same for all of its processes. */
  readonly bootMs: number;
}

/** The present moment, to be stored. */
export function presentStoredMoment(): StoredMoment {
  return { wallMs: Date.now(), bootMs: Number(process.hrtime.bigint() / 1_000_000n) };
}

/**
 * Milliseconds until `durationMs` have passed since a stored moment, rather too many than too few: a wall clock that was
 * set back or ahead shortens nothing, and a restart of the machine is noticed.
 */
export function remainingMs(from: StoredMoment, durationMs: number, now: StoredMoment): number {
  const byWall = between0And(durationMs, from.wallMs + durationMs - now.wallMs);
  if (now.bootMs < from.bootMs) return byWall;
  return Math.max(byWall, between0And(durationMs, from.bootMs + durationMs - now.bootMs));
}

function between0And(most: number, ms: number): number {
  return Math.min(most, Math.max(0, ms));
}
