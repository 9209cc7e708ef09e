interface Listening {
  readonly callbacks: Set<() => void>;
  readonly stop: () => void;
}

export type AbortListeners = ReturnType<typeof abortListeners>;

/**
 * Many callbacks on a signal with one listener: hundreds of requests share the signal of their run, and removing one
 * listener of many means a search through all of them.
 */
export function abortListeners() {
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
    /** Calls back once when the signal aborts, unless removed. The signal must not be aborted yet. */
    add(signal: AbortSignal, callback: () => void): void {
      let listening = bySignal.get(signal);
      if (listening === undefined) {
        listening = listen(signal);
        bySignal.set(signal, listening);
      }
      listening.callbacks.add(callback);
    },
    remove(signal: AbortSignal, callback: () => void): void {
      const listening = bySignal.get(signal);
      if (listening === undefined) return;
      listening.callbacks.delete(callback);
      if (listening.callbacks.size > 0) return;
      // A signal made by AbortSignal.any stays in memory as long as it has a listener and its sources exist.
      listening.stop();
      bySignal.delete(signal);
    },
  };
}

interface Waiter<Item, Grant> {
  readonly item: Item;
  readonly resume: (grant: Grant) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A queue in order of arrival within a priority, unless `next` prefers other items. An item whose signal aborts leaves
 * the queue. `priorityOf`: items of a lower number precede all items of a higher one.
 */
export function waitQueue<Item, Grant>(aborts: AbortListeners, priorityOf: (item: Item) => number = () => 0) {
  const queue: Waiter<Item, Grant>[] = [];
  return {
    get length() {
      return queue.length;
    },
    /** Resolves with the value that resumes the item; rejects with the signal's reason. */
    wait: (item: Item, signal: AbortSignal): Promise<Grant> =>
      new Promise((resolve, reject) => {
        const onAbort = () => {
          const at = queue.indexOf(waiter);
          if (at >= 0) queue.splice(at, 1);
          reject(signal.reason);
        };
        const waiter: Waiter<Item, Grant> = {
          item,
          resume(grant) {
            aborts.remove(signal, onAbort);
            resolve(grant);
          },
          reject(error) {
            aborts.remove(signal, onAbort);
            reject(error);
          },
        };
        aborts.add(signal, onAbort);
        const priority = priorityOf(item);
        let at = queue.length;
        for (let before = queue[at - 1]; before && priorityOf(before.item) > priority; before = queue[at - 1])
          at--;
        queue.splice(at, 0, waiter);
      }),
    /** Removes the next item from the queue: the first one that `preferred` accepts, otherwise the first. */
    next(preferred?: (item: Item) => boolean): Pick<Waiter<Item, Grant>, 'item' | 'resume'> | undefined {
      if (preferred === undefined) return queue.shift();
      const at = queue.findIndex(({ item }) => preferred(item));
      return at < 0 ? queue.shift() : queue.splice(at, 1)[0];
    },
    rejectAll(error: unknown): void {
      for (const waiter of queue.splice(0)) waiter.reject(error);
    },
  };
}
