import type { Job } from 'bullmq';
import { StateError } from '../../model/errors.ts';
import type { ShardJobData, ShardJobResult } from '../job-types.ts';
import type { Queues } from '../open-queues.ts';
import { errorOf } from './shard-failure.ts';

/** Shards are taken in order, so only the first of those that are out can have ended. */
const LOOKED_AT = 32;

type ShardJob = Job<ShardJobData, ShardJobResult>;

/** Shards of a run that were handed out together. */
export interface ShardRound {
  /** How many are still out. Rejects with the error that one of them ended with. */
  look(): Promise<number>;
  /** Takes back what no worker has begun; gives how many are being sent at this moment. */
  withdraw(): Promise<number>;
}

/**
 * Adds a job per shard. The round looks at the jobs themselves, since events may be lost. Jobs of an earlier round of
 * the run, left by a coordinator that died, do no harm: a shard is sent by one process at a time, and only what has
 * no outcome yet. `round` distinguishes them.
 */
export async function beginRound(
  { shards: queueOf, ask }: Pick<Queues, 'shards' | 'ask'>,
  { id: run, store }: { readonly id: string; readonly store: string },
  shards: readonly number[],
  round: string,
): Promise<ShardRound> {
  const queue = queueOf(store);
  const ids = shards.map((shard) => `${run}-${shard}-${round}`);
  await ask(
    queue.addBulk(
      shards.map((shard, index) => ({
        name: 'shard',
        data: { run, shard },
        opts: { jobId: ids[index] ?? '' },
      })),
    ),
  );
  let out: readonly string[] = ids;

  const endedAmong = async (wanted: readonly string[]): Promise<readonly ShardJob[]> => {
    const jobs = await Promise.all(wanted.map(async (id) => (await ask(queue.getJob(id))) ?? vanished(id)));
    return jobs.filter((job) => job.finishedOn !== undefined);
  };

  return {
    async look() {
      for (;;) {
        const ended = await endedAmong(out.slice(0, LOOKED_AT));
        if (ended.length === 0) return out.length;
        // A shard that was stopped ended because of another one: report that one's error.
        if (!ended.every(isDelivered)) throw causeAmong(await endedAmong(out));
        // The outcome of a shard is in the state; the jobs of a large run would fill Redis.
        await Promise.allSettled(ended.map((job) => job.remove()));
        const gone = new Set(ended.map(({ id }) => id));
        out = out.filter((id) => !gone.has(id));
      }
    },
    async withdraw() {
      const jobs = await ask(Promise.all(out.map((id) => queue.getJob(id))));
      const open = jobs.filter((job) => job !== undefined && job.finishedOn === undefined);
      const removed = await Promise.allSettled(open.map((job) => job?.remove()));
      out = open.flatMap((job, index) =>
        removed[index]?.status === 'rejected' && job?.id !== undefined ? [job.id] : [],
      );
      return out.length;
    },
  };
}

function vanished(id: string): never {
  throw new StateError(`The queue has lost the job of shard ${id}.`, {
    hint: 'Redis was emptied or evicts keys; check maxmemory-policy, then enqueue the job again to continue.',
  });
}

function isDelivered({ failedReason, returnvalue }: ShardJob): boolean {
  return !failedReason && returnvalue.status === 'delivered';
}

function causeAmong(ended: readonly ShardJob[]): Error {
  for (const { failedReason, returnvalue: result } of ended) {
    if (failedReason) return new Error(failedReason);
    switch (result.status) {
      case 'delivered':
      case 'obsolete':
        continue;
      case 'unauthorized':
      case 'store-unavailable':
      case 'safety-limit':
      case 'failed':
        return errorOf(result);
      default:
        throw new Error(`Unknown result: ${result satisfies never}`);
    }
  }
  return new StateError('Another process has ended this run.', {
    hint: '`storeferry runs` shows how it ended.',
  });
}
