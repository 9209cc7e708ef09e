import { uptime } from 'node:os';

/** With a larger difference between two clocks, the machine has slept, or a clock was set. */
const SAME_WITHIN_MS = 500;

/** A moment within this process, by three clocks, because none is reliable alone. */
export type Moment = ReturnType<typeof presentMoment>;

/** The present moment. */
export function presentMoment() {
  return {
    /** Stops while the machine sleeps. */
    monotonicMs: performance.now(),
    /** May be set forward and back. */
    wallMs: Date.now(),
    /** Neither stops nor is set, but costs a system call. */
    uptimeMs: uptime() * 1_000,
  };
}

/**
 * The milliseconds since a moment, including the time that the machine slept, independent of changes of the wall
 * clock.
 */
export function elapsedMs(since: Moment): number {
  const monotonic = performance.now() - since.monotonicMs;
  const wall = Date.now() - since.wallMs;
  if (Math.abs(wall - monotonic) <= SAME_WITHIN_MS) return Math.max(monotonic, wall);
  return Math.max(monotonic, uptime() * 1_000 - since.uptimeMs);
}

/** A moment stored for other processes, also for those after a restart of the machine. */
export type StoredMoment = ReturnType<typeof presentStoredMoment>;

/** The present moment, to store. */
export function presentStoredMoment() {
  return {
    /** May be set forward and back. */
    wallMs: Date.now(),
    /** Since the start of the machine: equal for all of its processes. */
    bootMs: Number(process.hrtime.bigint() / 1_000_000n),
  };
}

/**
 * Milliseconds until `durationMs` have passed since a stored moment, rather too many than too few: setting the wall
 * clock shortens them only after a restart of the machine.
 */
export function remainingMs(from: StoredMoment, durationMs: number, now: StoredMoment): number {
  const byWall = between0And(durationMs, from.wallMs + durationMs - now.wallMs);
  if (now.bootMs < from.bootMs) return byWall;
  return Math.max(byWall, between0And(durationMs, from.bootMs + durationMs - now.bootMs));
}

function between0And(most: number, ms: number) {
  return Math.min(most, Math.max(0, ms));
}
