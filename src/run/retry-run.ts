import { LEGACY_ENCODINGS } from '../csv/encodings.ts';
import { formatRow } from '../csv/format-row.ts';
import { readCsv } from '../csv/read-csv.ts';
import { UsageError } from '../model/errors.ts';
import type { Plan } from '../model/plan.ts';
import type { Run } from '../model/run.ts';
import type { RejectsEdits } from '../report/rejects/compare-rejects.ts';
import { readCorrectedRejects } from '../report/rejects/corrected-rejects.ts';
import { REJECTS_FILE, readRejectsIndex, UNTOUCHED_FILE } from '../report/rejects/rejects-index.ts';
import { stageContents } from '../source/stage-contents.ts';
import type { RunContext } from './context.ts';
import type { DeliverShards } from './delivery.ts';
import { applyStep } from './import/apply-step.ts';
import { continueOrBegin } from './import/continue-run.ts';
import { finishStep } from './import/finish-step.ts';
import type { ImportRequest } from './import/import-request.ts';
import { newRun } from './import/new-run.ts';
import { planStep } from './import/plan-step.ts';
import { type Stage, stageStep } from './import/stage-step.ts';
import { lockJob, lockTarget, whileHeld } from './run-locks.ts';
import type { RunReport } from './run-report.ts';
import { watchedRun } from './watched-run.ts';

/**
 * Sends the rejects file of a job's latest run as it was corrected, through the mapping as it is now: a run of its
 * own, without deletes and safety limits. `onEdits` is told what was corrected before anything is sent. Rejects with
 * UsageError when the run is not the latest or has no rejects.
 */
export async function retryRun(
  surroundings: RunContext,
  request: ImportRequest,
  rejected: Run,
  deliver: DeliverShards,
  onEdits: (edits: RejectsEdits) => void,
): Promise<RunReport> {
  const begun = newRun(surroundings, request, 'retry', rejected.id);
  using watched = watchedRun(surroundings, begun.id);
  const { context } = watched;
  let run = begun;
  await using job = await lockJob(context, run);
  await refuseUnlessLatest(context, rejected);
  let plan: Plan | null = null;
  let failure: unknown = null;
  try {
    await context.state.runs.create(run);
    run = await stageStep(context, request, run, stageCorrected(rejected, onEdits));
    run = await continueOrBegin(context, run);
    watched.follow(run.id);
    context.onEvent({ type: 'begun', run, continued: run.id !== begun.id });

    await using lock = await lockTarget(context, run, request.job.import);
    plan = await planStep(whileHeld(context, job, lock), request, run);
    await applyStep(context, { run, plan, job: request.job, store: request.store, lock }, deliver);
  } catch (error) {
    failure = error;
  }
  return await finishStep(context, request, run, plan, failure);
}

const LOOK_BACK = 50;

async function refuseUnlessLatest(context: RunContext, rejected: Run): Promise<void> {
  if (rejected.kind === 'plan') {
    throw new UsageError(`${rejected.id} is a plan: nothing of it was sent, so there is nothing to retry.`, {
      hint: `Run the job, then correct the rejects of that run: storeferry run ${rejected.job}`,
    });
  }
  const runs = await context.state.runs.list({ job: rejected.job, limit: LOOK_BACK });
  const latest = runs.find(
    ({ id, kind, digest, status, retryOf }) =>
      kind !== 'plan' &&
      digest !== null &&
      (id === rejected.id ||
        !(
          kind === 'retry' &&
          retryOf === rejected.id &&
          status !== 'done' &&
          status !== 'done-with-rejects'
        )),
  );
  if (latest !== undefined && latest.id !== rejected.id) {
    throw new UsageError(
      `The run ${rejected.id} is not the latest of ${rejected.job}: that is ${latest.id}.`,
      {
        hint: `Correct the rejects of the latest run: storeferry runs ${latest.id}`,
      },
    );
  }
  if (!(await context.artifacts.run(rejected.id).exists(REJECTS_FILE))) {
    throw new UsageError(`The run ${rejected.id} has no rejects file.`, {
      hint: `storeferry runs ${rejected.id} shows what became of it.`,
    });
  }
}

function stageCorrected(rejected: Run, onEdits: (edits: RejectsEdits) => void): Stage {
  return async (context, _request, folder) => {
    const from = context.artifacts.run(rejected.id);
    const corrected = await readCorrectedRejects({
      name: `${from.location}/${REJECTS_FILE}`,
      corrected: () => from.read(REJECTS_FILE),
      untouched: () => from.read(UNTOUCHED_FILE),
      index: await readRejectsIndex(from),
      csv: { open: readCsv, formatRow, encodings: LEGACY_ENCODINGS },
    });
    onEdits(corrected.edits);
    return await stageContents(corrected.files, corrected.readAs, folder);
  };
}
