import { setTimeout as sleep } from 'node:timers/promises';
import { InterruptedOnRequestError } from '../../model/errors.ts';
import type { PlannedShard } from '../../model/plan.ts';
import type { Run } from '../../model/run.ts';
import type { RunContext } from '../../run/context.ts';
import { type DeliverShards, type Delivery, operationsIn } from '../../run/delivery.ts';
import { judgeRejected } from '../../run/import/apply-step.ts';
import type { Queues } from '../open-queues.ts';
import { beginRound, type ShardRound } from './shard-round.ts';

const POLL_MS = 100;
/** Workers soon see that a run ends, and let requests under way end for five seconds. */
const QUIET_WITHIN_MS = 8_000;

/**
 * Hands shards to the workers of their store and waits until each has ended. When the process is stopped, or its
 * lock is lost, the workers go on: the process that takes the run over waits for them. When the run itself must end, they
 * are stopped first, so that its totals are final and no worker writes once its locks are free.
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
        const out = await round.look();
        await judgeAndReport(context, delivery);
        if (out === 0) return;
        await sleep(POLL_MS, undefined, { signal }).catch(() => {});
      }
    } catch (error) {
      const reason =
        signal.aborted || !(await isAskedToEnd(context, run)) ? error : new InterruptedOnRequestError();
      const quiet =
        (!signal.aborted || reason instanceof InterruptedOnRequestError) &&
        (await stopWorkers(context, delivery, round, reason).catch(() => false));
      if (!quiet) await lock.leave();
      throw reason;
    }
  };
}

/** Workers that send its shards may have seen it first, and ended them. */
async function isAskedToEnd({ state }: RunContext, { id }: Run): Promise<boolean> {
  const run = await state.runs.get(id).catch(() => undefined);
  return run?.interruptAskedAt != null;
}

/** The numbers of the shards that are not done with: a run that is continued has done with most. */
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

/** Signals all workers that the run ends, and waits for those that send. False when one of them does not answer. */
async function stopWorkers(
  context: RunContext,
  { run }: Delivery,
  round: ShardRound,
  reason: unknown,
): Promise<boolean> {
  const error = reason instanceof Error ? reason.message : String(reason);
  await context.state.runs.update(run.id, { error });
  const deadline = performance.now() + QUIET_WITHIN_MS;
  while ((await round.withdraw()) > 0) {
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}
