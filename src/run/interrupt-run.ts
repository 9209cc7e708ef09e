import { UsageError } from '../model/errors.ts';
import type { Run } from '../model/run.ts';
import type { RunContext } from './context.ts';
import { hasDied } from './has-died.ts';

/**
 * Asks for the end of a run, whichever process is at work on it: within about a second it sends nothing new, lets
 * requests under way end, and is `interrupted`, as by SIGINT; the next run of the job continues it. UsageError when
 * nobody is at work on it.
 */
export async function askToInterrupt(context: Pick<RunContext, 'state' | 'clock'>, id: string): Promise<Run> {
  const { runs } = context.state;
  const run = await runs.get(id);
  if (run === undefined) {
    throw new UsageError(`There is no run ${id}.`, { hint: '`storeferry runs` lists the latest.' });
  }
  if (run.status !== 'running') {
    throw new UsageError(`The run ${id} is ${run.status}: only a running run can be interrupted.`);
  }
  if (await hasDied(context, run)) {
    throw new UsageError(`The process of run ${id} has died: there is nothing to interrupt.`, {
      hint: `To continue where it stopped: storeferry run ${run.job}`,
    });
  }
  return await runs.update(id, { interruptAskedAt: context.clock() });
}
