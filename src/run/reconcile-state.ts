import { COMPLETED, type FoundGone, forgotten, type Run, type StateLoss } from '../model/run.ts';
import { importTarget } from '../state/state.ts';
import type { RunContext } from './run-context.ts';

/** An older loss has already been reported. */
const RUNS_SEARCHED = 50;

/**
 * Checks whether the state still has everything that was sent to the run's target. If not, everything that may be
 * affected is put in doubt, and the loss is returned; otherwise null.
 */
export async function reconcileState(
  { state, onEvent }: RunContext,
  run: Run,
  mode?: 'witnessed-only',
): Promise<StateLoss | null> {
  const loss = await state.ledger(importTarget(run)).reconcile(mode);
  if (loss !== null) onEvent({ type: 'state-loss', loss });
  return loss;
}

/**
 * Creates a run that is about to begin. It records the loss of the state and the lost records that a verification
 * found, if any. The state is compared first: a loss concerns earlier runs, not this one.
 */
export async function createReconciledRun(context: RunContext, begun: Run): Promise<Run> {
  const loss = (await reconcileState(context, begun)) ?? (await lossToSay(context, begun));
  const foundGone = await goneBefore(context, begun);
  const run = {
    ...begun,
    ...(loss !== null && { stateLoss: loss }),
    ...(foundGone !== undefined && { foundGone }),
  };
  await context.state.runs.create(run);
  return run;
}

/**
 * A loss that another run, plan or verification found before this job sent anything since: the run that sends
 * everything again reports the cause.
 */
async function lossToSay({ state, onEvent }: RunContext, begun: Run): Promise<StateLoss | null> {
  const isOfTarget = ({ storeId, resource }: Run) => storeId === begun.storeId && resource === begun.resource;
  const found = (await state.runs.list({ limit: RUNS_SEARCHED })).find(
    (run) => run.stateLoss !== undefined && isOfTarget(run),
  );
  if (found?.stateLoss === undefined) return null;
  const [sent] = await state.runs.list({ job: begun.job, kinds: ['run'], limit: 1 });
  if (sent !== undefined && sent.sequence >= found.sequence) return null;
  onEvent({ type: 'state-loss', loss: found.stateLoss });
  return found.stateLoss;
}

/**
 * The lost records that a verification of the job found, until everything was sent again or a verification of all
 * records found none. Each run keeps this, because the verification itself may be removed.
 */
async function goneBefore({ state }: RunContext, { job }: Run): Promise<FoundGone | undefined> {
  const before = await state.runs.list({ job });
  for (const { id, resend, status, verification: found } of before) {
    if (resend && COMPLETED.includes(status)) return undefined;
    if (found === undefined) continue;
    const gone = forgotten(found);
    if (gone > 0) return { run: id, sampled: found.sampled, gone };
    if (found.asKnown + found.altered === found.known && found.notComparable === 0) return undefined;
  }
  return before.at(-1)?.foundGone;
}
