import { UsageError } from '../model/errors.ts';
import type { Run } from '../model/run.ts';
import { readPlan } from '../plan/plan-file.ts';
import { applyStep, type DeliverShards } from './apply-step.ts';
import type { RunContext } from './context.ts';
import { continueOrBegin } from './continue-run.ts';
import { finishStep } from './finish-step.ts';
import type { ImportRequest } from './import-request.ts';
import { lockJob, lockTarget } from './run-locks.ts';
import type { RunReport } from './run-report.ts';

/**
 * Applies exactly the plan of a planned or stopped run. Rejects with UsageError when there is nothing to approve, or
 * when another run of the job has begun since: the plan describes a store that is no more.
 */
export async function approveRun(
  context: RunContext,
  request: ImportRequest,
  planned: Run,
  deliver: DeliverShards,
): Promise<RunReport> {
  await using _job = await lockJob(context, planned);
  const plan = await readPlan(context.artifacts.run(planned.id));
  if (planned.status !== 'planned' && planned.status !== 'stopped') {
    throw new UsageError(whyNot(planned), { hint: `Plan it anew: storeferry plan ${planned.job}` });
  }
  if (plan === undefined || (await begunSince(context, planned))) {
    throw new UsageError(`Another run of ${planned.job} has begun since ${planned.id} was planned.`, {
      hint: `Plan it anew: storeferry plan ${planned.job}`,
    });
  }
  let run = await context.state.runs.update(planned.id, {
    kind: planned.kind === 'plan' ? 'run' : planned.kind,
    approved: true,
    status: 'running',
    error: null,
    finishedAt: null,
    step: 'apply',
  });
  let failure: unknown = null;
  try {
    run = await continueOrBegin(context, run);
    context.onEvent({ type: 'begun', run, continued: false });
    await using lock = await lockTarget(context, run, request.job.import);
    await applyStep(context, { run, plan, job: request.job, store: request.store, lock }, deliver);
  } catch (error) {
    failure = error;
  }
  return await finishStep(context, request, run, plan, failure);
}

function whyNot({ id, job, status }: Run): string {
  return status === 'superseded'
    ? `Another run of ${job} has begun since ${id} was planned.`
    : `The run ${id} is ${status}: only a planned or stopped run can be approved.`;
}

const LOOK_BACK = 200;

/** Whether a run that may send has begun after this one; other plans have not. */
async function begunSince(context: RunContext, planned: Run): Promise<boolean> {
  const runs = await context.state.runs.list({ job: planned.job, limit: LOOK_BACK });
  return runs.some(
    ({ id, kind, startedAt }) => id !== planned.id && kind !== 'plan' && startedAt > planned.startedAt,
  );
}
