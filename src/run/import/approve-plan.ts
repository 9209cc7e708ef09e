import { StateError, UsageError } from '../../model/errors.ts';
import type { Plan } from '../../model/plan.ts';
import type { Run } from '../../model/run.ts';
import { storeIdentity } from '../../model/store-identity.ts';
import { readPlan } from '../../plan/plan-file.ts';
import { nextSteps } from '../../report/sections/next-section.ts';
import { asItStands, laterRun } from '../lock-job.ts';
import { reconcileState } from '../reconcile-state.ts';
import type { ImportRequest, RunContext } from '../run-context.ts';
import { whyNotContinue } from './continue-or-begin.ts';

/**
 * UsageError for a run whose process has died. To be asked before this process holds the lock of the job: a run that counts
 * as running would then count as held by it.
 */
export async function refuseInterrupted(context: RunContext, known: Run): Promise<void> {
  const standing = await asItStands(context, known);
  if (standing.status === 'interrupted') throw notApprovable(standing);
}

/**
 * Approves a planned or stopped run, under the lock of its job; gives it as a running one, and its plan. UsageError when
 * there is nothing to approve, another run of the job has begun since, a sale price in the plan has begun or ended since, or
 * the job now writes to another store; StateError when files of the plan were damaged.
 */
export async function approvePlan(
  context: RunContext,
  request: ImportRequest,
  known: Run,
): Promise<{ readonly run: Run; readonly plan: Plan }> {
  const { runs } = context.state;
  // Read again: another process may have approved it before the lock was free.
  const planned = (await runs.get(known.id)) ?? known;
  const hint = `Plan it again: storeferry plan ${planned.job}`;
  if (planned.status !== 'planned' && planned.status !== 'stopped') throw notApprovable(planned);
  if ((await laterRun(context, planned)) !== undefined) {
    throw new UsageError(`Another run of ${planned.job} has begun since ${planned.id} was planned.`, {
      hint,
    });
  }
  refuseOtherStore(planned, request, hint);
  await reconcileState(context, planned);
  const plan = await wholePlan(context, planned, hint);
  const run = await runs.update(planned.id, {
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
  return { run, plan };
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
function refuseOtherStore(planned: Run, { job, store }: ImportRequest, hint: string): void {
  const { id, storeId, baseUrl, resource } = planned;
  if (storeId === storeIdentity(store) && resource === job.import) return;
  throw new UsageError(
    `The plan ${id} was made for ${resource} of ${planned.store} (${baseUrl}); the job now writes ${job.import} of ${store.name} (${store.baseUrl}).`,
    { hint },
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
