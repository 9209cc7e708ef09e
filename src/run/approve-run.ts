import { StateError, UsageError } from '../model/errors.ts';
import type { Plan } from '../model/plan.ts';
import type { Run } from '../model/run.ts';
import { storeIdentity } from '../model/store-identity.ts';
import { readPlan } from '../plan/plan-file.ts';
import { nextSteps } from '../report/next-steps.ts';
import type { RunFacts } from '../report/run-facts.ts';
import { asItStands } from './as-it-stands.ts';
import type { RunContext } from './context.ts';
import type { DeliverShards } from './delivery.ts';
import { applyStep } from './import/apply-step.ts';
import { supersedeOthers } from './import/continue-run.ts';
import { finishStep } from './import/finish-step.ts';
import type { ImportRequest } from './import/import-request.ts';
import { whyNotContinue } from './import/why-not-continue.ts';
import { laterRun } from './later-run.ts';
import { reconcileState } from './reconcile-state.ts';
import { lockJob, lockTarget } from './run-locks.ts';
import { watchedRun } from './watched-run.ts';

/**
 * Applies exactly the plan of a planned or stopped run. Rejects with UsageError when there is nothing to approve, or
 * when another run of the job has begun since: the plan describes a store that is no more. The same when a sale
 * price in it has begun or ended since, and when the job now writes to another store. StateError when its files were damaged.
 */
export async function approveRun(
  surroundings: RunContext,
  request: ImportRequest,
  known: Run,
  deliver: DeliverShards,
): Promise<RunFacts> {
  // Before this process holds the lock of the job: a run that counts as running would count as held by it.
  const standing = await asItStands(surroundings, known);
  if (standing.status === 'interrupted') throw notApprovable(standing);
  await using job = await lockJob(surroundings, known);
  // Read again: another process may have approved it before the lock was free.
  const planned = (await surroundings.state.runs.get(known.id)) ?? known;
  const hint = `Plan it again: storeferry plan ${planned.job}`;
  if (planned.status !== 'planned' && planned.status !== 'stopped') {
    throw notApprovable(planned);
  }
  if ((await laterRun(surroundings, planned)) !== undefined) {
    throw new UsageError(`Another run of ${planned.job} has begun since ${planned.id} was planned.`, {
      hint,
    });
  }
  refuseOtherStore(planned, request);
  await reconcileState(surroundings, planned);
  const plan = await wholePlan(surroundings, planned, hint);
  const run = await surroundings.state.runs.update(planned.id, {
    kind: planned.kind === 'plan' ? 'run' : planned.kind,
    approved: true,
    status: 'running',
    error: null,
    finishedAt: null,
    progress: null,
    totals: null,
    interruptAskedAt: null,
    step: 'apply',
  });
  using watched = watchedRun(surroundings, run);
  const { context } = watched;
  let failure: unknown = null;
  try {
    await supersedeOthers(context, run);
    context.onEvent({ type: 'begun', run, continued: false });
    await using lock = await lockTarget(context, run, request.job.import);
    await applyStep(context, { run, plan, job: request.job, store: request.store, lock }, deliver);
  } catch (error) {
    failure = error;
  }
  return await finishStep(context, request, { run, plan, lock: job }, failure);
}

/** StateError when it is not what was planned any more, UsageError when it is not what would be planned now. */
async function wholePlan(context: RunContext, planned: Run, hint: string): Promise<Plan> {
  const why = await whyNotContinue(context, planned, context.clock());
  const plan = why === undefined ? await readPlan(context.artifacts.run(planned.id)) : undefined;
  if (plan !== undefined) return plan;
  if (why instanceof UsageError) throw new UsageError(why.message, { hint, cause: why });
  throw new StateError(why?.message ?? `The plan of run ${planned.id} is gone.`, { hint, cause: why });
}

/** Outcomes go into the ledger of the store the plan was made for, so nothing of it may be sent to another one. */
function refuseOtherStore({ id, job, store, storeId, baseUrl, resource }: Run, request: ImportRequest): void {
  if (storeId === storeIdentity(request.store) && resource === request.job.import) return;
  throw new UsageError(
    `The plan ${id} was made for ${resource} of ${store} (${baseUrl}); the job now writes ${request.job.import} of ${request.store.name} (${request.store.baseUrl}).`,
    { hint: `Plan it again: storeferry plan ${job}` },
  );
}

function notApprovable(run: Run): UsageError {
  const { id, job, status } = run;
  const message =
    status === 'superseded'
      ? `Another run or plan of ${job} has begun since ${id} was planned.`
      : `The run ${id} ${status === 'interrupted' ? 'was' : 'is'} ${status}: only a planned or stopped run can be approved.`;
  const [next] = status === 'superseded' ? [] : nextSteps({ run });
  return new UsageError(message, {
    hint: next === undefined ? `Plan it again: storeferry plan ${job}` : `${next.what} ${next.command}`,
  });
}
