import { type ConnectionOptions, Queue, type QueueOptions } from 'bullmq';
import {
  COMMAND_TIMEOUT_MS,
  clusterClient,
  reconnectDelayMs,
  redisFailure,
} from '../state/redis/redis-connection.ts';
import type { RunJobData, RunJobResult, ShardJobData, ShardJobResult, TickData } from './job-types.ts';

/** Braces, so that all queues share a node of a Redis Cluster, as BullMQ needs. */
export const QUEUE_PREFIX = '{storeferry-queue}';
export const RUN_QUEUE = 'runs';
/** Ticks of schedules; each becomes a run. */
export const TICK_QUEUE = 'ticks';

/** A queue per store, so that a slow store holds up no other store's shards. */
export function shardQueueName(store: string): string {
  return `shards-${store}`;
}

/**
 * Results are kept for commands that follow a run; they look four times a second. How a run ended is in the state.
 * Without both bounds finished jobs stay for ever.
 */
const KEPT_SECONDS = 24 * 60 * 60;
const MOST_KEPT = 1_000;
const EVENTS_KEPT = 1_000;
/**
 * After a failover a connection may stay open and bring nothing: one that owes an answer for so long is replaced.
 * Longer than the 10 seconds for which BullMQ lets Redis hold an answer back.
 */
const SILENT_MS = 15_000;

/** The connection of BullMQ to Redis. */
export interface QueueConnection extends AsyncDisposable {
  readonly connection: ConnectionOptions;
}

/**
 * Finds out whether the address is of a server or of a Cluster, which BullMQ must know. The connections outlive a
 * restart; `patient` ones wait for as long as it takes, the others' commands fail after 10 seconds. StateError when
 * nothing answers.
 */
export async function connectQueues(redisUrl: string, patient: boolean): Promise<QueueConnection> {
  const options = {
    maxRetriesPerRequest: null,
    socketTimeout: SILENT_MS,
    retryStrategy: reconnectDelayMs,
    ...(patient ? {} : { commandTimeout: COMMAND_TIMEOUT_MS }),
  };
  const cluster = await clusterClient({ url: redisUrl }, options);
  return {
    connection: cluster ?? { url: redisUrl, ...options },
    async [Symbol.asyncDispose]() {
      await cluster?.quit().catch(() => cluster.disconnect());
    },
  };
}

/** The producing side of the queues. */
export interface Queues extends AsyncDisposable {
  readonly runs: Queue<RunJobData, RunJobResult>;
  ticks(): Queue<TickData, null>;
  shards(store: string): Queue<ShardJobData, ShardJobResult>;
  /** Awaits an answer of BullMQ: what goes wrong with Redis is a StateError, as where the state asks it. */
  ask<Answer>(answer: Promise<Answer>): Promise<Answer>;
}

export interface QueuesOptions {
  readonly redisUrl: string;
  /** Whether commands wait for Redis for as long as it takes, as workers do, instead of failing after 10 seconds. */
  readonly patient: boolean;
  readonly onError: (error: Error) => void;
  /** How many finished jobs of each queue stay in Redis, at most. */
  readonly mostKept?: number;
}

/** Opens the queues for adding and looking. StateError when Redis does not answer. */
export async function openQueues({
  redisUrl,
  patient,
  onError,
  mostKept = MOST_KEPT,
}: QueuesOptions): Promise<Queues> {
  const kept = { age: KEPT_SECONDS, count: mostKept };
  const connected = await connectQueues(redisUrl, patient);
  const options: QueueOptions = {
    connection: connected.connection,
    prefix: QUEUE_PREFIX,
    defaultJobOptions: { removeOnComplete: kept, removeOnFail: kept },
    streams: { events: { maxLen: EVENTS_KEPT } },
  };
  const opened: Queue[] = [];
  const open = <Data, Result>(name: string): Queue<Data, Result> => {
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
