import type { Run } from '../model/run.ts';
import type { RunContext } from './context.ts';

/** Continues an unfinished run in the place of the one just begun, of which nothing is left. */
export async function continueInstead(context: RunContext, begun: Run, unfinished: Run): Promise<Run> {
  const { runs } = context.state;
  // Whoever has asked for the end of the one just begun means its work.
  const interruptAskedAt = (await runs.get(begun.id))?.interruptAskedAt ?? null;
  await context.artifacts.remove(begun.id);
  await runs.remove(begun.id);
  return await runs.update(unfinished.id, {
    ...{ status: 'running', error: null, finishedAt: null, progress: null },
    interruptAskedAt,
  });
}

/** Ends a run that nothing continues any more; its files stay. */
export async function supersede(context: RunContext, run: Run): Promise<void> {
  await context.state.runs.update(run.id, {
    status: 'superseded',
    finishedAt: run.finishedAt ?? context.clock(),
  });
}
