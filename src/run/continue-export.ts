import { READING_FILE } from '../export/reading.ts';
import type { Run } from '../model/run.ts';
import type { RunContext } from './context.ts';
import { exportDigest, keepsReading } from './export-digest.ts';
import type { ExportRequest } from './export-request.ts';
import { finishExport } from './finish-export.ts';
import { writeStep } from './write-step.ts';

const LOOK_BACK = 50;
/** A reading this fresh is what a run that begins now would read: the run that took it is continued. */
const FRESH_MS = 15 * 60 * 1_000;

/**
 * The run to carry on with. Readings that runs before could not write, or died writing, are written now, each under
 * the moment it was taken and none twice; the run of one that is fresh is continued instead of reading again. Other
 * runs whose process died have nothing to continue: they are superseded.
 */
export async function continueOrBeginExport(
  context: RunContext,
  request: ExportRequest,
  begun: Run,
): Promise<Run> {
  const { runs } = context.state;
  const earlier = await runs.list({ job: begun.job, limit: LOOK_BACK });
  for (const run of earlier.filter(({ id }) => id !== begun.id).reverse()) {
    if (!isUnfinished(run)) continue;
    if (!(await hasReading(context, request, run))) {
      if (run.status === 'running') await supersede(context, run);
      continue;
    }
    if (context.clock() - (run.stagedAt ?? 0) < FRESH_MS) {
      await context.artifacts.remove(begun.id);
      await runs.remove(begun.id);
      return await runs.update(run.id, { status: 'running', error: null, finishedAt: null });
    }
    await finishExport(context, request, await writeStep(context, request, { run, notes: [] }), null);
  }
  return begun;
}

function isUnfinished({ kind, status }: Run): boolean {
  return kind === 'export' && (status === 'running' || status === 'failed' || status === 'interrupted');
}

async function hasReading(context: RunContext, request: ExportRequest, run: Run): Promise<boolean> {
  if (!keepsReading(request) || run.stagedAt === null || run.digest !== exportDigest(request)) return false;
  return await context.artifacts.run(run.id).exists(READING_FILE);
}

async function supersede(context: RunContext, run: Run): Promise<void> {
  await context.state.runs.update(run.id, {
    status: 'superseded',
    finishedAt: run.finishedAt ?? context.clock(),
  });
  await context.artifacts.remove(run.id);
}
