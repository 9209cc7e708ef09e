import type { Notify } from '../config/job/job.ts';
import type { JobSchedules } from '../config/job/read-schedules.ts';
import type { Run } from '../model/run.ts';
import type { RunContext, RunRequest } from '../run/run-context.ts';
import type { StoreStats } from '../run/store-clients.ts';
import { judgeRedisPolicy } from '../state/redis/redis-connection.ts';
import { checkArtifacts } from './check-artifacts.ts';
import { deliverByWorkers } from './deliver-by-workers.ts';
import { keepSchedules, type ScheduleKeeper, tickProcessor } from './keep-schedules.ts';
import { countOutcomes, metricsReader } from './metrics.ts';
import { queueWorkers } from './queue-workers.ts';
import { connectQueues, openQueues, type Queues, type RunJobData } from './queues.ts';
import { runProcessor } from './run-processor.ts';
import { type RunConfiguration, shardProcessor } from './shard-processor.ts';
import { watchProgress, workerHealth } from './worker-health.ts';
import { errorLogger, type WorkerLog } from './worker-log.ts';

/** A run mostly waits for its shards, so a process can coordinate several. */
const RUNS_AT_ONCE = 4;
/** Per store: while one shard ends, the next uses the free slots. */
const SHARDS_AT_ONCE = 2;
/** A tick only queues a run. */
const TICKS_AT_ONCE = 1;
/** As long as the leases of the state: a job that is taken over earlier would wait for them. */
const LOCK_DURATION_MS = 15_000;

/** How a worker reads the workspace, each time from its files. */
export interface WorkerFiles {
  readonly storeNames: () => readonly string[];
  readonly jobNames: () => readonly string[];
  readonly schedules: () => JobSchedules;
  readonly isScheduled: (job: string) => boolean;
  /** Changes when schedules may have changed. */
  readonly schedulesVersion: () => Promise<string>;
  readonly requestFor: (data: RunJobData) => Promise<RunRequest>;
  /** The notifications that a job requests, if its file can be read. */
  readonly notifyOf: (job: string) => Notify | undefined;
  readonly configurationOf: (run: Run) => RunConfiguration;
}

/** The dependencies of a worker. */
export interface WorkerSettings {
  readonly redisUrl: string;
  readonly context: RunContext;
  readonly files: WorkerFiles;
  readonly storeStats: () => readonly StoreStats[];
  readonly log: WorkerLog;
  /** How long a job stays with a silent worker. */
  readonly lockDurationMs?: number | undefined;
}

/** A worker that takes runs and shards until its stack is disposed of. */
export interface RunningWorker {
  /** Why it is not healthy; null if it is. */
  health(): Promise<string | null>;
  /** The text for Prometheus. */
  metrics(): Promise<string>;
  /** Aborts if jobs wait and none arrives: then the process should be restarted. */
  readonly gaveUp: AbortSignal;
}

/**
 * Starts keeping schedules, and taking ticks, runs and shards. Everything that it opens is added to `ending` at once,
 * so that the caller can close it even if the start fails or hangs. Then nothing new is taken, and current work is
 * recorded and returned to the queues without using an attempt. StateError if the artifacts differ from those of the
 * other workers.
 */
export async function startWorker(
  settings: WorkerSettings,
  ending: AsyncDisposableStack,
): Promise<RunningWorker> {
  const { redisUrl, files, log, lockDurationMs = LOCK_DURATION_MS } = settings;
  const counts = countOutcomes(settings.context.state);
  const context: RunContext = { ...settings.context, state: counts.state };
  const { clock, newRunId } = context;
  const onError = errorLogger(log);
  const queues = ending.use(await openQueues({ redisUrl, patient: true, onError }));
  await checkArtifacts(context, queues, log);
  for (const advice of await redisAdvice(queues)) log.warn({}, advice);

  const { connection } = ending.use(await connectQueues(redisUrl, true));
  const workers = queueWorkers({ connection, lockDurationMs, log, onError });
  let keeper: ScheduleKeeper | undefined;
  ending.defer(async () => {
    await Promise.all([workers.close(), keeper?.close()]);
  });
  const processShard = shardProcessor({ context, configurationOf: files.configurationOf, log });
  const served = new Set<string>();
  const serveStores = (): void => {
    for (const store of files.storeNames().filter((name) => !served.has(name))) {
      served.add(store);
      workers.take(queues.shards(store), SHARDS_AT_ONCE, processShard);
    }
  };
  serveStores();
  keeper = await keepSchedules({
    queues,
    locks: context.state.locks,
    readSchedules: files.schedules,
    version: files.schedulesVersion,
    onRead: serveStores,
    newRunId,
    clock,
    log,
  });
  const deliver = deliverByWorkers(queues);
  const { requestFor, notifyOf, isScheduled } = files;
  const onEnd = counts.runEnded;
  workers.take(
    queues.runs,
    RUNS_AT_ONCE,
    runProcessor({ context, requestFor, notifyOf, deliver, onEnd, log }),
  );
  workers.take(queues.ticks(), TICKS_AT_ONCE, tickProcessor({ queues, isScheduled, newRunId, clock, log }));
  await workers.ready();
  const watch = ending.use(watchProgress(workers.all));
  return {
    health: workerHealth(queues, workers.all, watch),
    metrics: metricsReader({
      ...{ queues, counts, runs: context.state.runs },
      taken: () => workers.all.map(({ queue }) => queue),
      jobNames: files.jobNames,
      storeStats: settings.storeStats,
    }),
    gaveUp: watch.gaveUp,
  };
}

/** Problems of the settings of this Redis. BullMQ itself warns about the eviction policy. */
async function redisAdvice({ runs, ask }: Queues): Promise<readonly string[]> {
  const client = await ask(runs.getBackend().client);
  const problems = judgeRedisPolicy(await ask(client.info()));
  return problems.filter(({ grave }) => !grave).map(({ message, hint }) => `${message} ${hint}`);
}
