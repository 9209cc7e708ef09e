import { EXPORTED_FILE } from '../../export/exported-file.ts';
import { READING_FILE } from '../../export/reading/reading.ts';
import { InterruptedError, LockedError } from '../../model/errors.ts';
import type { Run, RunStatus } from '../../model/run.ts';
import { pruneRuns, RUNS_KEPT } from '../../state/prune-runs.ts';
import type { RunContext } from '../context.ts';
import { explainFailure, reportUnlessBug } from '../run-bug.ts';
import { type RunReport, readExportReport } from '../run-report.ts';
import { keepsReading } from './export-digest.ts';
import type { ExportRequest } from './export-request.ts';
import { hasKeptReading, MOST_KEPT_READINGS } from './kept-reading.ts';

function statusOf(failure: unknown): RunStatus {
  if (failure === null) return 'done';
  return failure instanceof InterruptedError ? 'interrupted' : 'failed';
}

/**
 * Ends an export run: status, error; empties its folder, but for what is shown of it, and for a reading that is yet to
 * be written. Rejects with RunBug if a bug of ours ended it.
 */
export async function finishExport(
  context: RunContext,
  request: ExportRequest,
  run: Run,
  failure: unknown,
): Promise<RunReport> {
  // Another process may be at work on the run: it is theirs to end.
  if (failure instanceof LockedError) throw failure;
  const ended = await context.state.runs.update(run.id, {
    step: 'finish',
    status: statusOf(failure),
    error: failure === null ? null : explainFailure(failure),
    finishedAt: context.clock(),
    progress: null,
  });
  const folder = context.artifacts.run(run.id);
  const kept = failure !== null && keepsReading(request) ? [EXPORTED_FILE, READING_FILE] : [EXPORTED_FILE];
  await folder.remove((await folder.list()).filter((name) => !kept.includes(name)));
  await pruneRuns(context.state, context.artifacts, ended.job, RUNS_KEPT, {
    isNeeded: (old) => hasKeptReading(context, request, old),
    most: MOST_KEPT_READINGS,
  });
  return reportUnlessBug(await readExportReport(context, ended), failure);
}
