import { EXPORTED_FILE } from '../../export/exported-file.ts';
import { READING_FILES } from '../../export/reading/reading.ts';
import { InterruptedError } from '../../model/errors.ts';
import type { Run, RunStatus } from '../../model/run.ts';
import type { ListHistory } from '../../model/subscriber-list.ts';
import type { RunFacts } from '../../report/run-facts.ts';
import { lockJob, whileHeld } from '../lock-job.ts';
import { pruneRuns, RUNS_KEPT } from '../prune-runs.ts';
import { REPORT_FILE, readExportReport } from '../report/read-stored-report.ts';
import { writeReport } from '../report/write-report.ts';
import { runErrorOf } from '../run-bug.ts';
import type { ExportRequest, RunContext } from '../run-context.ts';
import { newRun, runPipeline } from '../run-pipeline.ts';
import { trafficFiles } from '../traffic/run-traffic.ts';
import { workedSoFar } from '../watched-run.ts';
import {
  continueOrBeginExport,
  exportDigest,
  hasKeptReading,
  keepsReading,
  MOST_KEPT_READINGS,
  unfinishedBefore,
} from './continue-or-begin-export.ts';
import { exportHistory } from './export-history.ts';
import { readStep } from './read-step.ts';
import { writeStep } from './write-step.ts';

/**
 * Runs an export job: read, write, finish. Rejects as `runPipeline`; after any failure the destination is as it was.
 */
export async function exportRun(surroundings: RunContext, request: ExportRequest): Promise<RunFacts> {
  const { job, store } = request;
  return await runPipeline(surroundings, {
    run: newRun(surroundings, store, {
      ...{ job: job.name, kind: 'export', resource: job.export, step: 'read', digest: exportDigest(request) },
    }),
    lock: lockJob,
    async steps(work) {
      const context = whileHeld(work.context, work.lock);
      await context.state.runs.create(work.run);
      work.begin(await continueOrBeginExport(context, request, work.run));
      work.run = await readStep(context, request, work.run);
      await writeEarlierReadings(context, request, work.run);
      work.run = await writeStep(context, request, work.run);
    },
    finish: ({ context, run }, failure) => finishExport(context, request, run, failure),
  });
}

/**
 * Writes the readings that earlier runs could not write, or died writing: oldest first, each under the moment it was
 * taken, none twice. A failure leaves this run's reading to be written later as well.
 */
async function writeEarlierReadings(context: RunContext, request: ExportRequest, begun: Run): Promise<void> {
  for (const run of await unfinishedBefore(context, begun)) {
    if (!(await hasKeptReading(context, request, run))) continue;
    const own = { ...context, workedMs: () => run.workedMs ?? 0 };
    await finishExport(own, request, await writeStep(own, request, run), null);
  }
}

/**
 * Ends an export run: status, error; empties its folder, except for its report and a reading that is yet to be written.
 */
async function finishExport(
  context: RunContext,
  request: ExportRequest,
  run: Run,
  failure: unknown,
): Promise<RunFacts> {
  const ending = await context.state.runs.update(run.id, { step: 'finish', progress: null });
  const end = {
    status: statusOf(failure),
    error: failure === null ? null : runErrorOf(failure, run, context),
    finishedAt: context.clock(),
    ...workedSoFar(context),
  };
  const collected = await readExportReport(context, { ...ending, ...end });
  const history = failure === null ? await historyOf(context, request) : null;
  // Before the status: a process that sees the end finds its report.
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
  return { ...collected, run: ended, reportFile };
}

function statusOf(failure: unknown): RunStatus {
  if (failure === null) return 'done';
  return failure instanceof InterruptedError ? 'interrupted' : 'failed';
}

/** What the job has collected, to be drawn; null where it is on another machine and would have to be fetched again. */
async function historyOf(context: RunContext, { job }: ExportRequest): Promise<ListHistory | null> {
  const { mode, remote } = job.destination;
  if (job.export !== 'subscriber-lists' || mode !== 'append' || remote !== undefined) return null;
  const read = await exportHistory(context, job, context.signal).catch(() => null);
  return read?.history ?? null;
}
