import type { Plan } from '../model/plan.ts';
import type { Run } from '../model/run.ts';
import type { RejectsEdits } from '../report/rejects/compare-rejects.ts';
import type { RunFacts } from '../report/run-facts.ts';
import { stageContents } from '../source/snapshot.ts';
import type { RunContext } from './context.ts';
import { readCorrections, refuseUnlessRejected } from './corrections.ts';
import type { DeliverShards } from './delivery.ts';
import { digestOf } from './digest.ts';
import { applyStep } from './import/apply-step.ts';
import { continueSame, supersedeOthers } from './import/continue-run.ts';
import { finishStep } from './import/finish-step.ts';
import type { ImportRequest } from './import/import-request.ts';
import { newRun } from './import/new-run.ts';
import { planStep } from './import/plan-step.ts';
import { type Stage, stageStep } from './import/stage-step.ts';
import { createReconciled } from './reconcile-state.ts';
import { retryGuardOf, saveRetryGuard } from './retry-guard.ts';
import { lockJob, lockTarget, whileHeld } from './run-locks.ts';
import { watchedRun } from './watched-run.ts';

/**
 * Sends the rejects file of a run as it was corrected, through the mapping as it is now: a run of its own, without deletes and
 * safety limits. Only what was rejected is sent, and nothing that another run has applied since. `onEdits` is called with what
 * was corrected before anything is sent. Rejects with UsageError when the run has no rejects.
 */
export async function retryRun(
  surroundings: RunContext,
  request: ImportRequest,
  rejected: Run,
  deliver: DeliverShards,
  onEdits: (edits: RejectsEdits) => void,
): Promise<RunFacts> {
  const begun = newRun(surroundings, request, 'retry', rejected.id);
  using watched = watchedRun(surroundings, begun);
  const { context } = watched;
  let run = begun;
  await using job = await lockJob(context, run);
  await refuseUnlessRejected(context, rejected);
  let plan: Plan | null = null;
  let failure: unknown = null;
  try {
    run = await createReconciled(context, run);
    run = await stageStep(context, request, run, stageCorrected(rejected, onEdits));
    run = await continueSame(context, run);
    watched.follow(run);
    context.onEvent({ type: 'begun', run, continued: run.id !== begun.id });

    await using lock = await lockTarget(context, run, request.job.import);
    plan = await planStep(whileHeld(context, job, lock), request, run);
    // A retry that has nothing to send leaves plans valid, and what is unfinished to be continued.
    if (plan.shards.length > 0) await supersedeOthers(context, run);
    await applyStep(context, { run, plan, job: request.job, store: request.store, lock }, deliver);
  } catch (error) {
    failure = error;
  }
  return await finishStep(context, request, { run, plan, lock: job }, failure);
}

function stageCorrected(rejected: Run, onEdits: (edits: RejectsEdits) => void): Stage {
  return async (context, { job }, folder) => {
    const corrected = await readCorrections(context, rejected);
    onEdits(corrected.edits);
    const snapshot = await stageContents(corrected.files, corrected.readAs, folder);
    const guard = retryGuardOf(rejected, corrected, job.import);
    await saveRetryGuard(folder, guard);
    // The same rows with other refused cells make another plan.
    return { ...snapshot, sha256: digestOf([snapshot.sha256, guard.refused]) };
  };
}
