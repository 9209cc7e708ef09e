import { setTimeout as sleep } from 'node:timers/promises';
import type { Queue, Worker } from 'bullmq';
import { StateError } from '../model/storeferry-error.ts';
import type { Queues } from './queues.ts';

const ANSWER_WITHIN_MS = 2_000;

/** Why a worker is not healthy: Redis is unreachable, or a queue is no longer served. Null if it is healthy. */
export function workerHealth(
  { runs }: Queues,
  watched: readonly WatchedWorker[],
  watch: ProgressWatch,
): () => Promise<string | null> {
  const redisAnswers = async (): Promise<boolean> => {
    const client = await runs.getBackend().client;
    await client.info();
    return true;
  };
  return async () => {
    const waited = new AbortController();
    const late = sleep(ANSWER_WITHIN_MS, false, { ref: false, signal: waited.signal }).catch(() => false);
    const answers = await Promise.race([redisAnswers().catch(() => false), late]);
    waited.abort();
    if (!answers) return 'Redis cannot be reached';
    const stopped = watched.filter(({ worker }) => !worker.isRunning()).map(({ queue }) => queue.name);
    if (stopped.length > 0) return `no longer takes jobs from: ${stopped.join(', ')}`;
    const silent = watch.silent();
    return silent.length === 0 ? null : `jobs wait and do not arrive from: ${silent.join(', ')}`;
  };
}

const LOOK_EVERY_MS = 5_000;
/** After a failover a connection may seem open and deliver nothing: longer than any healthy pause. */
const SILENT_AFTER_MS = 60_000;

/** A worker of one queue, and how busy it is. */
export interface WatchedWorker {
  readonly worker: Worker;
  readonly queue: Queue;
  readonly concurrency: number;
  /** How many jobs it is processing, and when it last took one. */
  readonly work: { running: number; takenAt: number };
}

/** Detects a worker that takes no job although jobs wait and it has capacity. */
type ProgressWatch = ReturnType<typeof watchProgress>;

/**
 * Checks the queues every few seconds; while Redis does not answer no queue counts as silent. `monotonic` is the
 * clock of `work.takenAt`, in milliseconds.
 */
export function watchProgress(
  watched: readonly WatchedWorker[],
  silentAfterMs: number = SILENT_AFTER_MS,
  monotonic: () => number = () => performance.now(),
) {
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
      giveUp.abort(new StateError('Work waits and the worker gets none of it.'));
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
    /** The queues from which no job arrives. */
    silent: (): readonly string[] =>
      [...waitingSince].flatMap(([queue, since]) => (monotonic() - since > silentAfterMs / 2 ? [queue] : [])),
    /** Aborts when one has been silent for a minute. */
    gaveUp: giveUp.signal,
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
