import { Worker, type WorkerOptions } from 'bullmq';
import type { Run } from '../model/run.ts';
import type { RunContext } from '../run/context.ts';
import type { ImportRequest } from '../run/import-request.ts';
import { deliverByWorkers } from './deliver-by-workers.ts';
import type { RunJobData, RunJobResult, ShardJobData, ShardJobResult } from './job-types.ts';
import { openQueues, patientConnection, QUEUE_PREFIX, RUN_QUEUE, shardQueueName } from './open-queues.ts';
import { redisAdvice } from './redis-advice.ts';
import { runProcessor } from './run-processor.ts';
import { type RunConfiguration, shardProcessor } from './shard-processor.ts';
import { checkArtifacts } from './shared-artifacts.ts';
import type { WorkerLog } from './worker-log.ts';

/** A run mostly waits for its shards, so a process can coordinate several. */
const RUNS_AT_ONCE = 4;
/** Per store: one shard drains while the next fills the slots it frees. */
const SHARDS_AT_ONCE = 2;
/** A killed worker's jobs are taken over as often as needed: the default of 1 would fail a job at the second kill. */
const MAX_STALLED_COUNT = 1_000;
/** As long as the leases of the state: a job that is taken over earlier would only wait for them. */
const LOCK_DURATION_MS = 15_000;
/** In a lock's duration silent jobs are looked for this often. */
const CHECKS_PER_LOCK = 3;

export interface WorkerSettings {
  readonly redisUrl: string;
  readonly context: RunContext;
  /** Stores whose shards this worker sends. */
  readonly stores: readonly string[];
  readonly requestFor: (data: RunJobData) => Promise<ImportRequest>;
  readonly configurationOf: (run: Run) => RunConfiguration;
  readonly log: WorkerLog;
  /** How long a job stays with a silent worker. */
  readonly lockDurationMs?: number | undefined;
}

/** A worker that takes runs and shards until it is closed. */
export interface RunningWorker {
  /** Takes nothing new; work under way is written down and goes back to the queues, using no attempt. */
  close(): Promise<void>;
}

/** Starts taking runs and shards. StateError when the artifacts are not those of the other workers. */
export async function startWorker(settings: WorkerSettings): Promise<RunningWorker> {
  const { redisUrl, context, log, lockDurationMs = LOCK_DURATION_MS } = settings;
  const onError = errorLogger(log);
  const queues = openQueues({ redisUrl, patient: true, onError });
  try {
    await checkArtifacts(context, queues, log);
    const advice = await redisAdvice(queues);
    if (advice !== null) log.warn({}, advice);
  } catch (error) {
    await queues[Symbol.asyncDispose]();
    throw error;
  }
  const options: WorkerOptions = {
    connection: patientConnection(redisUrl),
    prefix: QUEUE_PREFIX,
    lockDuration: lockDurationMs,
    stalledInterval: Math.ceil(lockDurationMs / CHECKS_PER_LOCK),
    maxStalledCount: MAX_STALLED_COUNT,
  };
  const { requestFor, configurationOf } = settings;
  const runs = new Worker<RunJobData, RunJobResult>(
    RUN_QUEUE,
    runProcessor({ context, requestFor, deliver: deliverByWorkers(queues), log }),
    { ...options, concurrency: RUNS_AT_ONCE },
  );
  const processShard = shardProcessor({ context, configurationOf, log });
  const shards = settings.stores.map(
    (store) =>
      new Worker<ShardJobData, ShardJobResult>(shardQueueName(store), processShard, {
        ...options,
        concurrency: SHARDS_AT_ONCE,
      }),
  );
  const workers: readonly Worker[] = [runs, ...shards];
  for (const worker of workers) {
    worker.on('error', onError);
    worker.on('stalled', (id) => log.warn({ queue: worker.name, queued: id }, 'taken from a silent worker'));
    worker.on('failed', (queued, error) => log.error({ queued: queued?.id, reason: error.message }, 'bug'));
    worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) worker.cancelJob(id, 'its lock could not be renewed');
    });
  }
  await Promise.all(workers.map((worker) => worker.waitUntilReady()));
  return {
    async close() {
      for (const worker of workers) worker.cancelAllJobs('the worker is told to stop');
      await Promise.all(workers.map((worker) => worker.close()));
      await queues[Symbol.asyncDispose]();
    },
  };
}

const SAME_ERROR_EVERY_MS = 5_000;

/** Trouble with Redis, from every connection and attempt; work goes on. Said once in a while. */
function errorLogger(log: WorkerLog): (error: Error) => void {
  const saidAt = new Map<string, number>();
  return ({ message }) => {
    const now = performance.now();
    if (now - (saidAt.get(message) ?? Number.NEGATIVE_INFINITY) < SAME_ERROR_EVERY_MS) return;
    saidAt.set(message, now);
    // The message alone: errors of Redis carry the command with its arguments.
    log.error({ reason: message }, 'trouble with Redis');
  };
}
