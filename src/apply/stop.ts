import type { Clock } from '../model/clock.ts';
import { InterruptedError, StoreferryError } from '../model/storeferry-error.ts';

/** How an unfinished apply ends: `drain` waits for requests in flight and records them, `drop` does neither. */
type StopMode = 'drain' | 'drop';

/**
 * Ends an apply once, for one reason, in two steps: first nothing new begins, then requests in flight are cancelled.
 */
export interface Stop {
  /** Why; undefined while work continues. */
  readonly error: unknown;
  readonly stopped: boolean;
  /** Whether outcomes may still be recorded. */
  readonly recording: boolean;
  /** No attempt begins after this aborts. */
  readonly stopping: AbortSignal;
  /** Aborts requests in flight: after the grace period, or at once if dropped. */
  readonly ended: AbortSignal;
  /** Only the first call counts, but a later `drop` still shortens a `drain`. */
  stop(error: unknown, mode: StopMode): void;
  /** Stops listening and waiting. */
  dispose(): void;
}

/**
 * Listens to the run's signal. An interruption drains; a StoreferryError as its reason (a lost lock) drops, because
 * nothing may be written after it.
 */
export function stopOn(signal: AbortSignal, clock: Clock, graceMs: number): Stop {
  const stopping = new AbortController();
  const ended = new AbortController();
  let error: unknown;
  let recording = true;
  let cancelGrace: (() => void) | null = null;

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
    get error() {
      return error;
    },
    get stopped() {
      return stopping.signal.aborted;
    },
    get recording() {
      return recording;
    },
    stopping: stopping.signal,
    ended: ended.signal,
    stop,
    dispose() {
      signal.removeEventListener('abort', onAbort);
      cancelGrace?.();
    },
  };
}
