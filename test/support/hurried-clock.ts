import type { Clock } from '../../src/model/clock.ts';
import { SLOWNESS } from './pace.ts';

/**
 * The machine's clock, running so many times faster: real requests, and waits that do not take a test's minutes. On a slow
 * machine it hurries less, so that a request has as much of its time.
 */
export function hurriedClock(most: number): Clock {
  const factor = most / SLOWNESS;
  const epoch = Date.now();
  const startedAt = performance.now();
  const passed = () => (performance.now() - startedAt) * factor;
  return {
    now: () => epoch + passed(),
    monotonic: passed,
    after(ms, callback) {
      const timer = setTimeout(callback, ms / factor);
      return () => clearTimeout(timer);
    },
  };
}
