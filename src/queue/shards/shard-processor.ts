import { DelayedError, type Job, WaitingError } from 'bullmq';
import type { ImportJob } from '../../config/job/import-job.ts';
import type { StoreConfig } from '../../config/stores.ts';
import { LockedError, StateError } from '../../model/errors.ts';
import type { Run } from '../../model/run.ts';
import { storeIdentity } from '../../model/store-identity.ts';
import type { RunContext } from '../../run/context.ts';
import type { RunEvent } from '../../run/events.ts';
import { shardDeliverer } from '../../run/import/apply-step.ts';
import { targetOf } from '../../run/run-locks.ts';
import { jobSignal } from '../job-signal.ts';
import { isShardJobData, type ShardJobData, type ShardJobResult, UNREADABLE_JOB } from '../job-types.ts';
import { WAITS_FOR_REQUESTS, type WorkerLog } from '../worker-log.ts';
import { maySend, runEndings } from './run-endings.ts';
import { shardFailure } from './shard-failure.ts';
import { tryLockShard } from './try-lock-shard.ts';

/** A shard that another process holds is looked at again after this: its holder may have died. */
const HELD_MS = 1_000;

/** Where a worker finds the configuration a run was begun with. */
export interface RunConfiguration {
  readonly job: ImportJob;
  readonly store: StoreConfig;
}

export interface ShardProcessorOptions {
  readonly context: RunContext;
  readonly configurationOf: (run: Run) => RunConfiguration;
  readonly log: WorkerLog;
}

/** Sends one shard of a run. */
export function shardProcessor({ context, configurationOf, log }: ShardProcessorOptions) {
  const { runs, locks } = context.state;
  const deliverShard = shardDeliverer();
  const endings = runEndings(runs);

  /** Gives undefined when another process holds the shard. */
  const deliver = async (
    run: Run,
    shard: number,
    signal: AbortSignal,
  ): Promise<ShardJobResult | undefined> => {
    const { job, store } = configurationOf(run);
    refuseOtherStore(run, store);
    await using lock = await tryLockShard(locks, targetOf(run, job.import), run, shard);
    if (lock === undefined) return undefined;
    using ending = endings.watch(run.id);
    const onEvent = (event: RunEvent): void => {
      // How far the run is, its coordinator sees in the state; what it waits for, only the worker that sends.
      if (event.type !== 'waiting-for-requests') return;
      const { operations, ms } = event;
      log.info({ run: run.id, job: run.job, shard, operations, ms }, WAITS_FOR_REQUESTS);
      void runs.update(run.id, { waiting: { operations, until: context.clock() + ms } }).catch(() => {});
    };
    const own = { ...context, onEvent, signal: AbortSignal.any([signal, ending.signal]) };
    try {
      await deliverShard(own, { run, job, store, lock }, shard);
      return { status: 'delivered' };
    } catch (error) {
      if (ending.signal.aborted) return { status: 'obsolete' };
      throw error;
    }
  };

  return async (
    queued: Job<ShardJobData, ShardJobResult>,
    token: string | undefined,
    cancelled: AbortSignal | undefined,
  ): Promise<ShardJobResult> => {
    if (!isShardJobData(queued.data)) {
      log.error({ queued: queued.id }, UNREADABLE_JOB);
      return { status: 'obsolete' };
    }
    const { shard } = queued.data;
    const run = await runs.get(queued.data.run);
    if (!maySend(run)) return { status: 'obsolete' };
    const ids = { run: run.id, job: run.job, shard };
    const startedAt = performance.now();
    const signal = jobSignal(context.signal, cancelled);
    try {
      const result = await deliver(run, shard, signal);
      if (result === undefined) {
        await queued.moveToDelayed(context.clock() + HELD_MS, token);
        throw new DelayedError();
      }
      log.info(
        { ...ids, status: result.status, durationMs: Math.round(performance.now() - startedAt) },
        'shard ended',
      );
      return result;
    } catch (error) {
      if (error instanceof DelayedError) throw error;
      if (signal.aborted || error instanceof LockedError) {
        log.info({ ...ids, reason: error instanceof Error ? error.message : null }, 'shard handed back');
        await queued.moveToWait(token);
        throw new WaitingError();
      }
      const { status, message } = shardFailure(error);
      // It is kept in the queue.
      const failure = { status, message: context.redact?.(message) ?? message };
      log.error({ ...ids, ...failure }, 'shard failed');
      await endings.end(run.id, failure.message);
      return failure;
    }
  };
}

/** Another worker's configuration may be newer, or of another shop: then the plan is not for our store. */
function refuseOtherStore(run: Run, store: StoreConfig): void {
  if (storeIdentity(store) === run.storeId) return;
  throw new StateError(
    `The run ${run.id} is for ${run.baseUrl}; a worker has ${store.baseUrl} as the store ${store.name}.`,
    { hint: 'Give all workers the same stores.yaml and environment, then enqueue the job again.' },
  );
}
