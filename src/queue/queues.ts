import { type ConnectionOptions, Queue, type QueueOptions } from 'bullmq';
import { z } from 'zod';
import { nextTick } from '../config/job/job.ts';
import { type JobAction, jobActionSchema } from '../model/action.ts';
import { parseRedisUrl } from '../model/remote-address.ts';
import {
  SafetyLimitError,
  StateError,
  StoreferryError,
  StoreUnavailableError,
  UnauthorizedError,
} from '../model/storeferry-error.ts';
import {
  bullConnection,
  COMMAND_TIMEOUT_MS,
  reconnectDelayMs,
  redisFailure,
} from '../state/redis/redis-connection.ts';
import { isOver, isWholeRun, type Runs } from '../state/state.ts';

/** The beginning of the keys of queues; braces, so that all share a node of a Redis Cluster, which BullMQ requires. */
export function queuePrefix(redisUrl: string): string {
  return `{${parseRedisUrl(redisUrl)?.prefix}-queue}`;
}

export const RUN_QUEUE = 'runs';
/** Ticks of schedules; each becomes a run. */
export const TICK_QUEUE = 'ticks';

/**
 * Results are kept for commands that follow a run; they look four times per second. The state has the end of a run.
 * Without both limits finished jobs would stay for ever.
 */
const KEPT_SECONDS = 24 * 60 * 60;
const MAX_KEPT = 1_000;
const EVENTS_KEPT = 1_000;
/**
 * After a failover a connection may stay open and receive nothing: a connection without an expected answer for this
 * long is replaced. Longer than the 10 seconds for which BullMQ lets Redis delay an answer.
 */
const SILENT_MS = 15_000;

/** The producing side of the queues. */
export interface Queues extends AsyncDisposable {
  readonly runs: Queue<RunJobData, RunJobResult>;
  ticks(): Queue<TickData, null>;
  shards(store: string): Queue<ShardJobData, ShardJobResult>;
  /** Awaits an answer of BullMQ; a failure of Redis becomes the same StateError as in the state. */
  ask<Answer>(answer: Promise<Answer>): Promise<Answer>;
}

/** How to open the queues. */
interface QueuesOptions {
  readonly redisUrl: string;
  /** Commands wait for Redis without a limit, as workers do, instead of failing after 10 seconds. */
  readonly patient: boolean;
  readonly onError: (error: Error) => void;
  /** How many finished jobs of each queue stay in Redis, at most. */
  readonly mostKept?: number;
}

/** Both who sets a schedule and who takes its ticks find the next one. */
export const TICK_SETTINGS: NonNullable<QueueOptions['settings']> = {
  repeatStrategy: (after, { pattern = '', tz = 'UTC' }) => nextTick({ cron: pattern, timezone: tz }, after),
};

/** Opens the queues for adding and reading. StateError if Redis does not answer. */
export async function openQueues({
  redisUrl,
  patient,
  onError,
  mostKept = MAX_KEPT,
}: QueuesOptions): Promise<Queues> {
  const kept = { age: KEPT_SECONDS, count: mostKept };
  const connected = await connectQueues(redisUrl, patient);
  const options: QueueOptions = {
    connection: connected.connection,
    prefix: connected.prefix,
    defaultJobOptions: { removeOnComplete: kept, removeOnFail: kept },
    streams: { events: { maxLen: EVENTS_KEPT } },
    settings: TICK_SETTINGS,
  };
  const opened: Queue[] = [];
  const open = <Data, Result>(name: string) => {
    const queue = new Queue<Data, Result>(name, options);
    queue.on('error', onError);
    opened.push(queue);
    return queue;
  };
  const runs = open<RunJobData, RunJobResult>(RUN_QUEUE);
  let ticks: Queue<TickData, null> | null = null;
  const byStore = new Map<string, Queue<ShardJobData, ShardJobResult>>();
  return {
    runs,
    async ask(answer) {
      try {
        return await answer;
      } catch (error) {
        throw redisFailure(error, redisUrl);
      }
    },
    ticks() {
      ticks ??= open<TickData, null>(TICK_QUEUE);
      return ticks;
    },
    shards(store) {
      const known = byStore.get(store);
      if (known !== undefined) return known;
      const queue = open<ShardJobData, ShardJobResult>(shardQueueName(store));
      byStore.set(store, queue);
      return queue;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(opened.map((queue) => queue.close()));
      await connected[Symbol.asyncDispose]();
    },
  };
}

