import type { Slot } from '../storefront/storefront.ts';

/** The most operations that wait for a retry without a slot; if there were more, the store itself is failing. */
export const MAX_PARKED = 256;

/** A slot that is freed once, when the outcome is recorded. */
export interface HeldSlot extends Slot {
  free(): void;
}

interface Waiter {
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * `count` free slots: they limit how many operations may have an unrecorded effect in the store. An operation releases its
 * slot only while the store certainly has not applied it (`release`), and takes a slot again before it is sent (`regain`),
 * before operations that have not begun. All waiting rejects with the signal's reason once it aborts.
 */
export function slots(count: number, signal: AbortSignal) {
  let free = count;
  let parked = 0;
  const regaining: Waiter[] = [];
  const arriving: Waiter[] = [];

  signal.addEventListener(
    'abort',
    () => {
      for (const { reject } of [...regaining.splice(0), ...arriving.splice(0)]) reject(signal.reason);
    },
    { once: true },
  );

  const pump = (): void => {
    while (free > 0) {
      const next = regaining.shift() ?? (parked < MAX_PARKED ? arriving.shift() : undefined);
      if (next === undefined) return;
      free--;
      next.resolve();
    }
  };

  const join = <Result>(line: Waiter[], resultOf: () => Result): Promise<Result> =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      line.push({ resolve: () => resolve(resultOf()), reject });
      pump();
    });

  const held = (): HeldSlot => {
    let state: 'held' | 'parked' | 'free' = 'held';
    const setState = (next: typeof state): void => {
      if (state === 'held' && next !== 'held') free++;
      if (state === 'parked' && next !== 'parked') parked--;
      if (state !== 'parked' && next === 'parked') parked++;
      state = next;
      pump();
    };
    return {
      release: () => setState('parked'),
      regain: () => join(regaining, () => setState('held')),
      free: () => setState('free'),
    };
  };

  return {
    /** Waits for a slot. */
    take: (): Promise<HeldSlot> => join(arriving, held),
  };
}
