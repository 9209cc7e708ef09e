import { Worker, type WorkerOptions } from 'bullmq';
import type { Run } from '../model/run.ts';
import type { RunContext } from '../run/context.ts';
import type { ImportRequest } from '../run/import-request.ts';
import { deliverByWorkers } from './deliver-by-workers.ts';
import type { RunJobData, RunJobResult, ShardJobData, ShardJobResult } from './job-types.ts';
import { openQueues, QUEUE_PREFIX, RUN_QUEUE, shardQueueName } from './open-queues.ts';
import { runProcessor } from './run-processor.ts';
import { type RunConfiguration, shardProcessor } from './shard-processor.ts';

/** A run mostly waits for its shards, so a process can coordinate several. */
const RUNS_AT_ONCE = 4;
/** Per store: one shard drains while the next fills the slots it frees. */
const SHARDS_AT_ONCE = 2;
/** A killed worker's jobs are taken over as often as needed: the default of 1 would fail a job at the second kill. */
const MAX_STALLED_COUNT = 1_000;

export interface WorkerSettings {
  readonly redisUrl: string;
  readonly context: RunContext;
  /** Stores whose shards this worker sends. */
  readonly stores: readonly string[];
  readonly requestFor: (data: RunJobData) => Promise<ImportRequest>;
  readonly configurationOf: (run: Run) => Promise<RunConfiguration>;
  /** Trouble with Redis or a bug; work goes on. */
  readonly onError: (error: Error) => void;
  /** How long a job stays with a silent worker; 30 s by default. */
  readonly lockDurationMs?: number;
}

/** A worker that takes runs and shards until it is closed. */
export interface RunningWorker {
  /** Takes nothing new; work under way is checkpointed and goes back to the queues, using no attempt. */
  close(): Promise<void>;
}

/** Starts taking runs and shards. */
export async function startWorker(settings: WorkerSettings): Promise<RunningWorker> {
  const { redisUrl, context, lockDurationMs = 30_000 } = settings;
  const queues = openQueues(redisUrl);
  const options: WorkerOptions = {
    connection: { url: redisUrl, maxRetriesPerRequest: null },
    prefix: QUEUE_PREFIX,
    lockDuration: lockDurationMs,
    stalledInterval: lockDurationMs,
    maxStalledCount: MAX_STALLED_COUNT,
  };
  const runs = new Worker<RunJobData, RunJobResult>(
    RUN_QUEUE,
    runProcessor(context, settings.requestFor, deliverByWorkers(queues)),
    { ...options, concurrency: RUNS_AT_ONCE },
  );
  const shards = settings.stores.map(
    (store) =>
      new Worker<ShardJobData, ShardJobResult>(
        shardQueueName(store),
        shardProcessor(context, settings.configurationOf),
        { ...options, concurrency: SHARDS_AT_ONCE },
      ),
  );
  const cancelJobs = (worker: Worker, ids: readonly string[]) => {
    for (const id of ids) worker.cancelJob(id, 'its lock could not be renewed');
  };
  for (const worker of [runs, ...shards] as readonly Worker[]) {
    worker.on('error', settings.onError);
    worker.on('lockRenewalFailed', (ids) => cancelJobs(worker, ids));
  }
  await Promise.all([runs.waitUntilReady(), ...shards.map((worker) => worker.waitUntilReady())]);
  return {
    async close() {
      for (const worker of [runs, ...shards]) worker.cancelAllJobs('the worker is told to stop');
      await Promise.all([runs.close(), ...shards.map((worker) => worker.close())]);
      await queues[Symbol.asyncDispose]();
    },
  };
}
