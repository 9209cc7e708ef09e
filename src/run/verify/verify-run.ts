import { InterruptedError, StateError } from '../../model/errors.ts';
import type { Run, RunStatus, RunTotals, Verification } from '../../model/run.ts';
import type { RunFacts } from '../../report/run-facts.ts';
import { NO_TOTALS } from '../../report/run-facts.ts';
import { importTarget } from '../../state/state.ts';
import { unsentError } from '../import/finish-step.ts';
import { lockJob, lockTarget } from '../lock-job.ts';
import { pruneRuns } from '../prune-runs.ts';
import { createReconciled } from '../reconcile-state.ts';
import { readRunReport } from '../report/read-stored-report.ts';
import { type RunContext, runErrorOf, type VerifyRequest } from '../run-context.ts';
import { newRun, runPipeline } from '../run-pipeline.ts';
import { workedSoFar } from '../watched-run.ts';
import { resendSample } from './resend-sample.ts';
import { type LedgerSample, sampleLedger } from './sample-ledger.ts';
import { VerificationTally } from './verification-tally.ts';

const EMPTY: LedgerSample = { keys: [], known: 0, notComparable: 0 };

/**
 * Estimates how much of what the ledger holds the store has forgotten: sends a random sample of the acknowledged bodies
 * again, since the API has no product look-up, and compares the answers with the ledger. Holds the job and the store's
 * resource as a run does; outcomes and changed ids are recorded. Rejects as `runPipeline`.
 */
export async function verifyRun(surroundings: RunContext, request: VerifyRequest): Promise<RunFacts> {
  const { job, store } = request;
  const tally = new VerificationTally();
  let sample = EMPTY;
  return await runPipeline(surroundings, {
    run: newRun(surroundings, store, {
      ...{ job: job.name, kind: 'verify', resource: job.import, step: 'apply' },
    }),
    lock: lockJob,
    async steps(work) {
      const { context } = work;
      // Before anything is sent: new groups would let the serial of an older state catch up with its witness.
      work.begin(await createReconciled(context, work.run));
      const { run } = work;
      await using lock = await lockTarget(context, run);
      sample = await drawSample(context, request, run);
      context.onEvent({ type: 'sampled', run, records: sample.keys.length, known: sample.known });
      await resendSample(context, { run, job, store, lock, keys: sample.keys, tally });
    },
    finish: ({ context, run }, failure) => recordVerification(context, run, tally.result(sample), failure),
  });
}

async function drawSample(
  { state, signal }: RunContext,
  { job, sample: size, random }: VerifyRequest,
  run: Run,
): Promise<LedgerSample> {
  const ledger = state.ledger(importTarget(run));
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

async function recordVerification(
  context: RunContext,
  run: Run,
  found: Verification,
  failure: unknown,
): Promise<RunFacts> {
  const { requests } = await context.state.runs.tally(run.id);
  const ended = await context.state.runs.update(run.id, {
    status: statusOf(found, failure),
    error: errorOf(context, run, found, failure),
    finishedAt: context.clock(),
    progress: null,
    ...workedSoFar(context),
    totals: totalsOf(found, requests),
    verification: found,
  });
  await pruneRuns(context.state, context.artifacts, ended.job);
  return await readRunReport(context, ended, null);
}

function statusOf({ unsent }: Verification, failure: unknown): RunStatus {
  if (failure instanceof InterruptedError) return 'interrupted';
  return failure !== null || unsent > 0 ? 'failed' : 'done';
}

function errorOf(context: RunContext, run: Run, { unsent }: Verification, failure: unknown): string | null {
  if (failure !== null) return runErrorOf(failure, run, context);
  return unsent > 0 ? unsentError(unsent) : null;
}

function totalsOf(
  { sampled, asKnown, recreated, altered, rejected, unsent }: Verification,
  requests: number,
): RunTotals {
  const applied = asKnown + recreated + altered;
  return { ...NO_TOTALS, records: sampled, operations: sampled, applied, rejected, unsent, requests };
}
