import type { Queue, Worker } from 'bullmq';

const LOOK_EVERY_MS = 5_000;
/** After a failover a connection may look alive and bring nothing: longer than any healthy pause. */
const SILENT_AFTER_MS = 60_000;

/** A worker of one queue, and how much it has in hand. */
export interface WatchedWorker {
  readonly worker: Worker;
  readonly queue: Queue;
  readonly concurrency: number;
  /** How many jobs it works on, and when it last took one. */
  readonly work: { running: number; takenAt: number };
}

/** Sees when a worker takes nothing though work waits and it has room for it. */
export interface ProgressWatch extends Disposable {
  /** The queues from which nothing comes. */
  silent(): readonly string[];
  /** Aborts when one has been silent for a minute. */
  readonly gaveUp: AbortSignal;
}

/**
 * Looks at the queues every few seconds; when Redis itself is away nothing can be said, and nothing is. `monotonic` is
 * the clock of `work.takenAt`, in milliseconds.
 */
export function watchProgress(
  watched: readonly WatchedWorker[],
  silentAfterMs: number = SILENT_AFTER_MS,
  monotonic: () => number = () => performance.now(),
): ProgressWatch {
  const giveUp = new AbortController();
  const waitingSince = new Map<string, number>();
  const looking = new Set<string>();
  const look = async ({ queue, concurrency, work }: WatchedWorker): Promise<void> => {
    const waiting = await queue.getWaitingCount();
    const now = monotonic();
    const since = waitingSince.get(queue.name);
    if (waiting === 0 || work.running >= concurrency || (since !== undefined && work.takenAt > since)) {
      waitingSince.delete(queue.name);
    } else if (since === undefined) {
      waitingSince.set(queue.name, now);
    } else if (now - since >= silentAfterMs) {
      giveUp.abort();
    }
  };
  const timer = setInterval(
    () => {
      for (const worker of watched) {
        const { name } = worker.queue;
        if (looking.has(name)) continue;
        looking.add(name);
        look(worker)
          .catch(() => waitingSince.delete(name))
          .finally(() => looking.delete(name));
      }
    },
    Math.min(LOOK_EVERY_MS, silentAfterMs / 3),
  );
  return {
    silent: () =>
      [...waitingSince].flatMap(([queue, since]) => (monotonic() - since > silentAfterMs / 2 ? [queue] : [])),
    gaveUp: giveUp.signal,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
