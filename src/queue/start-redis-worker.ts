import { DelayedError, type Processor, type Queue, WaitingError } from 'bullmq';
import type { RunContext } from '../run/run-context.ts';
import { judgeRedisPolicy } from '../state/redis/redis-connection.ts';
import { checkArtifacts } from './check-artifacts.ts';
import { deliverByWorkers } from './deliver-by-workers.ts';
import { keepSchedules, queueSchedules, type ScheduleKeeper, tickProcessor } from './keep-schedules.ts';
import { countOutcomes, metricsReader, QUEUE_STATES, type QueueCounts } from './metrics.ts';
import { jobSignal, queueWorkers } from './queue-workers.ts';
import {
  connectQueues,
  isRunJobData,
  nextTicks,
  openQueues,
  type Queues,
  type RunJobData,
  type RunJobResult,
  runIdOf,
  UNREADABLE_JOB,
} from './queues.ts';
import { HELD_MS, type ProcessRun, runProcessor } from './run-processor.ts';
import { shardProcessor } from './shard-processor.ts';
import { watchProgress, workerHealth } from './worker-health.ts';
import { errorLogger, type WorkerLog } from './worker-log.ts';
import type { RunningWorker, WorkerSettings } from './worker-settings.ts';

/** A run mostly waits for its shards, so a process can coordinate several. */
const RUNS_AT_ONCE = 4;
/** Per store: while one shard ends, the next uses the free slots. */
const SHARDS_AT_ONCE = 2;
/** A tick only queues a run. */
const TICKS_AT_ONCE = 1;
/** As long as the leases of the state: a job that is taken over earlier would wait for them. */
const LOCK_DURATION_MS = 15_000;

/** Starts the worker of a shared state: work under way at its end returns to the queues without using an attempt. */
export async function startRedisWorker(
  settings: WorkerSettings & { readonly redisUrl: string },
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
    schedules: queueSchedules(queues, newRunId),
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
  const processRun = runProcessor({ context, requestFor, notifyOf, deliver, onEnd, log });
  workers.take(queues.runs, RUNS_AT_ONCE, queuedRunProcessor(processRun, context, log));
  workers.take(queues.ticks(), TICKS_AT_ONCE, tickProcessor({ queues, isScheduled, newRunId, clock, log }));
  await workers.ready();
  const watch = ending.use(watchProgress(workers.all));
  return {
    health: workerHealth(queues, workers.all, watch),
    metrics: metricsReader({
      ...{ counts, runs: context.state.runs },
      queued: () => Promise.all(workers.all.map(({ queue }) => countsOf(queue))),
      nextTicks: () => nextTicks(queues),
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

async function countsOf(queue: Queue): Promise<QueueCounts> {
  return { queue: queue.name, counts: await queue.getJobCounts(...QUEUE_STATES) };
}

/** Processes the runs of the queue; where a run cannot begin or must stop, BullMQ queues it again. */
function queuedRunProcessor(
  processRun: ProcessRun,
  { clock, signal }: Pick<RunContext, 'clock' | 'signal'>,
  log: WorkerLog,
): Processor<RunJobData, RunJobResult> {
  return async (queued, token, cancelled) => {
    if (!isRunJobData(queued.data)) {
      log.error({ queued: queued.id }, UNREADABLE_JOB);
      return { run: null, error: UNREADABLE_JOB };
    }
    const { data } = queued;
    const processed = await processRun({
      ...{ job: data.job, resend: data.resend, run: data.run ?? null, promised: runIdOf(queued.id) },
      isFirst: queued.attemptsStarted <= 1,
      signal: jobSignal(signal, cancelled),
      remember: (run) => queued.updateData({ ...data, run }),
    });
    switch (processed.kind) {
      case 'ended':
        return { run: processed.run, error: processed.error };
      case 'waits':
        await queued.moveToDelayed(clock() + HELD_MS, token);
        throw new DelayedError();
      case 'handed-back':
        await queued.moveToWait(token);
        throw new WaitingError();
      default:
        return processed satisfies never;
    }
  };
}
