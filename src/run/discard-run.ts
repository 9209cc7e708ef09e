import type { Run } from '../model/run.ts';
import { UsageError } from '../model/storeferry-error.ts';
import { supersedeEmptied } from './import/continue-or-begin.ts';
import { lockJob } from './lock-job.ts';
import type { RunContext } from './run-context.ts';

/**
 * Ends a plan that waits for approval, so that nobody can send it: its status becomes `superseded`, and what only sending it would
 * need is removed. What was sent of it stays. UsageError for any other run, LockedError while a run of its job is at work.
 */
export async function discardRun(context: RunContext, { id, job }: Run): Promise<Run> {
  const { runs } = context.state;
  const known = await runs.get(id);
  if (known === undefined) throw new UsageError(`There is no run ${id}.`);
  await using _lock = await lockJob(context, known);
  // Read again: another process may have approved it before the lock was free.
  const run = (await runs.get(id)) ?? known;
  if (run.status !== 'planned' && run.status !== 'stopped') {
    throw new UsageError(
      `The run ${id} of ${job} is ${run.status}: only a plan that waits can be discarded.`,
      {
        hint:
          run.status === 'running'
            ? `To stop it: storeferry cancel ${id}`
            : `\`storeferry runs ${id}\` shows it.`,
      },
    );
  }
  await supersedeEmptied(context, run);
  return await runs.update(id, { discarded: true });
}
