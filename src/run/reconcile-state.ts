import type { Run, StateLoss } from '../model/run.ts';
import { importTarget } from '../state/import-target.ts';
import type { RunContext } from './context.ts';

/**
 * Looks whether the state still holds all that was sent to the run's target. Where it does not, everything that may be
 * affected is in doubt from now on, and the loss is given; else null.
 */
export async function reconcileState({ state, onEvent }: RunContext, run: Run): Promise<StateLoss | null> {
  const loss = await state.ledger(importTarget(run)).reconcile();
  if (loss !== null) onEvent({ type: 'state-loss', loss });
  return loss;
}

/**
 * Creates a run that is about to begin, with what the state is found to have lost. The state is compared first: a loss
 * concerns the runs that were created before it was found, and not this one.
 */
export async function createReconciled(context: RunContext, begun: Run): Promise<Run> {
  const loss = await reconcileState(context, begun);
  const run = loss === null ? begun : { ...begun, stateLoss: loss };
  await context.state.runs.create(run);
  return run;
}
