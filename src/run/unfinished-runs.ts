import type { Run } from '../model/run.ts';
import type { RunContext } from './context.ts';

/** Continues an unfinished run in the place of the one just begun, of which nothing is left. */
export async function continueInstead(context: RunContext, begun: Run, unfinished: Run): Promise<Run> {
  await context.artifacts.remove(begun.id);
  await context.state.runs.remove(begun.id);
  return await context.state.runs.update(unfinished.id, { status: 'running', error: null, finishedAt: null });
}

/** Ends a run that nothing continues any more; its files stay. */
export async function supersede(context: RunContext, run: Run): Promise<void> {
  await context.state.runs.update(run.id, {
    status: 'superseded',
    finishedAt: run.finishedAt ?? context.clock(),
  });
}
