/**
 * Many callbacks on a signal for the price of one listener: hundreds of requests share the signal of their run,
 * and a listener each would cost a walk through all of them per request.
 */
export interface AbortListeners {
  /** Calls back once when the signal aborts, unless disposed of before. The signal must not be aborted yet. */
  add(signal: AbortSignal, callback: () => void): () => void;
}

/** Listeners for any number of signals. */
export function abortListeners(): AbortListeners {
  const bySignal = new WeakMap<AbortSignal, Set<() => void>>();

  const listen = (signal: AbortSignal): Set<() => void> => {
    const callbacks = new Set<() => void>();
    bySignal.set(signal, callbacks);
    signal.addEventListener(
      'abort',
      () => {
        for (const callback of [...callbacks]) callback();
        callbacks.clear();
      },
      { once: true },
    );
    return callbacks;
  };

  return {
    add(signal, callback) {
      const callbacks = bySignal.get(signal) ?? listen(signal);
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
  };
}