/** The connection of BullMQ to Redis. */
export interface QueueConnection extends AsyncDisposable {
  readonly connection: ConnectionOptions;
  /** The beginning of all keys. */
  readonly prefix: string;
}

/**
 * Detects whether the address belongs to a server or a Cluster, which BullMQ must know. The connections survive a
 * restart of Redis. `patient` as in QueuesOptions. StateError if nothing answers.
 */
export async function connectQueues(redisUrl: string, patient: boolean): Promise<QueueConnection> {
  const options = {
    maxRetriesPerRequest: null,
    socketTimeout: SILENT_MS,
    retryStrategy: reconnectDelayMs,
    ...(!patient && { commandTimeout: COMMAND_TIMEOUT_MS }),
  };
  return { ...(await bullConnection({ url: redisUrl }, options)), prefix: queuePrefix(redisUrl) };
}

/** A queue per store, so that a slow store delays no other store's shards. */
export function shardQueueName(store: string): string {
  return `shards-${store}`;
}

const runJobData = z.object({ action: jobActionSchema, run: z.string().exactOptional() });
const tickData = z.object({ job: z.string() });
const shardJobData = z.object({ run: z.string(), shard: z.int().positive() });

/**
 * The data of a job of the run queue: a reference, because workspace and state have the rest. `run` is the run that
 * it became, set when that begins: a job that a worker takes a second time must not become another run.
 */
export type RunJobData = Readonly<z.infer<typeof runJobData>>;

/** The data of a tick. */
export type TickData = Readonly<z.infer<typeof tickData>>;

/** The data of a job of a shard queue. */
export type ShardJobData = Readonly<z.infer<typeof shardJobData>>;

/** How a queued run ended. */
export interface RunJobResult {
  /** Null if no run could begin: then `error` has the reason. */
  readonly run: string | null;
  readonly error: string | null;
}

/** The errors of shards that end their run in their own way, by their codes; any other counts as `failed`. */
const SHARD_ERRORS = {
  unauthorized: UnauthorizedError,
  'store-unavailable': StoreUnavailableError,
  'safety-limit': SafetyLimitError,
  failed: StateError,
} as const;
type ShardFailure = keyof typeof SHARD_ERRORS;

/**
 * How a shard ended. A shard job fails only by a bug: the outcomes of operations are in the state, and this only says
 * whether the run continues. `obsolete`: the run has ended, or is about to.
 */
export type ShardJobResult =
  | { readonly status: 'delivered' | 'obsolete' }
  | { readonly status: ShardFailure; readonly message: string };

/** The message for a queued job with unknown data. */
export const UNREADABLE_JOB = 'the queued job cannot be read: another program or version has queued it';

/** Whether the data of a queued job belongs to a run: any program that can write to Redis can queue anything. */
export function isRunJobData(data: unknown): data is RunJobData {
  return runJobData.safeParse(data).success;
}

/** The same for a tick. */
export function isTickData(data: unknown): data is TickData {
  return tickData.safeParse(data).success;
}

/** The same for a shard. */
export function isShardJobData(data: unknown): data is ShardJobData {
  return shardJobData.safeParse(data).success;
}

/** When each job is due next, according to the queue: milliseconds since the epoch. */
export async function readNextTicks(queues: Pick<Queues, 'ticks'>): Promise<ReadonlyMap<string, number>> {
  const schedulers = await queues.ticks().getJobSchedulers();
  return new Map(schedulers.flatMap(({ key, next }) => (next === undefined ? [] : [[key, next] as const])));
}

/** The runs of the state. */
type KnownRuns = Pick<Runs, 'get'>;

