import { text } from 'node:stream/consumers';
import { DelayedError, type Processor, type Queue, WaitingError } from 'bullmq';
import { StateError } from '../model/storeferry-error.ts';
import type { RunContext } from '../run/run-context.ts';
import { judgeRedisPolicy } from '../state/redis/redis-connection.ts';
import { deliverByWorkers, shardProcessor } from './deliver-by-workers.ts';
import { bullScheduleStore, keepSchedules, type ScheduleKeeper, tickProcessor } from './keep-schedules.ts';
import { countOutcomes, metricsReader, QUEUE_STATES, type QueueCounts } from './metrics.ts';
import { jobSignal, queueWorkers, watchProgress, workerHealth } from './queue-workers.ts';
import {
  connectQueues,
  isRunJobData,
  openQueues,
  type Queues,
  queuePrefix,
  type RunJobData,
  type RunJobResult,
  readNextTicks,
  runIdOf,
  UNREADABLE_JOB,
} from './queues.ts';
import { noticeSender, type ProcessRun, runProcessor } from './run-processor.ts';
import { errorLogger, type StartedWorker, type WorkerLog, type WorkerSettings } from './worker-settings.ts';

/** A folder beside those of runs; no run has this name. */
const FOLDER = 'workers';
const markName = (value: string) => `mark-${value}.txt`;

/** Sets a value if the present one is as expected; an empty text means no value. */
const REPLACE_COMMAND = 'storeferryReplace';
const REPLACE_SCRIPT = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1`;

/**
 * Checks that all workers use the same artifacts: each worker leaves a file there, and the first, or one that finds neither that
 * file nor another worker, writes the name of its file to Redis. StateError if the artifacts cannot be written or read, or differ from those of the other workers.
 */
async function checkArtifacts(
  { artifacts, newRunId }: RunContext,
  queues: Queues,
  { redisUrl, log }: { readonly redisUrl: string; readonly log: WorkerLog },
) {
  const mark = `${queuePrefix(redisUrl)}:artifacts`;
  const folder = artifacts.run(FOLDER);
  const own = markName(newRunId());
  await folder.write(own, ['Workers that find this share their artifacts.\n']);
  await text(await folder.read(own));

  const { ask, runs } = queues;
  const client = await ask(runs.getBackend().client);
  const compare = async () => {
    const expected = await ask(client.get(mark));
    return { expected, same: expected !== null && (await folder.exists(expected)) };
  };
  // The mark is written before its name, so that workers that start together find each other's.
  const leaveOwn = async (expected: string | null) => {
    client.defineCommand(REPLACE_COMMAND, { numberOfKeys: 1, lua: REPLACE_SCRIPT });
    return (await ask(client.runCommand(REPLACE_COMMAND, [mark, expected ?? '', own]))) === 1;
  };
  const { expected, same } = await compare();
  const first = expected === null || (!same && (await ask(runs.getWorkersCount())) === 0);
  const left = first && (await leaveOwn(expected));
  if (!left) await folder.remove([own]);
  if (!left && !same && !(await compare()).same) {
    throw new StateError(`${folder.location} is not where the other workers store artifacts.`, {
      hint: 'Give all workers the same ARTIFACTS_URL: a folder that all of them share, or s3://bucket/prefix with the same AWS_ENDPOINT_URL.',
    });
  }
  log.info({ artifacts: folder.location }, 'artifacts can be written and read');
}

/** A run mostly waits for its shards, so a process can coordinate several. */
const RUNS_AT_ONCE = 4;
/** Per store: while one shard ends, the next uses the free slots. */
const SHARDS_AT_ONCE = 2;
/** A tick only queues a run. */
const TICKS_AT_ONCE = 1;
/** As long as the leases of the state: a job that is taken over earlier would wait for them. */
const LOCK_DURATION_MS = 15_000;

/** Starts the worker of a shared state: what it has not finished at its end returns to the queues without using up an attempt. */
export async function startRedisWorker(
  settings: WorkerSettings & { readonly redisUrl: string },
  ending: AsyncDisposableStack,
): Promise<StartedWorker> {
  const { redisUrl, files, log, lockDurationMs = LOCK_DURATION_MS } = settings;
  const counts = countOutcomes(settings.context.state);
  const context: RunContext = { ...settings.context, state: counts.state };
  const { clock, newRunId } = context;
  const onError = errorLogger(log);
  const queues = ending.use(await openQueues({ redisUrl, patient: true, onError }));
  await checkArtifacts(context, queues, { redisUrl, log });
  for (const advice of await redisAdvice(queues)) log.warn({}, advice);

  const { connection, prefix } = ending.use(await connectQueues(redisUrl, true));
  const workers = queueWorkers({ connection, prefix, lockDurationMs, log, onError });
  let keeper: ScheduleKeeper | undefined;
  ending.defer(async () => {
    await Promise.all([workers.close(), keeper?.close()]);
  });
  const processShard = shardProcessor({ context, readConfiguration: files.readConfiguration, log });
  const served = new Set<string>();
  const serveStores = () => {
    for (const store of files.storeNames().filter((name) => !served.has(name))) {
      served.add(store);
      workers.take(queues.shards(store), SHARDS_AT_ONCE, processShard);
    }
  };
  serveStores();
  keeper = await keepSchedules({
    schedules: bullScheduleStore(queues, context),
    locks: context.state.locks,
    readSchedules: files.schedules,
    version: files.schedulesVersion,
    onRead: serveStores,
    newRunId,
    clock,
    log,
  });
  const deliver = deliverByWorkers(queues);
  const { taskFor, readRecipients, isScheduled } = files;
  const onEnd = counts.runEnded;
  const processRun = runProcessor({ context, taskFor, readRecipients, deliver, onEnd, log });
  workers.take(queues.runs, RUNS_AT_ONCE, queuedRunProcessor(processRun, context, log));
  const { onTick } = noticeSender({ context, files, log }, ending);
  const { runs } = context.state;
  const processTick = tickProcessor({ queues, runs, isScheduled, newRunId, clock, onTick, log });
  workers.take(queues.ticks(), TICKS_AT_ONCE, processTick);
  await workers.ready();
  const watch = ending.use(watchProgress(workers.all));
  return {
    health: workerHealth(queues, workers.all, watch),
    metrics: metricsReader({
      counts,
      runs: context.state.runs,
      queued: () => Promise.all(workers.all.map(({ queue }) => countsOf(queue))),
      nextTicks: () => readNextTicks(queues),
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
  { clock, signal }: RunContext,
  log: WorkerLog,
): Processor<RunJobData, RunJobResult> {
  return async (queued, token, cancelled) => {
    if (!isRunJobData(queued.data)) {
      log.error({ queued: queued.id }, UNREADABLE_JOB);
      return { run: null, error: UNREADABLE_JOB };
    }
    const { data } = queued;
    const processed = await processRun({
      action: data.action,
      run: data.run ?? null,
      announcedId: runIdOf(queued.id),
      isFirst: queued.attemptsStarted <= 1,
      signal: jobSignal(signal, cancelled),
      remember: (run) => queued.updateData({ ...data, run }),
    });
    switch (processed.kind) {
      case 'ended':
        return { run: processed.run, error: processed.error };
      case 'delayed':
        await queued.moveToDelayed(clock() + processed.ms, token);
        throw new DelayedError();
      case 'returned':
        await queued.moveToWait(token);
        throw new WaitingError();
      default:
        return processed satisfies never;
    }
  };
}
