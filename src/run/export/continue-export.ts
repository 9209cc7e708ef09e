import { type Run, UNFINISHED } from '../../model/run.ts';
import type { RunContext } from '../context.ts';
import { continueInstead, supersede } from '../unfinished-runs.ts';
import type { ExportRequest } from './export-request.ts';
import { finishExport } from './finish-export.ts';
import { hasKeptReading } from './kept-reading.ts';
import { writeStep } from './write-step.ts';

/** A reading this fresh is what a run that begins now would read: the run that took it is continued. */
const FRESH_MS = 15 * 60 * 1_000;

/**
 * The run to carry on with: one that has a fresh reading which it could not write, or died writing, is continued
 * instead of reading again; else the one just begun. Runs whose process died and that have nothing to continue are
 * superseded.
 */
export async function continueOrBeginExport(
  context: RunContext,
  request: ExportRequest,
  begun: Run,
): Promise<Run> {
  for (const run of await unfinishedBefore(context, begun)) {
    if (!(await hasKeptReading(context, request, run))) {
      if (run.status === 'running') await supersedeEmptied(context, run);
      continue;
    }
    const ageMs = context.clock() - (run.stagedAt ?? 0);
    // Below 0 the clock was put back: nobody knows how old it is.
    if (ageMs < 0 || ageMs >= FRESH_MS) continue;
    return await continueInstead(context, begun, run);
  }
  return begun;
}

/**
 * Writes the readings that runs before could not write, or died writing: oldest first, each under the moment it was
 * taken, none twice. What is in the way of them is in the way of this run's, which is kept like them then.
 */
export async function writeEarlierReadings(
  context: RunContext,
  request: ExportRequest,
  begun: Run,
): Promise<void> {
  for (const run of await unfinishedBefore(context, begun)) {
    if (!(await hasKeptReading(context, request, run))) continue;
    const own = { ...context, watch: { workedMs: () => run.workedMs ?? 0, end: async () => {} } };
    await finishExport(own, request, await writeStep(own, request, run), null);
  }
}

/** Runs of the job that have not ended well, oldest first. */
async function unfinishedBefore({ state }: RunContext, { id, job }: Run): Promise<Run[]> {
  const runs = await state.runs.list({ job, kinds: ['export'], statuses: UNFINISHED });
  return runs.filter((run) => run.id !== id).reverse();
}

async function supersedeEmptied(context: RunContext, run: Run): Promise<void> {
  await supersede(context, run);
  await context.artifacts.remove(run.id);
}
