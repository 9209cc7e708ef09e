import type { Clock } from '../model/clock.ts';
import { InterruptedError, StoreferryError } from '../model/storeferry-error.ts';

/** How an unfinished apply ends: `drain` waits for requests in flight and records them, `drop` does neither. */
type StopMode = 'drain' | 'drop';

/**
 * Ends an apply once, for one reason, in two steps: first nothing new begins, then requests in flight are cancelled. Listens to the
 * run's signal. An interruption drains; a StoreferryError as its reason (a lost lock) drops, because
 * nothing may be written after it.
 */
export function stopOn(signal: AbortSignal, clock: Clock, graceMs: number) {
  const stopping = new AbortController();
  const ended = new AbortController();
  let error: unknown;
  let recording = true;
  let cancelGrace: (() => void) | null = null;

  /** Only the first call counts, but a later `drop` still shortens a `drain`. */
  const stop = (reason: unknown, mode: StopMode): void => {
    if (!stopping.signal.aborted) {
      error = reason;
      stopping.abort(reason);
      if (mode === 'drain') cancelGrace = clock.after(graceMs, () => ended.abort(reason));
    }
    if (mode === 'drop') {
      recording = false;
      ended.abort(reason);
    }
  };
  const onAbort = (): void => {
    const { reason } = signal;
    if (reason instanceof StoreferryError && !(reason instanceof InterruptedError)) stop(reason, 'drop');
    else if (reason instanceof InterruptedError) stop(reason, 'drain');
    else
      stop(
        new InterruptedError('Interrupted', { hint: 'Run the job again to continue.', cause: reason }),
        'drain',
      );
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });

  return {
    /** Why; undefined while work continues. */
    get error() {
      return error;
    },
    get stopped() {
      return stopping.signal.aborted;
    },
    /** Whether outcomes may still be recorded. */
    get recording() {
      return recording;
    },
    /** No attempt begins after this aborts. */
    stopping: stopping.signal,
    /** Aborts requests in flight: after the grace period, or at once if dropped. */
    ended: ended.signal,
    stop,
    /** Stops listening and waiting. */
    dispose() {
      signal.removeEventListener('abort', onAbort);
      cancelGrace?.();
    },
  };
}

/** This many 403 in a row, with nothing accepted in between, concern the key and not records. */
export const MAX_CONSECUTIVE_FORBIDDEN = 20;
/** This many, with nothing accepted before, cause one request that checks the key. */
const CHECK_AFTER = 3;

interface ForbiddenOptions<Entry> {
  /** Rejects with an error about the key if the store does not accept it. */
  readonly confirmKey: () => Promise<void>;
  /** Called for each record that is rejected itself. */
  readonly reject: (entry: Entry) => void;
  /** Called once, if the key is refused. */
  readonly giveUp: (error: unknown) => void;
  /** The error if the store accepts the key for reading only. */
  readonly refused: () => Error;
}

/**
 * A 403 may concern one record (another user owns it) or the key. Records answered with 403 wait until another record is
 * accepted: then they are rejected. Several in a row before that cause one read request that checks whether the store
 * accepts the key at all.
 */
export function forbiddenRecords<Entry>(options: ForbiddenOptions<Entry>) {
  let waiting: Entry[] = [];
  let keyIsValid = false;
  let asking: Promise<void> | null = null;
  let gaveUp = false;

  const giveUp = (error: unknown): void => {
    if (!gaveUp) options.giveUp(error);
    gaveUp = true;
  };
  const ask = (): Promise<void> => {
    asking ??= options.confirmKey().then(() => {
      keyIsValid = true;
    }, giveUp);
    return asking;
  };
  const rejectAll = (): void => {
    const rejected = waiting;
    waiting = [];
    for (const entry of rejected) options.reject(entry);
  };
  return {
    /** Lets a record wait that was answered with 403. */
    add(entry: Entry): void {
      waiting.push(entry);
      if (waiting.length >= MAX_CONSECUTIVE_FORBIDDEN) giveUp(options.refused());
      else if (!keyIsValid && waiting.length >= CHECK_AFTER) void ask();
    },
    /** Something was accepted, or refused for another reason: the key is valid. */
    accepted(): void {
      keyIsValid = true;
      if (waiting.length > 0 && !gaveUp) rejectAll();
    },
    /** Everything was sent: decides about the waiting records. */
    async finish(): Promise<void> {
      if (asking !== null) await asking;
      if (waiting.length === 0 || gaveUp) return;
      if (!keyIsValid) await ask();
      if (!gaveUp) rejectAll();
    },
  };
}
