import type { Clock } from '../../src/model/clock.ts';

/** A clock that stands still until it is moved. */
export interface FakeClock extends Clock {
  /** Lets time pass, firing timers in order and letting what they started run between them. */
  advance(ms: number): Promise<void>;
  /** Fires timers, in order, until `done` settles; time passes only by jumping to the next timer. */
  runUntil<T>(done: Promise<T>): Promise<T>;
  /** Timers that wait. */
  pending(): number;
}

export function fakeClock(startsAt = Date.UTC(2024, 0, 1)): FakeClock {
  let now = 0;
  let timers: { at: number; number: number; callback: () => void }[] = [];
  let count = 0;
  const settle = () => new Promise<void>((resolve) => setImmediate(resolve));

  const fireNext = (until: number): boolean => {
    timers.sort((a, b) => a.at - b.at || a.number - b.number);
    const next = timers[0];
    if (next === undefined || next.at > until) return false;
    timers = timers.slice(1);
    now = Math.max(now, next.at);
    next.callback();
    return true;
  };

  return {
    now: () => startsAt + now,
    monotonic: () => now,
    after(ms, callback) {
      const timer = { at: now + ms, number: count++, callback };
      timers.push(timer);
      return () => {
        timers = timers.filter((other) => other !== timer);
      };
    },
    async advance(ms) {
      const until = now + ms;
      await settle();
      while (fireNext(until)) await settle();
      now = until;
    },
    async runUntil(done) {
      let settled = false;
      const mark = () => {
        settled = true;
      };
      done.then(mark, mark);
      await settle();
      while (!settled) {
        if (!fireNext(Number.POSITIVE_INFINITY)) throw new Error('Nothing is left to wait for');
        await settle();
      }
      return done;
    },
    pending: () => timers.length,
  };
}
