import type { Plan } from '../model/plan.ts';
import type { Run } from '../model/run.ts';
import type { RejectsEdits } from '../report/rejects/rejects-edits.ts';
import type { RunFacts } from '../report/run-facts.ts';
import { applyStep, type DeliverShards, deliverHere } from './import/apply-step.ts';
import { approvePlan, refuseInterrupted } from './import/approve-plan.ts';
import {
  continueOrBegin,
  continueSame,
  supersedeOthers,
  supersedePlans,
} from './import/continue-or-begin.ts';
import { finishStep } from './import/finish-step.ts';
import { planStep, refuseUnsafe } from './import/plan-step.ts';
import { type Stage, stageJobSource, stageStep } from './import/stage-step.ts';
import { lockJob, lockPlan, lockTarget, whileHeld } from './lock-job.ts';
import { refuseUnlessRejected, stageCorrected } from './read-corrections.ts';
import { createReconciled } from './reconcile-state.ts';
import type { ImportRequest, RunContext } from './run-context.ts';
import { newRun, runPipeline } from './run-pipeline.ts';

interface OfImport {
  readonly request: ImportRequest;
}

interface Sending extends OfImport {
  /** Has other processes send the shards, which then hold the store together with this one; left out: this process sends them. */
  readonly workers?: DeliverShards | undefined;
}

/** What to do with an import job. */
export type ImportTask =
  /** Everything: stage, plan, apply. */
  | (Sending & { readonly kind: 'run' })
  /** Sends nothing. The plan can be approved until a run of the job begins or the job is planned again. */
  | (OfImport & { readonly kind: 'plan' })
  /** Applies exactly the plan of a planned or stopped run. */
  | (Sending & { readonly kind: 'approve'; readonly planned: Run })
  /** Sends the corrected rejects file of a run; `onEdits` is called with the corrections before anything is sent. */
  | (Sending & {
      readonly kind: 'retry';
      readonly rejected: Run;
      readonly onEdits: (edits: RejectsEdits) => void;
    });

/**
 * Runs an import job: stage, plan, apply, finish, as far as the task asks for. Rejects as `runPipeline`, and with
 * UsageError when there is nothing to approve or to retry.
 */
export async function importRun(surroundings: RunContext, task: ImportTask): Promise<RunFacts> {
  const { request } = task;
  const { job, store } = request;
  let plan: Plan | null = null;
  if (task.kind === 'approve') await refuseInterrupted(surroundings, task.planned);
  return await runPipeline(surroundings, {
    run: runOf(surroundings, task),
    // A plan does not hold the job: one made during a run may be out of date, which does no harm.
    lock: task.kind === 'plan' ? lockPlan : lockJob,
    async admit(run) {
      if (task.kind === 'retry') await refuseUnlessRejected(surroundings, task.rejected);
      if (task.kind !== 'approve') return run;
      const approved = await approvePlan(surroundings, request, run);
      plan = approved.plan;
      return approved.run;
    },
    async steps(work) {
      const { context } = work;
      if (task.kind === 'approve') {
        await supersedeOthers(context, work.run);
        work.begin(work.run);
      } else {
        work.run = await createReconciled(context, work.run);
        work.run = await stageStep(context, request, work.run, stageOf(task));
        work.begin(await continued(context, task, work.run));
        if (work.run.unchangedSince !== undefined) return;
      }
      if (task.kind === 'plan') {
        plan = await planStep(context, request, work.run);
        await supersedePlans(context, work.run);
        refuseUnsafe(work.run, plan);
        return;
      }
      const { workers } = task;
      await using target = await lockTarget(context, work.run, { together: workers !== undefined });
      plan ??= await planStep(whileHeld(context, work.lock, target), request, work.run);
      refuseUnsafe(work.run, plan);
      // A retry that has nothing to send leaves plans valid, and what is unfinished to be continued.
      if (task.kind === 'retry' && plan.shards.length > 0) await supersedeOthers(context, work.run);
      const delivery = { run: work.run, plan, job, store, lock: target };
      await applyStep(context, delivery, workers ?? deliverHere);
    },
    finish: ({ context, run, lock }, failure) => finishStep(context, request, { run, plan, lock }, failure),
  });
}

function runOf(context: RunContext, task: ImportTask): Run {
  if (task.kind === 'approve') return task.planned;
  const { job, store, resend } = task.request;
  const retryOf = task.kind === 'retry' ? task.rejected.id : null;
  const { name, import: resource } = job;
  return newRun(context, store, { job: name, kind: task.kind, resource, step: 'stage', resend, retryOf });
}

function stageOf(task: ImportTask): Stage {
  return task.kind === 'retry' ? stageCorrected(task.rejected, task.onEdits) : stageJobSource;
}

/** The run that goes on: the job's unfinished one where it would do the same, else the one that was staged. */
async function continued(context: RunContext, { kind }: ImportTask, staged: Run): Promise<Run> {
  if (staged.unchangedSince !== undefined) return staged;
  switch (kind) {
    case 'run':
      return await continueOrBegin(context, staged);
    case 'retry':
      return await continueSame(context, staged);
    case 'plan':
    case 'approve':
      return staged;
    default:
      return kind satisfies never;
  }
}
