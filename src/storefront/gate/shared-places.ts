import type { SharedRate, Surroundings } from '../events.ts';

/** Places are taken for so long ahead: a question to the others ten times a second, and no more lost by who dies. */
const AHEAD_MS = 100;
/** A place that was not used for so long is lost, so that no second holds more than its share. */
const STALE_MS = 100;
/** Without an answer, the others are asked again. */
const ASK_AGAIN_MS = 500;

/** The places of this process in the line that all processes share. */
export interface SharedPlaces {
  /** Milliseconds until the next request may go. Infinity while the others are asked: `onReserved` tells the end of it. */
  waitMs(now: number, wanted: number): number;
  /** The next request goes. */
  take(): void;
}

interface SharedPlacesOptions extends Pick<Surroundings, 'clock'> {
  readonly requestsPerSecond: number;
  readonly shared: SharedRate;
  readonly onReserved: () => void;
}

/**
 * Holds `requestsPerSecond` over all processes: each takes as many places as it has requests waiting, but few at a
 * time, and uses them one after another. While nobody can be asked, nothing goes.
 */
export function sharedPlaces(options: SharedPlacesOptions): SharedPlaces {
  const { clock, requestsPerSecond, shared, onReserved } = options;
  const gapMs = 1_000 / requestsPerSecond;
  const most = Math.max(1, Math.floor(AHEAD_MS / gapMs));
  let left = 0;
  let nextAt = 0;
  let asking = false;

  const ask = async (wanted: number): Promise<void> => {
    asking = true;
    try {
      const { places, afterMs } = await shared.reserve(requestsPerSecond, Math.min(most, wanted));
      left = places;
      nextAt = clock.monotonic() + afterMs;
    } catch {
      await new Promise<void>((resolve) => clock.after(ASK_AGAIN_MS, resolve));
    }
    asking = false;
    onReserved();
  };

  return {
    waitMs(now, wanted) {
      for (; left > 0 && nextAt < now - STALE_MS; left--) nextAt += gapMs;
      if (left > 0) return Math.max(0, nextAt - now);
      if (!asking) void ask(Math.max(1, wanted));
      return Number.POSITIVE_INFINITY;
    },
    take() {
      left--;
      nextAt += gapMs;
    },
  };
}
