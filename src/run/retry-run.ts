import type { Plan } from '../model/plan.ts';
import type { Run } from '../model/run.ts';
import type { RejectsEdits } from '../report/rejects/compare-rejects.ts';
import { stageContents } from '../source/stage-contents.ts';
import type { RunContext } from './context.ts';
import { readCorrections, refuseUnlessLatest } from './corrections.ts';
import type { DeliverShards } from './delivery.ts';
import { applyStep } from './import/apply-step.ts';
import { continueOrBegin } from './import/continue-run.ts';
import { finishStep } from './import/finish-step.ts';
import type { ImportRequest } from './import/import-request.ts';
import { newRun } from './import/new-run.ts';
import { planStep } from './import/plan-step.ts';
import { type Stage, stageStep } from './import/stage-step.ts';
import { createReconciled } from './reconcile-state.ts';
import type { RunReport } from './report/run-report.ts';
import { lockJob, lockTarget, whileHeld } from './run-locks.ts';
import { watchedRun } from './watched-run.ts';

/**
 * Sends the rejects file of a job's latest run as it was corrected, through the mapping as it is now: a run of its
 * own, without deletes and safety limits. `onEdits` is told what was corrected before anything is sent. Rejects with
 * UsageError when the run is not the latest or has no rejects.
 */
export async function retryRun(
  surroundings: RunContext,
  request: ImportRequest,
  rejected: Run,
  deliver: DeliverShards,
  onEdits: (edits: RejectsEdits) => void,
): Promise<RunReport> {
  const begun = newRun(surroundings, request, 'retry', rejected.id);
  using watched = watchedRun(surroundings, begun);
  const { context } = watched;
  let run = begun;
  await using job = await lockJob(context, run);
  await refuseUnlessLatest(context, rejected);
  let plan: Plan | null = null;
  let failure: unknown = null;
  try {
    run = await createReconciled(context, run);
    run = await stageStep(context, request, run, stageCorrected(rejected, onEdits));
    run = await continueOrBegin(context, run);
    watched.follow(run);
    context.onEvent({ type: 'begun', run, continued: run.id !== begun.id });

    await using lock = await lockTarget(context, run, request.job.import);
    plan = await planStep(whileHeld(context, job, lock), request, run);
    await applyStep(context, { run, plan, job: request.job, store: request.store, lock }, deliver);
  } catch (error) {
    failure = error;
  }
  return await finishStep(context, request, { run, plan, lock: job }, failure);
}

function stageCorrected(rejected: Run, onEdits: (edits: RejectsEdits) => void): Stage {
  return async (context, _request, folder) => {
    const corrected = await readCorrections(context, rejected);
    onEdits(corrected.edits);
    return await stageContents(corrected.files, corrected.readAs, folder);
  };
}
