import { type Processor, Worker, type WorkerOptions } from 'bullmq';
import type { Notify } from '../config/notify.ts';
import type { JobSchedules } from '../config/schedules.ts';
import type { Run } from '../model/run.ts';
import type { Metric } from '../report/prometheus-text.ts';
import type { RunContext } from '../run/context.ts';
import type { RunRequest } from '../run/run-request.ts';
import type { StoreStats } from '../run/store-clients.ts';
import { countOutcomes } from './count-outcomes.ts';
import { deliverByWorkers } from './deliver-by-workers.ts';
import { errorLogger } from './error-logger.ts';
import type { RunJobData } from './job-types.ts';
import { keepSchedules } from './keep-schedules.ts';
import { openQueues, patientConnection, QUEUE_PREFIX } from './open-queues.ts';
import { redisAdvice } from './redis-advice.ts';
import { runProcessor } from './run-processor.ts';
import { type RunConfiguration, shardProcessor } from './shard-processor.ts';
import { checkArtifacts } from './shared-artifacts.ts';
import { tickProcessor } from './tick-processor.ts';
import { type WatchedWorker, watchProgress } from './watch-progress.ts';
import { workerHealth } from './worker-health.ts';
import type { WorkerLog } from './worker-log.ts';
import { workerMetrics } from './worker-metrics.ts';

/** A run mostly waits for its shards, so a process can coordinate several. */
const RUNS_AT_ONCE = 4;
/** Per store: one shard drains while the next fills the slots it frees. */
const SHARDS_AT_ONCE = 2;
/** A tick is only handed on. */
const TICKS_AT_ONCE = 1;
/** A killed worker's jobs are taken over as often as needed: the default of 1 would fail a job at the second kill. */
const MAX_STALLED_COUNT = 1_000;
/** As long as the leases of the state: a job that is taken over earlier would only wait for them. */
const LOCK_DURATION_MS = 15_000;
/** In a lock's duration silent jobs are looked for this often. */
const CHECKS_PER_LOCK = 3;

/** How a worker asks for the workspace: as its files are at that moment. */
export interface WorkerFiles {
  readonly jobNames: () => readonly string[];
  readonly schedules: () => JobSchedules;
  /** Changes when schedules may have. */
  readonly schedulesVersion: () => Promise<string>;
  readonly requestFor: (data: RunJobData) => Promise<RunRequest>;
  /** Whom a job names to be told, as far as its file can be read. */
  readonly notifyOf: (job: string) => Notify | undefined;
  readonly configurationOf: (run: Run) => RunConfiguration;
}

export interface WorkerSettings {
  readonly redisUrl: string;
  readonly context: RunContext;
  /** Stores whose shards this worker sends. */
  readonly stores: readonly string[];
  readonly files: WorkerFiles;
  readonly storeStats: () => readonly StoreStats[];
  readonly log: WorkerLog;
  /** How long a job stays with a silent worker. */
  readonly lockDurationMs?: number | undefined;
}

/** A worker that takes runs and shards until it is closed. */
export interface RunningWorker {
  /** Why it is not well; null when it is. */
  health(): Promise<string | null>;
  metrics(): Promise<readonly Metric[]>;
  /** Aborts when work waits and none of it comes: then it is best to begin anew. */
  readonly gaveUp: AbortSignal;
  /** Takes nothing new; work under way is written down and goes back to the queues, using no attempt. */
  close(): Promise<void>;
}

/**
 * Starts keeping schedules, and taking ticks, runs and shards. StateError when the artifacts are not those of the
 * other workers.
 */
export async function startWorker(settings: WorkerSettings): Promise<RunningWorker> {
  const { redisUrl, files, stores, log, lockDurationMs = LOCK_DURATION_MS } = settings;
  const counts = countOutcomes(settings.context.state);
  const context: RunContext = { ...settings.context, state: counts.state };
  const { clock, newRunId } = context;
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
  const { schedules: readSchedules, schedulesVersion: version } = files;
  const keeper = await keepSchedules({
    queues,
    locks: context.state.locks,
    readSchedules,
    version,
    newRunId,
    clock,
    log,
  });

  const options: WorkerOptions = {
    connection: patientConnection(redisUrl),
    prefix: QUEUE_PREFIX,
    lockDuration: lockDurationMs,
    stalledInterval: Math.ceil(lockDurationMs / CHECKS_PER_LOCK),
    maxStalledCount: MAX_STALLED_COUNT,
  };
  const watched: WatchedWorker[] = [];
  const work = <Data, Result>(
    queue: WatchedWorker['queue'],
    concurrency: number,
    processor: Processor<Data, Result>,
  ): void => {
    const inHand = { running: 0, takenAt: Number.NEGATIVE_INFINITY };
    const counted: Processor<Data, Result> = async (queued, token, cancelled) => {
      inHand.running++;
      inHand.takenAt = performance.now();
      try {
        return await processor(queued, token, cancelled);
      } finally {
        inHand.running--;
      }
    };
    const worker = new Worker<Data, Result>(queue.name, counted, { ...options, concurrency });
    worker.on('error', onError);
    worker.on('stalled', (id) => log.warn({ queue: worker.name, queued: id }, 'taken from a silent worker'));
    worker.on('failed', (queued, error) => log.error({ queued: queued?.id, reason: error.message }, 'bug'));
    worker.on('lockRenewalFailed', (ids) => {
      for (const id of ids) worker.cancelJob(id, 'its lock could not be renewed');
    });
    watched.push({ worker, queue, concurrency, work: inHand });
  };

  const deliver = deliverByWorkers(queues);
  const { requestFor, notifyOf, configurationOf } = files;
  const onEnd = counts.runEnded;
  work(queues.runs, RUNS_AT_ONCE, runProcessor({ context, requestFor, notifyOf, deliver, onEnd, log }));
  work(queues.ticks(), TICKS_AT_ONCE, tickProcessor({ queues, readSchedules, newRunId, clock, log }));
  const processShard = shardProcessor({ context, configurationOf, log });
  for (const store of stores) work(queues.shards(store), SHARDS_AT_ONCE, processShard);
  const workers = watched.map(({ worker }) => worker);
  await Promise.all(workers.map((worker) => worker.waitUntilReady()));
  const watch = watchProgress(watched);
  return {
    health: workerHealth(queues, workers, watch),
    metrics: workerMetrics({ ...settings, queues, runs: context.state.runs, counts, watched }),
    gaveUp: watch.gaveUp,
    async close() {
      watch[Symbol.dispose]();
      await keeper.close();
      for (const worker of workers) worker.cancelAllJobs('the worker is told to stop');
      await Promise.all(workers.map((worker) => worker.close()));
      await queues[Symbol.asyncDispose]();
    },
  };
}
