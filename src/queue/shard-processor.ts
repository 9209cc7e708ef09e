import { DelayedError, type Job, WaitingError } from 'bullmq';
import type { ImportJob } from '../config/import-job.ts';
import type { StoreConfig } from '../config/stores.ts';
import { InterruptedError } from '../model/errors.ts';
import type { Run } from '../model/run.ts';
import { deliverShard } from '../run/apply-step.ts';
import type { RunContext } from '../run/context.ts';
import { shardLockName } from '../state/lock-names.ts';
import { failureOf } from './deliver-by-workers.ts';
import type { ShardJobData, ShardJobResult } from './job-types.ts';

/** A shard that another process holds is looked at again after this: its holder may have died. */
const HELD_MS = 2_000;
const STATUS_POLL_MS = 1_000;

/** Where a worker finds the configuration a run was begun with. */
export interface RunConfiguration {
  readonly job: ImportJob;
  readonly store: StoreConfig;
}

/** Sends one shard of a run. */
export function shardProcessor(
  context: RunContext,
  configurationOf: (run: Run) => Promise<RunConfiguration>,
) {
  return async (
    queued: Job<ShardJobData, ShardJobResult>,
    token: string | undefined,
    cancelled: AbortSignal | undefined,
  ): Promise<ShardJobResult> => {
    const { runs, locks } = context.state;
    const run = await runs.get(queued.data.run);
    if (run?.status !== 'running') return { status: 'obsolete' };
    const { job, store } = await configurationOf(run);
    const target = { store: run.store, baseUrl: run.baseUrl, resource: job.import };
    const name = shardLockName(target, run.id, queued.data.shard);
    const lock = await locks.tryAcquire(name, { job: run.job, run: run.id });
    if ('heldBy' in lock) {
      await queued.moveToDelayed(context.clock() + HELD_MS, token);
      throw new DelayedError();
    }
    await using held = lock;

    const ended = new AbortController();
    const watch = setInterval(async () => {
      const { status } = (await runs.get(run.id).catch(() => undefined)) ?? { status: 'running' };
      if (status !== 'running') ended.abort(new InterruptedError(`The run is ${status}.`));
    }, STATUS_POLL_MS);
    const signals = [context.signal, ended.signal, ...(cancelled === undefined ? [] : [cancelled])];
    try {
      const own = { ...context, signal: AbortSignal.any(signals) };
      await deliverShard(own, { run, job, store, lock: held }, queued.data.shard);
      return { status: 'delivered' };
    } catch (error) {
      if (ended.signal.aborted) return { status: 'obsolete' };
      if (context.signal.aborted || cancelled?.aborted === true || held.lost.aborted) {
        await queued.moveToWait(token);
        throw new WaitingError();
      }
      return failureOf(error);
    } finally {
      clearInterval(watch);
    }
  };
}
