import { InterruptedError, LockedError, SafetyLimitError } from '../../model/errors.ts';
import type { Plan } from '../../model/plan.ts';
import type { Run, RunStatus } from '../../model/run.ts';
import { judgeRejectsWhileApplying } from '../../plan/safety-limits.ts';
import type { RunFacts } from '../../report/run-facts.ts';
import type { Lock } from '../../state/state.ts';
import type { RunContext } from '../context.ts';
import { pruneRuns } from '../prune-runs.ts';
import { keepReport } from '../report/kept-report.ts';
import { readRunReport, rejectsFileOf } from '../report/run-report.ts';
import { writeReport } from '../report/write-report.ts';
import { recordingEnd, reportUnlessBug, runErrorOf } from '../run-bug.ts';
import { refuseUnlessHeld } from '../run-locks.ts';
import { trafficFiles } from '../traffic/traffic-file.ts';
import { workedSoFar } from '../watched-run.ts';
import { discardPlan } from './continue-run.ts';
import type { ImportRequest } from './import-request.ts';
import { writeRunRejects } from './write-rejects.ts';

/** Finished for good: nothing of it is continued, so nothing but summary and rejects is kept. */
function isClosed(status: RunStatus): boolean {
  return status === 'done' || status === 'done-with-rejects' || status === 'superseded';
}

function statusOf(
  { run, plan, totals, unsentDeletes, refusedDeletes }: RunFacts,
  failure: unknown,
): RunStatus {
  if (failure instanceof InterruptedError) return 'interrupted';
  if (failure instanceof SafetyLimitError) return 'stopped';
  if (failure === null && run.unchangedSince !== undefined) return 'done';
  if (failure !== null || plan === null) return 'failed';
  if (run.kind === 'plan') return 'planned';
  if (totals.unsent + unsentDeletes > 0) return 'failed';
  return totals.rejected + refusedDeletes > 0 ? 'done-with-rejects' : 'done';
}

function unsentError(unsent: number, status: RunStatus): string | null {
  return status === 'failed' ? `${unsent} operations did not get through to the store.` : null;
}

/** A run that is about to end, and the lock that makes its end ours to write. */
interface Ending {
  readonly run: Run;
  /** Null when it never got so far. */
  readonly plan: Plan | null;
  readonly lock: Lock;
}

/**
 * Ends the run: totals, rejects file, report, status; removes what only an unfinished run needs. May be repeated: a process
 * that dies here leaves the run running, and the next one comes here again without sending anything. Rejects with
 * LockedError when the lock was lost; with RunBug, when all is written down, if what ended the run is no StoreferryError.
 */
export async function finishStep(
  context: RunContext,
  request: ImportRequest,
  ending: Ending,
  failure: unknown,
): Promise<RunFacts> {
  // Another process may be at work on the run: it is theirs to end.
  if (failure instanceof LockedError) throw failure;
  refuseUnlessHeld(ending.lock);
  return await recordingEnd(failure, () => endRun(context, request, ending, failure));
}

/**
 * A limit that was exceeded while sending was judged by the figure of that moment: requests under way have ended since, and
 * the message is to name what the summary counts.
 */
function withFinalFigure(failure: unknown, { job }: ImportRequest, { run, plan, totals }: RunFacts): unknown {
  if (!(failure instanceof SafetyLimitError) || plan === null || totals.requests === 0) return failure;
  const figures = { resource: plan.resource, rejected: totals.rejected, records: plan.counts.records };
  const verdict = judgeRejectsWhileApplying(job.safety, figures, run.id);
  return verdict === null ? failure : new SafetyLimitError(verdict.message, { cause: failure });
}

async function endRun(
  context: RunContext,
  request: ImportRequest,
  { run, plan, lock }: Ending,
  failure: unknown,
): Promise<RunFacts> {
  await context.watch?.end();
  const ending = await context.state.runs.update(run.id, { step: 'finish', progress: null });
  const before = await readRunReport(context, ending, plan);
  const folder = context.artifacts.run(run.id);
  const { rejected } = before.totals;
  const unsent = before.totals.unsent + before.unsentDeletes;
  const status = statusOf(before, failure);
  if (plan !== null && rejected > 0 && status !== 'interrupted') await writeRunRejects(context, request, run);
  const error =
    failure === null
      ? unsentError(unsent, status)
      : runErrorOf(withFinalFigure(failure, request, before), run, context);
  const end = {
    ...{ status, error },
    ...{ finishedAt: context.clock(), totals: before.totals },
    ...workedSoFar(context),
  };
  const collected = {
    ...before,
    run: { ...ending, ...end },
    rejectsFile: await rejectsFileOf(context, ending),
  };
  // Before the status: whoever sees the end finds its report.
  const reportFile = await writeReport(context, collected, request);
  const kept = collected.traffic !== null && (await keepReport(folder, end.finishedAt, collected));
  refuseUnlessHeld(lock);
  const ended = await context.state.runs.update(run.id, end);
  if (isClosed(status)) {
    await discardPlan(context, ended);
    if (kept) await folder.remove(await trafficFiles(folder));
  }
  await pruneRuns(context.state, context.artifacts, ended.job);
  return reportUnlessBug({ ...collected, run: ended, reportFile }, failure);
}
