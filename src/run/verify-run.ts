import type { ImportJob } from '../config/job/import-job.ts';
import type { StoreConfig } from '../config/stores.ts';
import { InterruptedError, LockedError, StateError } from '../model/errors.ts';
import type { Run, RunStatus, RunTotals } from '../model/run.ts';
import type { Verification } from '../model/verification.ts';
import type { RunFacts } from '../report/run-facts.ts';
import { NO_TOTALS } from '../report/run-totals.ts';
import type { Lock } from '../state/state.ts';
import { begunRun } from './begun-run.ts';
import type { RunContext } from './context.ts';
import { pruneRuns } from './prune-runs.ts';
import { createReconciled } from './reconcile-state.ts';
import { readRunReport } from './report/run-report.ts';
import { recordingEnd, reportUnlessBug, runErrorOf } from './run-bug.ts';
import { lockJob, lockTarget, refuseUnlessHeld, targetOf } from './run-locks.ts';
import { resendSample } from './verify/resend-sample.ts';
import { type LedgerSample, sampleLedger } from './verify/sample-ledger.ts';
import { VerificationTally } from './verify/verification-tally.ts';
import { watchedRun, workedSoFar } from './watched-run.ts';

/** What a verification needs to know. */
export interface VerifyRequest {
  readonly job: ImportJob;
  readonly store: StoreConfig;
  /** The most records to send again. */
  readonly sample: number;
  /** In [0, 1), as Math.random. */
  readonly random: () => number;
}

const EMPTY: LedgerSample = { keys: [], known: 0, notComparable: 0 };

/**
 * Estimates how much of what the ledger holds the store has forgotten: sends a random sample of the acknowledged bodies
 * again, since the API has no product look-up, and compares the answers with the ledger. Holds the job and the store's
 * resource as a run does; outcomes and changed ids are recorded. Rejects with LockedError while the job is running, and
 * when its lock is lost; any other failure is in the report's status and error.
 */
export async function verifyRun(surroundings: RunContext, request: VerifyRequest): Promise<RunFacts> {
  const { job, store } = request;
  const run = begunRun(surroundings, store, {
    ...{ job: job.name, kind: 'verify', resource: job.import, step: 'apply' },
  });
  using watched = watchedRun(surroundings, run);
  const { context } = watched;
  await using held = await lockJob(context, run);
  const tally = new VerificationTally();
  let sample = EMPTY;
  let failure: unknown = null;
  try {
    // Before anything is sent: new groups would let the serial of an older state catch up with its witness.
    await createReconciled(context, run);
    context.onEvent({ type: 'begun', run, continued: false });

    await using lock = await lockTarget(context, run, job.import);
    sample = await drawSample(context, request, run);
    context.onEvent({ type: 'sampled', run, records: sample.keys.length, known: sample.known });

    await resendSample(context, { run, job, store, lock, keys: sample.keys, tally });
  } catch (error) {
    failure = error;
  }
  return await endVerification(context, { run, lock: held, found: tally.result(sample) }, failure);
}

async function drawSample(
  { state, signal }: RunContext,
  { job, sample: size, random }: VerifyRequest,
  run: Run,
): Promise<LedgerSample> {
  const ledger = state.ledger(targetOf(run, job.import));
  const sample = await sampleLedger(ledger, { job: job.name, resource: job.import, size, random, signal });
  if (sample.keys.length > 0) return sample;
  if (sample.notComparable > 0) {
    throw new StateError(
      `Nothing of the job ${job.name} can be verified: what it has sent is in doubt, or has no id.`,
      { hint: `The next run sends what is in doubt again: storeferry run ${job.name}` },
    );
  }
  throw new StateError(`The ledger holds nothing that the store acknowledged for the job ${job.name}.`, {
    hint: `There is nothing to verify before its first run: storeferry run ${job.name}`,
  });
}

interface Ending {
  readonly run: Run;
  readonly lock: Lock;
  readonly found: Verification;
}

async function endVerification(context: RunContext, ending: Ending, failure: unknown): Promise<RunFacts> {
  // Another process may be at work on the job: the run is not ours to end.
  if (failure instanceof LockedError) throw failure;
  refuseUnlessHeld(ending.lock);
  return await recordingEnd(failure, () => recordVerification(context, ending, failure));
}

async function recordVerification(
  context: RunContext,
  { run, found }: Ending,
  failure: unknown,
): Promise<RunFacts> {
  await context.watch?.end();
  const { requests } = await context.state.runs.tally(run.id);
  const status = statusOf(found, failure);
  const ended = await context.state.runs.update(run.id, {
    ...{ status, error: errorOf(context, run, found, failure), finishedAt: context.clock(), progress: null },
    ...workedSoFar(context),
    ...{ totals: totalsOf(found, requests), verification: found },
  });
  await pruneRuns(context.state, context.artifacts, ended.job);
  return reportUnlessBug(await readRunReport(context, ended, null), failure);
}

function statusOf({ unsent }: Verification, failure: unknown): RunStatus {
  if (failure instanceof InterruptedError) return 'interrupted';
  return failure !== null || unsent > 0 ? 'failed' : 'done';
}

function errorOf(context: RunContext, run: Run, { unsent }: Verification, failure: unknown): string | null {
  if (failure !== null) return runErrorOf(failure, run, context);
  return unsent > 0 ? `${unsent} operations did not get through to the store.` : null;
}

function totalsOf(
  { sampled, asKnown, recreated, altered, rejected, unsent }: Verification,
  requests: number,
): RunTotals {
  const applied = asKnown + recreated + altered;
  return { ...NO_TOTALS, records: sampled, operations: sampled, applied, rejected, unsent, requests };
}
