import { setTimeout as sleep } from 'node:timers/promises';
import type { Queues } from '../open-queues.ts';
import type { ProgressWatch, WatchedWorker } from './watch-progress.ts';

const ANSWER_WITHIN_MS = 2_000;

/** Why a worker is not healthy: Redis is unreachable, or a queue is no longer served. Null when it is healthy. */
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
