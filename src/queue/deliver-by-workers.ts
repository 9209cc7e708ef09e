import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from 'bullmq';
import {
  SafetyLimitError,
  StateError,
  StoreferryError,
  StoreUnavailableError,
  UnauthorizedError,
} from '../model/errors.ts';
import type { PlannedShard } from '../model/plan.ts';
import type { DeliverShards, Delivery } from '../run/apply-step.ts';
import type { RunContext } from '../run/context.ts';
import type { ShardJobData, ShardJobResult } from './job-types.ts';
import type { Queues } from './open-queues.ts';

const POLL_MS = 100;
/** Shards are taken in order, so only the first of those that are out can have ended. */
const LOOKED_AT = 32;

/**
 * Hands shards to the workers of their store and waits until each has ended. Whoever waits looks at the jobs
 * themselves: events may be lost. Copies of a shard's job, left by a coordinator that died, are harmless: a shard is
 * sent by one process at a time, and only what has no outcome yet.
 */
export function deliverByWorkers(queues: Queues): DeliverShards {
  return async (context, delivery, shards) => {
    const queue = queues.shards(delivery.store.name);
    const round = context.newRunId();
    const added = await queue.addBulk(
      shards.map(({ number }) => ({
        name: 'shard',
        data: { run: delivery.run.id, shard: number },
        opts: { jobId: `${delivery.run.id}-${number}-${round}` },
      })),
    );
    let waiting = added.map((job, index) => ({ id: jobIdOf(job), shard: shards[index] }));
    const signal = AbortSignal.any([context.signal, delivery.lock.lost]);
    try {
      while (waiting.length > 0) {
        signal.throwIfAborted();
        const ended = new Set<string>();
        const jobs = await Promise.all(waiting.slice(0, LOOKED_AT).map(({ id }) => queue.getJob(id)));
        for (const [index, job] of jobs.entries()) {
          const id = waiting[index]?.id ?? '';
          if (job === undefined) throw vanished(id);
          if (job.finishedOn === undefined) continue;
          refuseFailure(job);
          ended.add(id);
        }
        waiting = waiting.filter(({ id }) => !ended.has(id));
        await reportProgress(context, delivery);
        if (ended.size === 0) await sleep(POLL_MS, undefined, { signal }).catch(() => {});
      }
    } catch (error) {
      if (!context.signal.aborted) await withdraw(waiting, (id) => queue.getJob(id));
      throw error;
    }
  };
}

function jobIdOf(job: Job): string {
  if (job.id === undefined) throw new StateError('The queue answered no id for a shard.');
  return job.id;
}

function vanished(id: string): StateError {
  return new StateError(`The queue has lost the job of shard ${id}.`, {
    hint: 'Redis was emptied or evicts keys; check maxmemory-policy, then enqueue the job again to continue.',
  });
}

function refuseFailure(job: Job<ShardJobData, ShardJobResult>): void {
  if (job.failedReason !== undefined && job.failedReason !== '') throw new StateError(job.failedReason);
  const result = job.returnvalue;
  switch (result.status) {
    case 'delivered':
      return;
    case 'obsolete':
      throw new StateError('Another process has ended this run.');
    case 'unauthorized':
      throw new UnauthorizedError(result.message);
    case 'store-unavailable':
      throw new StoreUnavailableError(result.message);
    case 'safety-limit':
      throw new SafetyLimitError(result.message);
    case 'failed':
      throw new StateError(result.message);
    default:
      throw new Error(`Unknown shard result: ${JSON.stringify(result satisfies never)}`);
  }
}

async function reportProgress(context: RunContext, { run, plan }: Delivery): Promise<void> {
  const { applied, rejected, deleted } = await context.state.runs.tally(run.id);
  context.onEvent({
    type: 'progress',
    step: 'apply',
    done: applied + rejected + deleted,
    total: plan.shards.reduce((sum, { operations }) => sum + operations, 0),
    unit: 'requests',
  });
}

/** Takes back what no worker has begun; what is under way ends by itself when it sees that the run has ended. */
async function withdraw(
  waiting: readonly { readonly id: string; readonly shard: PlannedShard | undefined }[],
  getJob: (id: string) => Promise<Job | undefined>,
): Promise<void> {
  await Promise.allSettled(waiting.map(async ({ id }) => (await getJob(id))?.remove()));
}

/** What a shard's failure is called in its result; anything that is not ours is told by its message alone. */
export function failureOf(error: unknown): ShardJobResult {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof UnauthorizedError) return { status: 'unauthorized', message };
  if (error instanceof StoreUnavailableError) return { status: 'store-unavailable', message };
  if (error instanceof SafetyLimitError) return { status: 'safety-limit', message };
  return { status: 'failed', message: error instanceof StoreferryError ? message : `A bug: ${message}` };
}
