import type { RunFacts } from '../report/run-facts.ts';
import type { RunContext } from './context.ts';
import { continueOrBeginExport, writeEarlierReadings } from './export/continue-export.ts';
import type { ExportRequest } from './export/export-request.ts';
import { finishExport } from './export/finish-export.ts';
import { newExportRun } from './export/new-export-run.ts';
import { readStep } from './export/read-step.ts';
import { writeStep } from './export/write-step.ts';
import { lockJob, refuseUnlessHeld, whileHeld } from './run-locks.ts';
import { watchedRun } from './watched-run.ts';

/**
 * Runs an export job: read, write, finish. Rejects with LockedError while the job is running elsewhere, and when its
 * lock is lost; any other failure is told by the report's status and error, and leaves the destination as it was.
 */
export async function exportRun(surroundings: RunContext, request: ExportRequest): Promise<RunFacts> {
  const begun = newExportRun(surroundings, request);
  using watched = watchedRun(surroundings, begun);
  const { context } = watched;
  let run = begun;
  await using lock = await lockJob(context, run);
  const held = whileHeld(context, lock);
  let failure: unknown = null;
  try {
    await context.state.runs.create(run);
    run = await continueOrBeginExport(held, request, run);
    watched.follow(run);
    context.onEvent({ type: 'begun', run, continued: run.id !== begun.id });

    run = await readStep(held, request, run);
    await writeEarlierReadings(held, request, run);
    run = await writeStep(held, request, run);
  } catch (error) {
    failure = error;
  }
  refuseUnlessHeld(lock);
  return await finishExport(context, request, run, failure);
}