/** Whether the run of a queued job is over. */
async function isRunOver({ runs, ask }: Pick<Queues, 'runs' | 'ask'>, queued: string, known: KnownRuns) {
  const data = (await ask(runs.getJob(queued)))?.data;
  const id = isRunJobData(data) ? (data.run ?? runIdOf(queued)) : undefined;
  const run = id === undefined ? undefined : await known.get(id);
  return run !== undefined && isOver(run);
}

/** A run that was queued for the workers. */
export type Enqueued = Awaited<ReturnType<typeof enqueueRun>>;

/**
 * Queues an action under the id of its run, unless it is known by that id, or is a run of a whole job of which one is not over.
 * StateError if Redis does not accept it.
 */
export async function enqueueRun(
  queues: Pick<Queues, 'runs' | 'ask'>,
  action: JobAction,
  id: string,
  known: KnownRuns,
) {
  const { runs, ask } = queues;
  const jobId = queuedId(id);
  const deduplication = isWholeRun(action) ? { deduplication: { id: action.job } } : {};
  const add = () => ask(runs.add(action.job, { action }, { jobId, ...deduplication }));
  let added = await add();
  if (added.id !== undefined && added.id !== jobId && (await isRunOver(queues, added.id, known))) {
    // Its worker still has it. Of another job, which was queued meanwhile, this removes nothing.
    await ask(added.removeDeduplicationKey());
    added = await add();
  }
  const queued = added.id ?? jobId;
  return {
    /** The id of the run that a worker begins, unless it continues an earlier one. */
    id: runIdOf(queued) ?? queued,
    /** The name in the queue. */
    queued,
    /** False if a run of the same job was already waiting or running, and nobody has asked it to end: then this is that run. */
    added: queued === jobId,
    /** Whether any worker is running. */
    workers: (await ask(runs.getWorkersCount())) > 0,
  };
}

/** A queued run, found by the id that `enqueue` printed. */
export interface QueuedRun {
  readonly action: JobAction;
  /** The run that it started, or the earlier one that it continues. Null until a worker has begun it. */
  readonly run: string | null;
  /** Whether it is over: it will not be executed again. */
  readonly ended: boolean;
  /** Why the run could not begin, or why it failed; null while it may begin. */
  readonly error: string | null;
  /** Removes it from the queue; false if a worker already has it. */
  remove(): Promise<boolean>;
}

/** What the queue knows about a run; undefined if it knows nothing. StateError if Redis does not answer. */
export async function findQueuedRun({ runs, ask }: Queues, id: string): Promise<QueuedRun | undefined> {
  const queued = await ask(runs.getJob(queuedId(id)));
  if (queued === undefined) return undefined;
  const { data, returnvalue: ended, failedReason = null } = queued;
  return {
    action: data.action,
    run: data.run ?? ended?.run ?? null,
    ended: queued.finishedOn !== undefined,
    error: ended?.error ?? failedReason,
    async remove() {
      // A job that a worker holds is locked and cannot be removed.
      return (await ask(runs.remove(queuedId(id)))) === 1;
    },
  };
}

function queuedId(run: string) {
  return `run-${run}`;
}

/** The id of the run that a queued job may begin; undefined if another version has queued it. */
export function runIdOf(queued: string | undefined): string | undefined {
  return /^run-([a-z0-9]+)$/.exec(queued ?? '')?.[1];
}

type Failed = Extract<ShardJobResult, { readonly status: ShardFailure }>;

/**
 * The failure of a shard as its result, with a message that may be stored. A bug is thrown again: BullMQ keeps its
 * stack.
 */
export function toShardFailure(error: unknown, message: string): Failed {
  if (!(error instanceof StoreferryError)) throw error;
  return { status: isShardFailure(error.code) ? error.code : 'failed', message };
}

function isShardFailure(code: string): code is ShardFailure {
  return Object.hasOwn(SHARD_ERRORS, code);
}

/** The error of a shard, for the process that waits for it. */
export function shardError({ status, message }: Failed): StoreferryError {
  return new SHARD_ERRORS[status](message);
}
