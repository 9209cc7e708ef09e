/** How often a process that sends writes to the state that it is there, and for how long a written beat lets it send. */
export const BEAT_MS = 500;
export const LEASE_MS = 2_000;

/** A moment by the wall clock, which people may turn, and by the clock of the machine since it was started. */
export interface BeatMoment {
  readonly wallMs: number;
  readonly bootMs: number;
}

/** The present moment; the clock since the start of the machine is the same for all of its processes. */
export function presentBeat(): BeatMoment {
  return { wallMs: Date.now(), bootMs: Number(process.hrtime.bigint() / 1_000_000n) };
}

/**
 * Milliseconds until something that was to last for `lastsMs` from a moment on is over, rather too many than too few:
 * a wall clock that was turned back or ahead shortens nothing, and a machine that was started anew is seen.
 */
export function remainingMs(from: BeatMoment, lastsMs: number, now: BeatMoment): number {
  const byWall = within(lastsMs, from.wallMs + lastsMs - now.wallMs);
  const sameBoot = now.bootMs >= from.bootMs;
  return sameBoot ? Math.max(byWall, within(lastsMs, from.bootMs + lastsMs - now.bootMs)) : byWall;
}

function within(most: number, ms: number): number {
  return Math.min(most, Math.max(0, ms));
}
