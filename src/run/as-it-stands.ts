import { UsageError } from '../model/errors.ts';
import { KINDS_BUT_PLAN, type Run } from '../model/run.ts';
import { jobLockName, planLockName } from '../state/state.ts';
import type { RunContext } from './run-context.ts';

/** The run as people should see it: one whose process died counts as interrupted, since the next run continues it. */
export async function asItStands(context: Pick<RunContext, 'state'>, run: Run): Promise<Run> {
  if (!(await hasDied(context, run))) return run;
  const error = `Its process died at the step ${run.step}, before it could say so (killed, out of memory, no power).`;
  return { ...run, status: 'interrupted', error };
}

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
