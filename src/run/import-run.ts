import type { Plan } from '../model/plan.ts';
import type { RunFacts } from '../report/run-facts.ts';
import type { RunContext } from './context.ts';
import type { DeliverShards } from './delivery.ts';
import { applyStep } from './import/apply-step.ts';
import { continueOrBegin } from './import/continue-run.ts';
import { finishStep } from './import/finish-step.ts';
import type { ImportRequest } from './import/import-request.ts';
import { newRun } from './import/new-run.ts';
import { planStep, refuseUnsafe } from './import/plan-step.ts';
import { stageStep } from './import/stage-step.ts';
import { createReconciled } from './reconcile-state.ts';
import { lockJob, lockTarget, whileHeld } from './run-locks.ts';
import { watchedRun } from './watched-run.ts';

/**
 * Runs an import job: stage, plan, apply, finish. Continues the job's unfinished run when everything that decides
 * its plan is the same; a source that says it has not changed leaves nothing to do. With `together` other processes
 * send its shards, and hold the store with it. Rejects with LockedError while the job is running elsewhere, and when its
 * lock is lost; any other failure is told by the report's status and error.
 */
export async function importRun(
  surroundings: RunContext,
  request: ImportRequest,
  deliver: DeliverShards,
  hold = { together: false },
): Promise<RunFacts> {
  const begun = newRun(surroundings, request, 'run');
  using watched = watchedRun(surroundings, begun);
  const { context } = watched;
  let run = begun;
  await using job = await lockJob(context, run);
  let plan: Plan | null = null;
  let failure: unknown = null;
  try {
    run = await createReconciled(context, run);
    run = await stageStep(context, request, run);
    if (run.unchangedSince !== undefined) {
      context.onEvent({ type: 'begun', run, continued: false });
    } else {
      run = await continueOrBegin(context, run);
      watched.follow(run);
      context.onEvent({ type: 'begun', run, continued: run.id !== begun.id });

      await using lock = await lockTarget(context, run, request.job.import, hold);
      plan = await planStep(whileHeld(context, job, lock), request, run);
      refuseUnsafe(run, plan);

      await applyStep(context, { run, plan, job: request.job, store: request.store, lock }, deliver);
    }
  } catch (error) {
    failure = error;
  }
  return await finishStep(context, request, { run, plan, lock: job }, failure);
}
