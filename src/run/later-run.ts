import { KINDS_BUT_PLAN, type Run } from '../model/run.ts';
import type { RunContext } from './context.ts';

/**
 * The latest run of the same job that has begun since and may have changed something: what was planned before then speaks of
 * a store that is no more. Undefined when there is none; plans, runs whose source could not be read, and retries of which the
 * store has taken nothing do not count.
 */
export async function laterRun(
  { state }: Pick<RunContext, 'state'>,
  { job, sequence }: Run,
): Promise<Run | undefined> {
  const runs = await state.runs.list({ job, kinds: KINDS_BUT_PLAN });
  return runs.find((run) => run.sequence > sequence && run.digest !== null && !isIdleRetry(run));
}

/** A retry that is over, and has left the store as it was. */
function isIdleRetry({ kind, status, totals }: Run): boolean {
  return kind === 'retry' && status !== 'running' && totals !== null && totals.applied + totals.unsent === 0;
}
