import { type Clock, systemClock } from '../model/clock.ts';
import type { Slot } from '../storefront/storefront.ts';

/** While this many operations wait for a retry without a slot, no further one begins: the store itself is failing. */
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

interface GroupCommitOptions<Entry> {
  /** A group of this many is written without waiting for more. */
  readonly enough: number;
  readonly clock?: Pick<Clock, 'after'>;
  readonly write: (group: readonly Entry[]) => Promise<void>;
  readonly onWritten: (group: readonly Entry[]) => void;
  /** Called once; nothing is written after it. */
  readonly onFailed: (error: unknown) => void;
}

/**
 * A group waits this long for more entries: its commit, and the way to the thread of the database and back, cost as much for
 * five as for thirty (test/bench/README.md). After a group of fewer than `FEW` there is no wait, because a slow store answers one
 * request at a time.
 */
const GATHER_MS = 2;
const FEW = 4;

/**
 * Writes entries in groups, one group at a time: entries that arrive during a write form the next group. So one
 * durable write records all outcomes that arrived during the previous one.
 */
export function groupCommit<Entry>({
  enough,
  clock = systemClock,
  write,
  onWritten,
  onFailed,
}: GroupCommitOptions<Entry>) {
  let gathering: Entry[] = [];
  let writing: Promise<void> | null = null;
  let failed = false;
  let lastSize = 0;
  let onEnough: (() => void) | null = null;

  const gather = async (): Promise<void> => {
    // Answers that arrived in this turn of the event loop belong in the same group.
    await new Promise(setImmediate);
    if (lastSize < FEW || gathering.length >= enough) return;
    await new Promise<void>((resolve) => {
      const cancel = clock.after(GATHER_MS, resolve);
      onEnough = () => {
        cancel();
        resolve();
      };
    });
    onEnough = null;
  };

  const run = async (): Promise<void> => {
    while (gathering.length > 0 && !failed) {
      await gather();
      const group = gathering;
      gathering = [];
      try {
        await write(group);
      } catch (error) {
        failed = true;
        onFailed(error);
        break;
      }
      lastSize = group.length;
      onWritten(group);
    }
    writing = null;
  };

  return {
    /** Puts an entry into the next group. */
    add(entry: Entry): void {
      gathering.push(entry);
      if (gathering.length >= enough) onEnough?.();
      if (!failed) writing ??= run();
    },
    /** Resolves when everything added so far is written or has failed. */
    async settled(): Promise<void> {
      while (writing !== null) await writing;
    },
  };
}
