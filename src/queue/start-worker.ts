import type { RunningWorker, WorkerSettings } from './worker-settings.ts';

/**
 * Starts keeping schedules and taking runs, and with Redis their shards. All that it opens goes into `ending` at once, so that
 * the caller can close it also when the start fails or hangs: then nothing new is taken, and work under way is recorded and
 * returned. StateError when the artifacts are not those of the other workers; UsageError when the embedded state has a worker
 * already.
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
