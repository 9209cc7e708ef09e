/**
 * Many callbacks on a signal for the price of one listener: hundreds of requests share the signal of their run,
 * and a listener each would cost a walk through all of them per request.
 */
export interface AbortListeners {
  /** Calls back once when the signal aborts, unless disposed of before. The signal must not be aborted yet. */
  add(signal: AbortSignal, callback: () => void): () => void;
}

interface Listening {
  readonly callbacks: Set<() => void>;
  readonly stop: () => void;
}

/** Listeners for any number of signals. */
export function abortListeners(): AbortListeners {
  const bySignal = new WeakMap<AbortSignal, Listening>();

  const listen = (signal: AbortSignal): Listening => {
    const callbacks = new Set<() => void>();
    const onAbort = () => {
      for (const callback of [...callbacks]) callback();
      callbacks.clear();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    return { callbacks, stop: () => signal.removeEventListener('abort', onAbort) };
  };

  return {
    add(signal, callback) {
      const listening = bySignal.get(signal) ?? listen(signal);
      const { callbacks, stop } = listening;
      bySignal.set(signal, listening);
      callbacks.add(callback);
      return () => {
        callbacks.delete(callback);
        if (callbacks.size > 0 || bySignal.get(signal) !== listening) return;
        // A signal made by AbortSignal.any stays in memory for as long as it has a listener and its sources live.
        stop();
        bySignal.delete(signal);
      };
    },
  };
}
