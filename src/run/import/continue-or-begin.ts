import type { Plan, PlannedShard } from '../../model/plan.ts';
import { KINDS_BUT_PLAN, type Run, SENDING_KINDS, UNFINISHED } from '../../model/run.ts';
import { StateError, UsageError } from '../../model/storeferry-error.ts';
import { readPlan, verifiedShard, verifyRejections } from '../../plan/plan-file.ts';
import { verifiedSnapshot } from '../../source/snapshot.ts';
import { importTarget } from '../../state/state.ts';
import { hasDied } from '../lock-job.ts';
import type { RunContext } from '../run-context.ts';
import { continueInstead, supersede } from '../run-pipeline.ts';

/**
 * The run that goes on: the job's unfinished run of the same digest, if its files are whole and its dates still
 * hold, else the one just begun, which has staged the same bytes. Other unfinished runs are superseded, since the ledger
 * keeps what they did; plans waiting for approval lapse, since they describe a store that is about to change.
 */
export async function continueOrBegin(context: RunContext, begun: Run): Promise<Run> {
  const run = await continueSame(context, begun);
  await supersedeOthers(context, run);
  return run;
}

/** The same, and leaves all other runs and plans as they are: for a run that may turn out to have nothing to send. */
export async function continueSame(context: RunContext, begun: Run): Promise<Run> {
  const unfinished = await context.state.runs.list({
    job: begun.job,
    kinds: SENDING_KINDS,
    statuses: UNFINISHED,
  });
  // The oldest: a younger one of the same digest died before it could continue it.
  const oldest = unfinished.findLast(({ id, digest }) => id !== begun.id && digest === begun.digest);
  if (oldest === undefined) return begun;
  const why = await whyNotContinue(context, oldest, context.clock());
  if (why !== undefined) {
    await context.state.runs.update(oldest.id, { error: `${why.message} Run ${begun.id} took its place.` });
    return begun;
  }
  await continueInstead(context, begun, oldest);
  // Its plan, if it has one, is right at this moment too; else it is planned as of now. Its figures are of its last end.
  return await context.state.runs.update(oldest.id, { stagedAt: begun.stagedAt, totals: null });
}

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

/** The date that would be judged otherwise now; a clock that was set back passes dates too. */
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

/** Whatever else of the job is unfinished or waits for approval lapses, since this run is about to send. */
export async function supersedeOthers(context: RunContext, by: Run): Promise<void> {
  const runs = await context.state.runs.list({ job: by.job, kinds: [...KINDS_BUT_PLAN, 'verify'] });
  for (const run of runs) {
    if (run.id === by.id) continue;
    if (mayContinue(run)) await supersedeEmptied(context, run);
    else await discardPlan(context, run);
  }
  await supersedePlans(context, by);
}

function mayContinue({ kind, status }: Run): boolean {
  return SENDING_KINDS.includes(kind) && UNFINISHED.includes(status);
}

/**
 * Plans of the job that wait for approval, or whose process was killed, lapse when it is planned again or begins to
 * send; failed ones are emptied.
 */
export async function supersedePlans(context: RunContext, by: Run): Promise<void> {
  const plans = await context.state.runs.list({ job: by.job, kinds: ['plan'] });
  for (const run of plans) {
    if (run.id === by.id) continue;
    if (run.status === 'planned' || run.status === 'stopped' || (await hasDied(context, run)))
      await supersedeEmptied(context, run);
    else if (run.status !== 'running') await discardPlan(context, run);
  }
}

async function supersedeEmptied(context: RunContext, run: Run): Promise<void> {
  await supersede(context, run);
  await discardPlan(context, run);
}

/** Snapshot and shards serve only a run that may still send; summary and rejects stay. */
export async function discardPlan(context: RunContext, run: Run): Promise<void> {
  const folder = context.artifacts.run(run.id);
  const names = await folder.list();
  await folder.remove(
    names.filter((name) => /^(source|table|shard|delete)-\d+|^(snapshot|subscriber-lists)\.json$/.test(name)),
  );
}
