import type { ImportJob } from '../config/job/import-job.ts';
import type { StoreConfig } from '../config/stores.ts';
import type { Plan, PlannedShard } from '../model/plan.ts';
import type { Run } from '../model/run.ts';
import type { Lock } from '../state/state.ts';
import type { RunContext } from './context.ts';

/** A planned run on its way to the store. */
export interface Delivery {
  readonly run: Run;
  readonly plan: Plan;
  readonly job: ImportJob;
  readonly store: StoreConfig;
  /** The lock that lets this process write: nothing is sent or recorded once it is lost. */
  readonly lock: Lock;
}

/** How many operations the shards hold. */
export function operationsIn(shards: readonly PlannedShard[]): number {
  return shards.reduce((sum, { operations }) => sum + operations, 0);
}

/** Sends shards until every operation in them has an outcome: in this process, or by workers. */
export type DeliverShards = (
  context: RunContext,
  delivery: Delivery,
  shards: readonly PlannedShard[],
) => Promise<void>;
