import { setTimeout as sleep } from 'node:timers/promises';
import type { Lock, Locks } from './state.ts';

/** Waits for a lock by polling, because neither the operating system nor Redis reports that a lock is free. */
export async function pollForLock(
  locks: Pick<Locks, 'tryAcquire'>,
  everyMs: number,
  [name, holder, options]: Parameters<Locks['acquire']>,
): Promise<Lock> {
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
}
