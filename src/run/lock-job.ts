import { COMPLETED, type FoundGone, forgotten, type Run, type StateLoss } from '../model/run.ts';
import { LockedError, StateError } from '../model/storeferry-error.ts';
import {
  destinationLockName,
  importTarget,
  jobLockName,
  type Lock,
  type LockHolder,
  planLockName,
  targetLockName,
} from '../state/state.ts';
import type { RunContext, RunEvent } from './run-context.ts';

/**
 * Locks the job. A second run of the same job is refused instead of queued, because it would do the same work again.
 */
export async function lockJob(context: RunContext, { job, id: run }: Pick<Run, 'job' | 'id'>): Promise<Lock> {
  const lock = await context.state.locks.tryAcquire(jobLockName(job), { job, run });
  if ('heldBy' in lock) {
    const holding = lock.heldBy === null ? undefined : await runAtWork(context, lock.heldBy);
    const [holder, shown] =
      holding === undefined
        ? ['another process', 'storeferry runs']
        : [`run ${holding.id}`, `storeferry runs ${holding.id}`];
    throw new LockedError(`The job ${job} is already running (${holder}).`, {
      hint: `Wait until it has finished; \`${shown}\` shows its progress.${ifDied(context)}`,
    });
  }
  return lock;
}

/** A run that continues another one was removed for it: then the one that is running. */
async function runAtWork(
  { state: { runs } }: RunContext,
  { job, run }: LockHolder,
): Promise<Run | undefined> {
  const begun = await runs.get(run);
  if (begun !== undefined) return begun;
  const [continued] = await runs.list({ job, statuses: ['running'], limit: 1 });
  return continued;
}

/**
 * The context with a signal that aborts with the LockedError of a lost lock. After that, writing into the folder of
 * the run would overwrite files of another process.
 */
export function whileHeld(context: RunContext, ...locks: readonly Lock[]): RunContext {
  return { ...context, signal: AbortSignal.any([context.signal, ...locks.map(({ lost }) => lost)]) };
}

/**
 * Throws the LockedError of a lost lock: another process now has the job and the run, and will end it. A process that
 * was stopped for longer than its lease must not overwrite that end.
 */
export function refuseUnlessHeld(lock: Lock): void {
  if (!lock.isHeld()) lock.lost.throwIfAborted();
}

/** Locks the planning of a job while nothing is sent: a second plan waits and then replaces the first. */
export function lockPlan(context: RunContext, run: Run): Promise<Lock> {
  return waitFor(context, run, planLockName(run.job), 'plan');
}

/** Until its lease expires, a shared lock of a dead process cannot be distinguished from the lock of a silent one. */
function ifDied({ state }: RunContext) {
  const { leaseMs } = state.locks;
  if (leaseMs === undefined) return '';
  return ` If its process has died, the job is free in at most ${Math.ceil(leaseMs / 1_000)} s.`;
}

/**
 * Locks the resource of the store. Runs of other jobs with the same resource wait, so that two never write at the
 * same time. `together`: all workers of the run share the lock. StateError if the state has lost data while this run
 * waited.
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
    // Workers may be sending for a run that is continued.
    await (together ? lock.leave() : lock.release());
    throw error;
  }
}

/**
 * The state was compared when the run began, so the run does not know of a later loss. Other machines that share no
 * artifacts with this one may have sent meanwhile, so a state without a witness is not a loss.
 */
async function refuseLoss(context: RunContext, run: Run) {
  if ((await reconcileState(context, run, 'witnessed-only')) === null) return;
  throw new StateError('The state has lost data since this run began: nothing is sent.', {
    hint: 'Run the job again: it sends everything that may be affected.',
  });
}

/** Locks the destination of an export: runs of other jobs with the same destination wait. */
export function lockDestination(context: RunContext, run: Run, lockedAs: string): Promise<Lock> {
  return waitFor(context, run, destinationLockName(lockedAs), 'destination');
}

/** Waits for a lock, and reports if another run holds it. */
function waitFor(
  { state, signal, onEvent }: RunContext,
  { job, id: run }: Run,
  name: string,
  needs: Extract<RunEvent, { type: 'waiting' }>['needs'],
  together = false,
) {
  const onWait = (heldBy: LockHolder | null) => onEvent({ type: 'waiting', heldBy, needs });
  return state.locks.acquire(name, { job, run }, { together, signal, onWait });
}

/** An older loss has already been reported. */
const RUNS_SEARCHED = 50;

/**
 * Checks whether the state still has everything that was sent to the run's target. If not, everything that may be
 * affected is put in doubt, and the loss is returned; otherwise null.
 */
export async function reconcileState(
  { state, onEvent }: RunContext,
  run: Run,
  mode?: 'witnessed-only',
): Promise<StateLoss | null> {
  const loss = await state.ledger(importTarget(run)).reconcile(mode);
  if (loss !== null) onEvent({ type: 'state-loss', loss });
  return loss;
}

/**
 * Creates a run that is about to begin. It records the loss of the state and the lost records that a verification
 * found, if any. The state is compared first: a loss concerns earlier runs, not this one.
 */
export async function createReconciledRun(context: RunContext, begun: Run): Promise<Run> {
  const loss = (await reconcileState(context, begun)) ?? (await lossToSay(context, begun));
  const foundGone = await goneBefore(context, begun);
  const run = {
    ...begun,
    ...(loss !== null && { stateLoss: loss }),
    ...(foundGone !== undefined && { foundGone }),
  };
  await context.state.runs.create(run);
  return run;
}

/**
 * A loss that another run, plan or verification found before this job sent anything since: the run that sends
 * everything again reports the cause.
 */
async function lossToSay({ state, onEvent }: RunContext, begun: Run) {
  const isOfTarget = ({ storeId, resource }: Run) => storeId === begun.storeId && resource === begun.resource;
  const found = (await state.runs.list({ limit: RUNS_SEARCHED })).find(
    (run) => run.stateLoss !== undefined && isOfTarget(run),
  );
  if (found?.stateLoss === undefined) return null;
  const [sent] = await state.runs.list({ job: begun.job, kinds: ['run'], limit: 1 });
  if (sent !== undefined && sent.sequence >= found.sequence) return null;
  onEvent({ type: 'state-loss', loss: found.stateLoss });
  return found.stateLoss;
}

/**
 * The lost records that a verification of the job found, until everything was sent again or a verification of all
 * records found none. Each run keeps this, because the verification itself may be removed.
 */
async function goneBefore({ state }: RunContext, { job }: Run): Promise<FoundGone | undefined> {
  const before = await state.runs.list({ job });
  for (const { id, resend, status, verification: found } of before) {
    if (resend && COMPLETED.includes(status)) return undefined;
    if (found === undefined) continue;
    const gone = forgotten(found);
    if (gone > 0) return { run: id, sampled: found.sampled, gone };
    if (found.asKnown + found.altered === found.known && found.notComparable === 0) return undefined;
  }
  return before.at(-1)?.foundGone;
}
