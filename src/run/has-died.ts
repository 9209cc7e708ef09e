import type { Run } from '../model/run.ts';
import { jobLockName, planLockName } from '../state/state.ts';
import type { RunContext } from './context.ts';

/**
 * Whether a run counts as running though its process was killed before it could end it: nobody holds the lock it
 * would hold. A run holds its job's, under its own id or that of the run that found it to continue; a plan holds
 * that of planning.
 */
export async function hasDied({ state }: Pick<RunContext, 'state'>, run: Run): Promise<boolean> {
  if (run.status !== 'running') return false;
  const plan = run.kind === 'plan';
  const holder = await state.locks.holderOf(plan ? planLockName(run.job) : jobLockName(run.job));
  const held = holder === null || (plan ? holder?.run === run.id : holder !== undefined);
  // Asked last: it may have ended between the moment it was read and the moment its lock was free.
  return !held && (await state.runs.get(run.id))?.status === 'running';
}
