import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from 'bullmq';
import type { PlannedShard } from '../model/plan.ts';
import { operationsIn } from '../model/plan.ts';
import type { Run } from '../model/run.ts';
import { InterruptedOnRequestError, messageOf, StateError } from '../model/storeferry-error.ts';
import { type DeliverShards, type Delivery, judgeRejected } from '../run/import/apply-step.ts';
import type { RunContext } from '../run/run-context.ts';
import { type Queues, type ShardJobData, type ShardJobResult, shardError } from './queues.ts';

const POLL_MS = 100;
/** Workers see the end of a run within this time, and give requests in flight five seconds to end. */
const QUIET_WITHIN_MS = 8_000;

/**
 * Queues shards for the workers of their store and waits until each has ended. If this process is stopped, or its
 * lock is lost, the workers continue: the process that continues the run waits for them. If the run itself must end,
 * they are stopped first, so that its totals are final and no worker writes after its locks are free.
 */
export function deliverByWorkers(queues: Queues): DeliverShards {
  return async (context, delivery, shards) => {
    const { run, lock } = delivery;
    const signal = AbortSignal.any([context.signal, lock.lost]);
    const open = await unfinished(context, run.id, shards);
    const round = await beginRound(
      queues,
      { id: run.id, store: delivery.store.name },
      open,
      context.newRunId(),
    );
    try {
      for (;;) {
        signal.throwIfAborted();
        const out = await round.poll();
        await judgeAndReport(context, delivery);
        if (out === 0) return;
        await sleep(POLL_MS, undefined, { signal }).catch(() => {});
      }
    } catch (error) {
      const reason = await reasonToEnd(context, run, signal, error);
      const quiet =
        (!signal.aborted || reason instanceof InterruptedOnRequestError) &&
        (await stopWorkers(context, delivery, round, reason).catch(() => false));
      if (!quiet) await lock.leave();
      throw reason;
    }
  };
}

/**
 * Workers that send its shards may have seen the request to end first, and ended them: then the error is only a consequence,
 * also where this process sees the request while it looks at the shards.
 */
async function reasonToEnd(
  { state }: RunContext,
  { id }: Run,
  signal: AbortSignal,
  error: unknown,
): Promise<unknown> {
  if (signal.aborted) return signal.reason;
  const run = await state.runs.get(id).catch(() => undefined);
  return run?.interruptAskedAt == null ? error : new InterruptedOnRequestError();
}

/** The numbers of the shards without final outcomes: a continued run has finished most. */
async function unfinished(
  context: RunContext,
  run: string,
  shards: readonly PlannedShard[],
): Promise<readonly number[]> {
  const open: number[] = [];
  for (const { number, operations } of shards) {
    const outcomes = await context.state.runs.outcomes(run, number);
    const final = [...outcomes.values()].filter((kind) => kind !== 'unsent').length;
    if (final < operations) open.push(number);
  }
  return open;
}

async function judgeAndReport(context: RunContext, delivery: Delivery): Promise<void> {
  const { plan, run } = delivery;
  const { applied, rejected, deleted } = await context.state.runs.tally(run.id);
  context.onEvent({
    type: 'progress',
    step: 'apply',
    done: applied + rejected + deleted,
    total: operationsIn(plan.shards),
    unit: 'requests',
    records: { applied, rejected: plan.counts.rejected.records + rejected },
  });
  const exceeded = judgeRejected(delivery, rejected);
  if (exceeded !== undefined) throw exceeded;
}

/** Stops all workers that send for the run, and waits for them. False if one of them does not answer. */
async function stopWorkers(
  context: RunContext,
  { run }: Delivery,
  round: ShardRound,
  reason: unknown,
): Promise<boolean> {
  const error = messageOf(reason);
  await context.state.runs.update(run.id, { error });
  const deadline = performance.now() + QUIET_WITHIN_MS;
  while ((await round.withdraw()) > 0) {
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** Workers take shards in order, so only the first of the open ones can have ended. */
const MAX_POLLED = 32;

type ShardJob = Job<ShardJobData, ShardJobResult>;

/** Shards of a run that were queued together. */
type ShardRound = Awaited<ReturnType<typeof beginRound>>;

/**
 * Adds a job per shard. The round checks the jobs themselves, because events may be lost. Jobs of an earlier round,
 * left by a coordinator that died, are harmless: a shard is sent by one process at a time, and only operations
 * without an outcome are sent. `round` makes their ids differ.
 */
async function beginRound(
  { shards: queueOf, ask }: Queues,
  { id: run, store }: { readonly id: string; readonly store: string },
  shards: readonly number[],
  round: string,
) {
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
    /** The number of open shards. Rejects with the error that one of them ended with. */
    async poll(): Promise<number> {
      for (;;) {
        const ended = await endedAmong(out.slice(0, MAX_POLLED));
        if (ended.length === 0) return out.length;
        // A shard that was stopped ended because of another one: report the error of that one.
        if (!ended.every(isDelivered)) throw causeAmong(await endedAmong(out));
        // The outcome of a shard is in the state; kept jobs of a large run would fill Redis.
        await Promise.allSettled(ended.map((job) => job.remove()));
        const gone = new Set(ended.map(({ id }) => id));
        out = out.filter((id) => !gone.has(id));
      }
    },
    /** Removes those that no worker has begun; returns how many are being sent now. */
    async withdraw(): Promise<number> {
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
    hint: 'Redis was emptied, or it evicts keys. Check maxmemory-policy, then enqueue the job again to continue.',
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
        return shardError(result);
      default:
        throw new Error(`Unknown result: ${result satisfies never}`);
    }
  }
  return new StateError('Another process has ended this run.', {
    hint: '`storeferry runs` shows how it ended.',
  });
}
