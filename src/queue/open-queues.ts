import { Queue, type QueueOptions } from 'bullmq';
import type { RunJobData, RunJobResult, ShardJobData, ShardJobResult } from './job-types.ts';

/** Braces, so that all queues share a node of a Redis Cluster, as BullMQ needs. */
export const QUEUE_PREFIX = '{storeferry-queue}';
export const RUN_QUEUE = 'runs';

/** A queue per store, so that a slow store holds up no other store's shards. */
export function shardQueueName(store: string): string {
  return `shards-${store}`;
}

/** Results are kept for whoever follows a run; both bounds are needed, or finished jobs stay for ever. */
const KEPT = { age: 24 * 60 * 60, count: 10_000 };
const EVENTS_KEPT = 1_000;

/** The producing side of the queues. */
export interface Queues extends AsyncDisposable {
  readonly runs: Queue<RunJobData, RunJobResult>;
  shards(store: string): Queue<ShardJobData, ShardJobResult>;
}

/** Opens the queues for adding and looking; commands fail after one retry instead of waiting for Redis for ever. */
export function openQueues(redisUrl: string): Queues {
  const options: QueueOptions = {
    connection: { url: redisUrl, maxRetriesPerRequest: 1 },
    prefix: QUEUE_PREFIX,
    defaultJobOptions: { removeOnComplete: KEPT, removeOnFail: KEPT },
    streams: { events: { maxLen: EVENTS_KEPT } },
  };
  const runs = new Queue<RunJobData, RunJobResult>(RUN_QUEUE, options);
  const byStore = new Map<string, Queue<ShardJobData, ShardJobResult>>();
  return {
    runs,
    shards(store) {
      const known = byStore.get(store);
      if (known !== undefined) return known;
      const queue = new Queue<ShardJobData, ShardJobResult>(shardQueueName(store), options);
      byStore.set(store, queue);
      return queue;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([runs, ...byStore.values()].map((queue) => queue.close()));
    },
  };
}
