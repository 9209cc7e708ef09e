import type { Run } from '../model/run.ts';
import type { RunContext } from './context.ts';
import { hasDied } from './has-died.ts';

/** The run as people should see it: one whose process died counts as interrupted, since the next run continues it. */
export async function asItStands(context: Pick<RunContext, 'state'>, run: Run): Promise<Run> {
  if (!(await hasDied(context, run))) return run;
  const error = `Its process died at the step ${run.step}, before it could say so (killed, out of memory, no power).`;
  return { ...run, status: 'interrupted', error };
}
