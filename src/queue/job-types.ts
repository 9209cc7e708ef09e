import { z } from 'zod';

const runJobData = z.object({
  job: z.string(),
  resend: z.boolean(),
  run: z.string().exactOptional(),
});

/**
 * What a job of the run queue carries: a reference; workspace and state hold the rest. `run` is the run it has become,
 * once that has begun: a job that a worker takes a second time is not to become another.
 */
export type RunJobData = Readonly<z.infer<typeof runJobData>>;

const tickData = z.object({ job: z.string() });

/** What a tick of a schedule carries. */
export type TickData = Readonly<z.infer<typeof tickData>>;

/** How a queued run ended. */
export interface RunJobResult {
  /** Null when no run could begin: then `error` says why. */
  readonly run: string | null;
  readonly error: string | null;
}

const shardJobData = z.object({ run: z.string(), shard: z.int().positive() });

/** What a job of a shard queue carries. */
export type ShardJobData = Readonly<z.infer<typeof shardJobData>>;

/** Why a run cannot go on after a shard. */
export type ShardFailure = 'unauthorized' | 'store-unavailable' | 'safety-limit' | 'failed';

/**
 * How a shard ended. Shard jobs never fail for good: the outcomes of operations are in the state, and this says only
 * whether the run goes on. `obsolete`: the run has ended, or is about to.
 */
export type ShardJobResult =
  | { readonly status: 'delivered' | 'obsolete' }
  | { readonly status: ShardFailure; readonly message: string };

/** The message for a queued job with other data. */
export const UNREADABLE_JOB = 'the queued job cannot be read: another program or version has queued it';

/** Whether a queued job carries what one of the run queue does: any program that can write to Redis can queue anything. */
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
