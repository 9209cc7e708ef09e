import type { RunningWorker, WorkerSettings } from './worker-settings.ts';

/**
 * Starts the schedules and the execution of runs, and with Redis of their shards. Everything that it opens is in `ending` at
 * once, so that the caller can also close it if the start fails or hangs. After closing, nothing new is taken, and
 * unfinished work is recorded and returned. StateError when the artifacts are not those of the other workers; UsageError
 * when the embedded state already has a worker.
 */
export async function startWorker(
  settings: WorkerSettings,
  ending: AsyncDisposableStack,
): Promise<RunningWorker> {
  const { redisUrl } = settings;
  if (redisUrl === undefined) {
    const { startEmbeddedWorker } = await import('./start-embedded-worker.ts');
    return await startEmbeddedWorker(settings, ending);
  }
  // BullMQ is loaded only where there is a Redis.
  const { startRedisWorker } = await import('./start-redis-worker.ts');
  return await startRedisWorker({ ...settings, redisUrl }, ending);
}
