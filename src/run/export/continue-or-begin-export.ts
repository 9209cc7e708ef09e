import { hasWholeReading } from '../../export/reading/save-reading.ts';
import { type Run, UNFINISHED } from '../../model/run.ts';
import { digestOf } from '../digest-of.ts';
import type { ExportRequest, RunContext } from '../run-context.ts';
import { continueInstead, supersede } from '../run-pipeline.ts';

/** So many runs may wait to be written: eight days of readings, one an hour. */
export const MOST_KEPT_READINGS = 200;
/** A reading this fresh is what a run that begins now would read: the run that took it is continued. */
const FRESH_MS = 15 * 60 * 1_000;

/** Of what decides where readings go: an unfinished run of the same digest wrote to the same place. */
export function exportDigest({ job, store }: ExportRequest): string {
  const { remote, ...rest } = job.destination;
  // A new password leads to the same place: what could not be written with the old one must not be lost for that.
  const place = remote === undefined ? null : [remote.location, remote.endpoint ?? null];
  return digestOf([job.export, store.baseUrl, { ...rest, place }]);
}

/** Whether what a run has read is kept when it could not be written: only a history cannot be read again. */
export function keepsReading({ job }: ExportRequest): boolean {
  return job.export === 'subscriber-lists' && job.destination.mode === 'append';
}

/** Whether the run has not ended well and has a whole reading that is yet to be written to where the job writes. */
export async function hasKeptReading(
  { artifacts }: Pick<RunContext, 'artifacts'>,
  request: ExportRequest,
  run: Run,
): Promise<boolean> {
  if (run.kind !== 'export' || !UNFINISHED.includes(run.status) || run.stagedAt === null) return false;
  if (!keepsReading(request) || run.digest !== exportDigest(request)) return false;
  return await hasWholeReading(artifacts.run(run.id));
}

/** Runs of the job that have not ended well, oldest first. */
export async function unfinishedBefore({ state }: RunContext, { id, job }: Run): Promise<Run[]> {
  const runs = await state.runs.list({ job, kinds: ['export'], statuses: UNFINISHED });
  return runs.filter((run) => run.id !== id).reverse();
}

/**
 * The run that goes on: one that has a fresh reading which it could not write, or died writing, is continued
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
    // Below 0 the clock was set back: the age is unknown.
    if (ageMs < 0 || ageMs >= FRESH_MS) continue;
    return await continueInstead(context, begun, run);
  }
  return begun;
}

async function supersedeEmptied(context: RunContext, run: Run): Promise<void> {
  await supersede(context, run);
  await context.artifacts.remove(run.id);
}
