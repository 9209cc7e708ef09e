import { StateError, UsageError } from '../../model/errors.ts';
import type { Plan, PlannedShard } from '../../model/plan.ts';
import type { Run } from '../../model/run.ts';
import { verifyRejections } from '../../plan/files/read-rejections.ts';
import { verifiedShard } from '../../plan/files/read-shard.ts';
import { readPlan } from '../../plan/plan-file.ts';
import { verifiedSnapshot } from '../../source/snapshot.ts';
import { importTarget } from '../../state/state.ts';
import type { RunContext } from '../context.ts';

/**
 * Why what a run has left to send cannot be sent as it was planned: the state has lost something since (what the plan found
 * unchanged is in doubt), a file of it is gone or is not what was written
 * (StateError), or a sale price has begun or ended by `now` (UsageError). Undefined when it can. Of shards that are done
 * with nothing is read any more.
 */
export async function whyNotContinue(
  context: RunContext,
  run: Run,
  now: number,
): Promise<StateError | UsageError | undefined> {
  const folder = context.artifacts.run(run.id);
  try {
    if (await context.state.ledger(importTarget(run)).lostSince(run)) {
      return new StateError(`The state has lost a part of what was sent since run ${run.id} was planned.`);
    }
    if ((await verifiedSnapshot(folder)) === undefined) {
      return new StateError(`The snapshot of run ${run.id} is gone.`);
    }
    const plan = await readPlan(folder);
    if (plan === undefined) return undefined;
    const passed = passedDate(plan, now);
    if (passed !== undefined) {
      const when = new Date(passed).toISOString();
      return new UsageError(
        `A sale price of run ${run.id} begins or ends between its planning and now, at ${when}.`,
      );
    }
    await verifyRejections(folder, plan);
    for (const shard of plan.shards) {
      context.signal.throwIfAborted();
      if (await hasOpen(context, run, shard)) await verifiedShard(folder, shard);
    }
    return undefined;
  } catch (error) {
    if (error instanceof StateError) return error;
    throw error;
  }
}

/** The moment of the date that would be judged otherwise now; a clock that was put back passes dates too. */
function passedDate({ source: { dates } }: Plan, now: number): number | undefined {
  const { since = null, until = null } = dates ?? {};
  if (until !== null && now >= until) return until;
  return since !== null && now < since ? since : undefined;
}

async function hasOpen(
  { state }: RunContext,
  { id }: Run,
  { number, operations }: PlannedShard,
): Promise<boolean> {
  const outcomes = await state.runs.outcomes(id, number);
  return [...outcomes.values()].filter((kind) => kind !== 'unsent').length < operations;
}
