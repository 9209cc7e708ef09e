import type { Plan } from '../model/plan.ts';
import type { RunFacts } from '../report/run-facts.ts';
import type { RunContext } from './context.ts';
import { supersedePlans } from './import/continue-run.ts';
import { finishStep } from './import/finish-step.ts';
import type { ImportRequest } from './import/import-request.ts';
import { newRun } from './import/new-run.ts';
import { planStep, refuseUnsafe } from './import/plan-step.ts';
import { stageStep } from './import/stage-step.ts';
import { createReconciled } from './reconcile-state.ts';
import { lockPlan } from './run-locks.ts';
import { watchedRun } from './watched-run.ts';

/**
 * Plans an import job and sends nothing. The plan can be approved until a run of the job begins or the job is planned
 * again. It does not hold the job: a plan made beside a running run may be out of date, and harms nobody.
 */
export async function planRun(surroundings: RunContext, request: ImportRequest): Promise<RunFacts> {
  let run = newRun(surroundings, request, 'plan');
  using watched = watchedRun(surroundings, run);
  const { context } = watched;
  await using planning = await lockPlan(context, run);
  let plan: Plan | null = null;
  let failure: unknown = null;
  try {
    run = await createReconciled(context, run);
    run = await stageStep(context, request, run);
    context.onEvent({ type: 'begun', run, continued: false });
    plan = await planStep(context, request, run);
    await supersedePlans(context, run);
    refuseUnsafe(run, plan);
  } catch (error) {
    failure = error;
  }
  return await finishStep(context, request, { run, plan, lock: planning }, failure);
}
