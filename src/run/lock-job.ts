import { KINDS_BUT_PLAN, type Run } from '../model/run.ts';
import { LockedError, StateError, UsageError } from '../model/storeferry-error.ts';
import {
  destinationLockName,
  importTarget,
  jobLockName,
  type Lock,
  type LockHolder,
  planLockName,
  targetLockName,
} from '../state/state.ts';
import { reconcileState } from './reconcile-state.ts';
import type { RunContext, RunEvent } from './run-context.ts';

/** Locks the job: a second run of the same job is refused, not queued, since it would do the same work again. */
export async function lockJob(context: RunContext, { job, id: run }: Run): Promise<Lock> {
  const lock = await context.state.locks.tryAcquire(jobLockName(job), { job, run });
  if ('heldBy' in lock) {
    const [holder, shown] =
      lock.heldBy === null
        ? ['another process', 'storeferry runs']
        : [`run ${lock.heldBy.run}`, `storeferry runs ${lock.heldBy.run}`];
    throw new LockedError(`The job ${job} is already running (${holder}).`, {
      hint: `Wait until it has finished; \`${shown}\` shows its progress.${ifDied(context)}`,
    });
  }
  return lock;
}

/**
 * The context with a signal that aborts with the LockedError of a lost lock: after that, a write into the folder of the run
 * would overwrite what another process has written there.
 */
export function whileHeld(context: RunContext, ...locks: readonly Lock[]): RunContext {
  return { ...context, signal: AbortSignal.any([context.signal, ...locks.map(({ lost }) => lost)]) };
}

/**
 * Throws the LockedError of a lost lock: the process that has the job now has the run as well, and ends it. A process that
 * was stopped for longer than its lease must not overwrite that end with its own.
 */
export function refuseUnlessHeld(lock: Lock): void {
  if (!lock.isHeld()) lock.lost.throwIfAborted();
}

/** Locks the planning of a job while nothing is sent: a second plan waits, and then replaces the first. */
export function lockPlan(context: RunContext, run: Run): Promise<Lock> {
  return waitFor(context, run, planLockName(run.job), 'plan');
}

/** Until its lease is over, a shared lock of a dead process looks like that of a silent one. */
function ifDied({ state }: RunContext): string {
  const { leaseMs } = state.locks;
  if (leaseMs === undefined) return '';
  return ` If its process has died, the job is free in at most ${Math.ceil(leaseMs / 1_000)} s.`;
}

/**
 * Locks the store's resource: runs of other jobs on the same one wait, so that two never write at once. `together`:
 * all workers of the run hold it. StateError when the state has lost something while this run waited.
 */
export async function lockTarget(
  context: RunContext,
  run: Run,
  { together } = { together: false },
): Promise<Lock> {
  const lock = await waitFor(context, run, targetLockName(importTarget(run)), 'store', together);
  try {
    await refuseLoss(context, run);
    return lock;
  } catch (error) {
    await lock[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * The state was compared when the run began; the run knows nothing of a loss since. Others may have sent meanwhile from machines that
 * share no artifacts with this one: a state without a witness is no loss.
 */
async function refuseLoss(context: RunContext, run: Run): Promise<void> {
  if ((await reconcileState(context, run, 'witnessed-only')) === null) return;
  throw new StateError('The state has lost data since this run began: nothing is sent.', {
    hint: 'Run the job again: it sends everything that may be affected.',
  });
}

/** Locks what an export writes: runs of other jobs with the same destination wait. */
export function lockDestination(context: RunContext, run: Run, location: string): Promise<Lock> {
  return waitFor(context, run, destinationLockName(location), 'destination');
}

/** Waits for a lock, and reports when another run holds it. */
function waitFor(
  { state, signal, onEvent }: RunContext,
  { job, id: run }: Run,
  name: string,
  needs: Extract<RunEvent, { type: 'waiting' }>['needs'],
  together = false,
): Promise<Lock> {
  const onWait = (heldBy: LockHolder | null): void => onEvent({ type: 'waiting', heldBy, needs });
  return state.locks.acquire(name, { job, run }, { together, signal, onWait });
}

/** The run as people should see it: one whose process died counts as interrupted, since the next run continues it. */
export async function asItStands(context: Pick<RunContext, 'state'>, run: Run): Promise<Run> {
  if (!(await hasDied(context, run))) return run;
  const error = `Its process died at the step ${run.step}, without recording its end (killed, out of memory, or power failure).`;
  return { ...run, status: 'interrupted', error };
}

/**
 * Whether a run counts as running though its process was killed before it could end it: no process holds the lock it
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
 * no process works on it.
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
