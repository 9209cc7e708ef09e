import { LockedError, StateError } from '../model/errors.ts';
import type { Resource } from '../model/record.ts';
import type { Run } from '../model/run.ts';
import { destinationLockName, jobLockName, planLockName, targetLockName } from '../state/lock-names.ts';
import type { LedgerTarget, Lock } from '../state/state.ts';
import type { RunContext } from './context.ts';
import { reconcileState } from './reconcile-state.ts';

/** Holds the job: a second run of the same job is refused, not queued, since it would do the same work again. */
export async function lockJob(context: RunContext, { job, id: run }: Run): Promise<Lock> {
  const lock = await context.state.locks.tryAcquire(jobLockName(job), { job, run });
  if ('heldBy' in lock) {
    const holder = lock.heldBy === null ? 'another process' : `run ${lock.heldBy.run}`;
    throw new LockedError(`The job ${job} is already running (${holder}).`, {
      hint: `Wait until it has finished; \`storeferry runs\` shows how far it is.${ifDied(context)}`,
    });
  }
  return lock;
}

/**
 * The context as long as the locks are held: whoever has lost one stops by its LockedError. What is written into a
 * run's folder after that would be written over what another process has written there.
 */
export function whileHeld(context: RunContext, ...locks: readonly Lock[]): RunContext {
  return { ...context, signal: AbortSignal.any([context.signal, ...locks.map(({ lost }) => lost)]) };
}

/**
 * Rejects with the LockedError of a lock that was lost: whoever has the job now has the run as well, and it is theirs
 * to end. A process that was stopped for longer than its lease would else write its own end over theirs.
 */
export function refuseUnlessHeld(lock: Lock): void {
  if (!lock.isHeld()) lock.lost.throwIfAborted();
}

/** Holds the planning of a job while nothing is sent: a second plan waits, and then takes the place of the first. */
export function lockPlan(context: RunContext, { job, id: run }: Run): Promise<Lock> {
  return context.state.locks.acquire(
    planLockName(job),
    { job, run },
    {
      signal: context.signal,
      onWait: (heldBy) => context.onEvent({ type: 'waiting', heldBy, needs: 'plan' }),
    },
  );
}

/** A shared lock cannot tell a dead process from a silent one before its lease is over. */
function ifDied({ state }: RunContext): string {
  const { leaseMs } = state.locks;
  if (leaseMs === undefined) return '';
  return ` If its process has died, the job is free in at most ${Math.ceil(leaseMs / 1_000)} s.`;
}

/** What a run writes: its store as it was when the run began, and the resource of its job. */
export function targetOf({ storeId }: Run, resource: Resource): LedgerTarget {
  return { storeId, resource };
}

/**
 * Holds the store's resource: runs of other jobs on the same one wait, so that two never write at once. `together`:
 * all workers of the run hold it. StateError when the state has lost something while this run waited.
 */
export async function lockTarget(
  context: RunContext,
  run: Run,
  resource: Resource,
  { together } = { together: false },
): Promise<Lock> {
  const lock = await context.state.locks.acquire(
    targetLockName(targetOf(run, resource)),
    { job: run.job, run: run.id },
    {
      together,
      signal: context.signal,
      onWait: (heldBy) => context.onEvent({ type: 'waiting', heldBy, needs: 'store' }),
    },
  );
  try {
    await refuseLoss(context, run);
    return lock;
  } catch (error) {
    await lock[Symbol.asyncDispose]();
    throw error;
  }
}

/** The state was compared when the run began; what it has lost since, the run knows nothing of. */
async function refuseLoss(context: RunContext, run: Run): Promise<void> {
  if ((await reconcileState(context, run)) === null) return;
  throw new StateError('The state has lost something since this run began: nothing is sent.', {
    hint: 'Run the job again: it sends everything that may be affected.',
  });
}

/** Holds what an export writes: runs of other jobs that name the same file wait. */
export function lockDestination(context: RunContext, run: Run, location: string): Promise<Lock> {
  return context.state.locks.acquire(
    destinationLockName(location),
    { job: run.job, run: run.id },
    {
      signal: context.signal,
      onWait: (heldBy) => context.onEvent({ type: 'waiting', heldBy, needs: 'destination' }),
    },
  );
}
