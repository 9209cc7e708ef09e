/** A moment by two clocks: one that stands still while the machine sleeps, and one that people may turn. */
export interface Moment {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** The present moment. */
export function presentMoment(): Moment {
  return { monotonicMs: performance.now(), wallMs: Date.now() };
}

/** The milliseconds from one moment to the other, rather too many than too few. */
export function elapsedMs(from: Moment, to: Moment): number {
  return Math.max(to.monotonicMs - from.monotonicMs, to.wallMs - from.wallMs);
}
