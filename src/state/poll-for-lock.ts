import { setTimeout as sleep } from 'node:timers/promises';
import type { Locks } from './state.ts';

/** Locks that are waited for by polling, because neither the operating system nor Redis reports that a lock is free. */
export function pollForLock<Own extends Pick<Locks, 'tryAcquire'>>(
  locks: Own,
  everyMs: number,
): Own & Pick<Locks, 'acquire'> {
  return {
    ...locks,
    async acquire(name, holder, options) {
      const { signal, onWait } = options;
      for (let announced = false; ; announced = true) {
        signal.throwIfAborted();
        const attempt = await locks.tryAcquire(name, holder, options);
        if (!('heldBy' in attempt)) {
          if (!signal.aborted) return attempt;
          await (options.together === true ? attempt.leave() : attempt.release());
          continue;
        }
        if (!announced) onWait(attempt.heldBy);
        // The signal ends the sleep early; its own reason is thrown above.
        await sleep(everyMs, undefined, { signal }).catch(() => {});
      }
    },
  };
}
