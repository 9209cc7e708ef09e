/** Counted in slots of this many milliseconds, over the last second. */
const SLOT_MS = 50;
const SLOTS = 20;
const WINDOW_MS = SLOT_MS * SLOTS;

/** So many whole seconds before the last one are remembered. */
const SECONDS_REMEMBERED = 5;

/** How many requests a second the store has been taking. */
export interface AcceptedRate {
  count(now: number): void;
  /** Over the last second, or since the first request if that is less. */
  perSecond(now: number): number;
  /** The most of the last second and of the whole ones before it: a process that was held up sends less than it could. */
  bestPerSecond(now: number): number;
  /** The same over the last tenth of a second: how densely requests come when they come. */
  densityPerSecond(now: number): number;
  /** Whether there has been a whole second to look back at. */
  isWhole(now: number): boolean;
}

export function acceptedRate(): AcceptedRate {
  const counts = new Array<number>(SLOTS).fill(0);
  let slot = 0;
  let startedAt: number | null = null;
  let seconds: number[] = [];

  const total = (): number => counts.reduce((sum, count) => sum + count, 0);

  const forward = (now: number): void => {
    startedAt ??= now;
    const current = Math.floor(now / SLOT_MS);
    if (Math.floor(current / SLOTS) > Math.floor(slot / SLOTS)) {
      seconds = [total(), ...seconds].slice(0, SECONDS_REMEMBERED);
    }
    for (let passed = Math.max(slot + 1, current - SLOTS + 1); passed <= current; passed++)
      counts[passed % SLOTS] = 0;
    slot = Math.max(slot, current);
  };

  const perSecond = (now: number): number => {
    forward(now);
    const spanMs = Math.min(WINDOW_MS, Math.max(SLOT_MS, now - (startedAt ?? now)));
    return (total() * 1_000) / spanMs;
  };

  return {
    count(now) {
      forward(now);
      counts[slot % SLOTS] = (counts[slot % SLOTS] ?? 0) + 1;
    },
    perSecond,
    bestPerSecond: (now) => Math.max(perSecond(now), ...seconds),
    densityPerSecond(now) {
      forward(now);
      const recent = (counts[slot % SLOTS] ?? 0) + (counts[(slot + SLOTS - 1) % SLOTS] ?? 0);
      return (recent * 1_000) / (2 * SLOT_MS);
    },
    isWhole: (now) => startedAt !== null && now - startedAt >= WINDOW_MS,
  };
}
