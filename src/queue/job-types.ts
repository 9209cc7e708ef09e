/** What a job of the run queue carries: a reference; workspace and state hold the rest. */
export interface RunJobData {
  readonly job: string;
  readonly resend: boolean;
  /** The run it has become, once that has begun: a job that a worker takes a second time is not to become another. */
  readonly run?: string;
}

/** What a tick of a schedule carries. */
export interface TickData {
  readonly job: string;
}

/** How a queued run ended. */
export interface RunJobResult {
  /** Null when no run could begin: then `error` says why. */
  readonly run: string | null;
  readonly error: string | null;
}

/** What a job of a shard queue carries. */
export interface ShardJobData {
  readonly run: string;
  readonly shard: number;
}

/** Why a run cannot go on after a shard. */
export type ShardFailure = 'unauthorized' | 'store-unavailable' | 'safety-limit' | 'failed';

/**
 * How a shard ended. Shard jobs never fail for good: the truth about operations is in the state, and this tells
 * whoever waits for the shard only whether to go on. `obsolete`: the run has ended, or is about to.
 */
export type ShardJobResult =
  | { readonly status: 'delivered' | 'obsolete' }
  | { readonly status: ShardFailure; readonly message: string };
