import type { Clock } from '../../src/storefront/clock.ts';

/** The machine's clock, running so many times faster: real requests, and waits that do not take a test's minutes. */
export function hurriedClock(factor: number): Clock {
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
