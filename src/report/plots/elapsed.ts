/** The unit in which a stretch of time is told on an axis. */
export interface TimeUnit {
  readonly name: string;
  readonly ms: number;
}

/** Seconds, minutes or hours, whichever gives an axis plain numbers. */
export function unitOf(spanMs: number): TimeUnit {
  if (spanMs < 2 * 60_000) return { name: 'seconds', ms: 1_000 };
  if (spanMs < 3 * 3_600_000) return { name: 'minutes', ms: 60_000 };
  return { name: 'hours', ms: 3_600_000 };
}
