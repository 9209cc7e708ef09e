import { StoreUnavailableError } from '../../model/errors.ts';
import type { Clock } from '../clock.ts';

/** A store that has answered nothing properly for so long counts as unavailable. */
export const PATIENCE_MS = 15 * 60_000;
/** A pause that the store has asked for may end with patience: so long remains to see whether it is well again. */
const LAST_TRY_MS = 10_000;
/** After so long without work, earlier failures say nothing about the store any more. */
const FORGETS_AFTER_MS = 10_000;

/**
 * Bounds how long work waits for a store that fails: 15 minutes from the last proper answer, or from the sending of the
 * first request that failed after it, whatever the time is spent on: attempts, pauses, delays, the retry budget.
 */
export interface Patience {
  /**
   * An operation begins: the signal aborts with StoreUnavailableError when patience with the store ends. There is a new
   * one for the work that begins after.
   */
  begin(): AbortSignal;
  /** An operation has its outcome. */
  end(): void;
  /** An attempt failed that was sent at `sentAt`; `lastSeen` is for people. */
  failed(sentAt: number, lastSeen: string): void;
  /** Nothing is sent until this moment of the monotonic clock. */
  paused(until: number, because: string): void;
  /** Work waits because nothing may be sent. */
  heldUp(): void;
  /** The store has answered; `stillHeldUp` where nothing may be sent all the same. */
  answered(stillHeldUp: boolean): void;
  close(): void;
}

interface PatienceOptions {
  readonly clock: Clock;
  /** Called when patience has ended, for what does not listen to the signal. */
  readonly onEnded: (error: StoreUnavailableError) => void;
}

export function patience({ clock, onEnded }: PatienceOptions): Patience {
  let ending = new AbortController();
  let operations = 0;
  let idleSince = clock.monotonic();
  let answeredAt = Number.NEGATIVE_INFINITY;
  /** When the store began to fail; null while it is well. */
  let failingSince: number | null = null;
  let pauseEndsAt = Number.NEGATIVE_INFINITY;
  let lastSeen = '';
  let cancelTimer: (() => void) | null = null;

  const endsAt = (since: number): number => {
    const end = since + PATIENCE_MS;
    const leavesNoTry = pauseEndsAt > end - LAST_TRY_MS && pauseEndsAt < end + LAST_TRY_MS;
    return leavesNoTry ? pauseEndsAt + LAST_TRY_MS : end;
  };

  /** One timer, that looks again when it fires: answers come far more often than patience ends. */
  const watch = (): void => {
    if (cancelTimer !== null || failingSince === null || operations === 0) return;
    cancelTimer = clock.after(endsAt(failingSince) - clock.monotonic(), () => {
      cancelTimer = null;
      if (failingSince !== null && clock.monotonic() >= endsAt(failingSince)) giveUp(failingSince);
      else watch();
    });
  };

  const unwatch = (): void => {
    cancelTimer?.();
    cancelTimer = null;
  };

  const giveUp = (since: number): void => {
    const minutes = Math.round((clock.monotonic() - since) / 60_000);
    const error = new StoreUnavailableError(
      `The store has not answered properly for ${minutes} minutes; last: ${lastSeen}`,
      { hint: 'run the job again when the store is well: it continues where it stopped' },
    );
    failingSince = null;
    const ended = ending;
    ending = new AbortController();
    ended.abort(error);
    onEnded(error);
  };

  return {
    begin() {
      if (operations === 0 && clock.monotonic() - idleSince > FORGETS_AFTER_MS) failingSince = null;
      operations++;
      watch();
      return ending.signal;
    },
    end() {
      operations--;
      if (operations > 0) return;
      idleSince = clock.monotonic();
      unwatch();
    },
    failed(sentAt, seen) {
      lastSeen = seen;
      failingSince ??= Math.max(sentAt, answeredAt);
      if (clock.monotonic() >= failingSince + PATIENCE_MS) giveUp(failingSince);
      else watch();
    },
    paused(until, because) {
      pauseEndsAt = until;
      if (failingSince === null) lastSeen = because;
    },
    heldUp() {
      failingSince ??= clock.monotonic();
      watch();
    },
    answered(stillHeldUp) {
      answeredAt = clock.monotonic();
      failingSince = stillHeldUp ? answeredAt : null;
    },
    close: unwatch,
  };
}
