import { EXPORTED_FILE } from '../../export/exported-file.ts';
import { READING_FILES } from '../../export/reading/reading.ts';
import { InterruptedError, LockedError } from '../../model/errors.ts';
import type { Run, RunStatus } from '../../model/run.ts';
import type { ListHistory } from '../../model/subscriber-list.ts';
import type { RunFacts } from '../../report/run-facts.ts';
import type { RunContext } from '../context.ts';
import { pruneRuns, RUNS_KEPT } from '../prune-runs.ts';
import { REPORT_FILE } from '../report/report-file.ts';
import { readExportReport } from '../report/run-report.ts';
import { writeReport } from '../report/write-report.ts';
import { recordingEnd, reportUnlessBug, runErrorOf } from '../run-bug.ts';
import { trafficFiles } from '../traffic/traffic-file.ts';
import { workedSoFar } from '../watched-run.ts';
import { keepsReading } from './export-digest.ts';
import { exportHistory } from './export-history.ts';
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
): Promise<RunFacts> {
  // Another process may be at work on the run: it is theirs to end.
  if (failure instanceof LockedError) throw failure;
  return await recordingEnd(failure, () => endExport(context, request, run, failure));
}

async function endExport(
  context: RunContext,
  request: ExportRequest,
  run: Run,
  failure: unknown,
): Promise<RunFacts> {
  await context.watch?.end();
  const ending = await context.state.runs.update(run.id, { step: 'finish', progress: null });
  const end = {
    status: statusOf(failure),
    error: failure === null ? null : runErrorOf(failure, run, context),
    finishedAt: context.clock(),
    ...workedSoFar(context),
  };
  const collected = await readExportReport(context, { ...ending, ...end });
  const history = failure === null ? await historyOf(context, request) : null;
  // Before the status: whoever sees the end finds its report.
  const reportFile = await writeReport(context, collected, { store: request.store, history });
  const ended = await context.state.runs.update(run.id, end);
  const folder = context.artifacts.run(run.id);
  const reading = failure !== null && keepsReading(request) ? READING_FILES : [];
  const kept = [EXPORTED_FILE, REPORT_FILE, ...(await trafficFiles(folder)), ...reading];
  await folder.remove((await folder.list()).filter((name) => !kept.includes(name)));
  await pruneRuns(context.state, context.artifacts, ended.job, RUNS_KEPT, {
    isNeeded: (old) => hasKeptReading(context, request, old),
    most: MOST_KEPT_READINGS,
  });
  return reportUnlessBug({ ...collected, run: ended, reportFile }, failure);
}

/** What the job has collected, to be drawn. Of what lies on another machine it would be fetched once more: null. */
async function historyOf(context: RunContext, { job }: ExportRequest): Promise<ListHistory | null> {
  const { mode, remote } = job.destination;
  if (job.export !== 'subscriber-lists' || mode !== 'append' || remote !== undefined) return null;
  const read = await exportHistory(context, job, context.signal).catch(() => null);
  return read?.history ?? null;
}
