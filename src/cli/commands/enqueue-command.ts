import { setTimeout as sleep } from 'node:timers/promises';
import { explainFailure, InterruptedError, StateError, UsageError } from '../../model/storeferry-error.ts';
import { openRunQueue, type RunQueue } from '../../queue/run-queue.ts';
import { failureSummary, storesSummary } from '../../report/run-summary.ts';
import { readStoredReport } from '../../run/report/read-stored-report.ts';
import type { RunContext, RunEvent } from '../../run/run-context.ts';
import {
  defineCommand,
  flag,
  type Invocation,
  JOB_ARGUMENT,
  printJson,
  type Typed,
} from '../define-command.ts';
import { openContext } from '../open-context.ts';
import { printError } from '../print-error.ts';
import { exitCodeOf, jsonSummary, printReport, worstCode } from '../print-report.ts';
import { readRequest } from '../read-request.ts';
import { recordCommand } from '../record-command.ts';
import { RUN_SUMMARY } from '../run-in-workspace.ts';
import { watchRun } from '../watch-run.ts';
import { type Attempt, withJsonResult } from '../with-json-result.ts';

const OPTIONS = {
  follow: flag('wait for it, show progress, exit as `run`; --json needs it'),
  resend: flag('also send unchanged records'),
};

/** `storeferry enqueue`: queues a run of a job for the workers. With --follow it waits for the end of the run. */
export const enqueueCommand = defineCommand({
  arguments: JOB_ARGUMENT,
  options: OPTIONS,
  examples: ['enqueue nightly-catalog', 'enqueue nightly-catalog --follow'],
  json: RUN_SUMMARY,
  run: (invocation, { job }, options) =>
    withJsonResult(invocation, { ...options, job }, (attempt) =>
      enqueueJob(invocation, job, options, attempt),
    ),
});

async function enqueueJob(
  { terminal, directory, program, interruptSignal }: Invocation,
  job: string,
  { follow, json, resend }: Typed<typeof OPTIONS>,
  attempt: Attempt,
) {
  if (json && !follow)
    throw new UsageError('--json prints how a run ended, so it needs --follow.', {
      hint: 'Add --follow, or leave out --json.',
    });
  const watch = watchRun(terminal, () => performance.now());
  const onEvent = (event: RunEvent) => {
    watch.onEvent(event);
    attempt.onEvent(event);
  };
  const signal = interruptSignal(() => watch.clear());
  await using open = await openContext(directory, onEvent, signal);
  await using queue = await openRunQueue(open);
  const names = open.workspace.jobsNamed(job);
  // Refuses invalid jobs before any run is queued.
  for (const name of names) await readRequest(open.workspace, name, resend);
  const queued: QueuedJob[] = [];
  let hasWorkers = true;
  for (const name of names) {
    const by = open.context.actors;
    const { id, added, workers } = await queue.enqueue({ does: 'run', job: name, by, resend });
    await recordCommand(open.context, { action: 'enqueue', job: name, run: id });
    terminal.err(
      added ? `Enqueued ${name} as run ${id}.\n` : `${name} is waiting or running already, as run ${id}.\n`,
    );
    hasWorkers = workers;
    queued.push({ id, job: name });
  }
  if (!hasWorkers) terminal.err(`No worker is running; start one with: ${program} worker\n`);
  if (!follow) {
    for (const { id } of queued)
      terminal.err(`Show its progress: ${program} runs ${id}\nCancel it: ${program} cancel ${id}\n`);
    return 0;
  }
  const summaries: object[] = [];
  const codes: number[] = [];
  for (const one of queued) {
    const startedAt = performance.now();
    try {
      const report = await followRun(queue, one, open.context).finally(() => watch.clear());
      if (!json || names.length === 1)
        printReport(terminal, report, { workspaceDir: open.workspace.dir, program, json });
      summaries.push(jsonSummary(report, open.workspace.dir));
      codes.push(exitCodeOf(report));
    } catch (error) {
      if (names.length === 1 || error instanceof InterruptedError) throw error;
      codes.push(printError(terminal, error, { program, directory }));
      const durationMs = Math.round(performance.now() - startedAt);
      const failed = { run: one.id, job: one.job, status: 'failed', applied: 0, rejected: 0 } as const;
      summaries.push(failureSummary({ ...failed, durationMs, error: explainFailure(error) }));
    }
  }
  if (json && names.length > 1) printJson(terminal, storesSummary(job, summaries));
  attempt.printed();
  return worstCode(codes);
}

/** A job, and the id under which it waits. */
interface QueuedJob {
  readonly id: string;
  readonly job: string;
}

const POLL_MS = 250;

/** Waits for the end of a queued run, and shows its progress. An interrupt ends the wait alone: InterruptedError. */
async function followRun(queue: RunQueue, { id, job }: QueuedJob, context: RunContext) {
  const lost = (what: string) =>
    new StateError(what, {
      hint: `Redis was emptied or evicts keys (see maxmemory-policy), or .storeferry was replaced. Enqueue the job again: storeferry enqueue ${job}`,
    });
  const show = showProgress(context);
  while (!context.signal.aborted) {
    const queued = await queue.find(id);
    if (queued === undefined) throw lost('The queue has lost the run.');
    if (queued.ended) {
      if (queued.run === null) throw new StateError(queued.error ?? 'The run could not begin.');
      const run = await context.state.runs.get(queued.run);
      if (run === undefined) throw lost(`The state has lost run ${queued.run}.`);
      return await readStoredReport(context, run);
    }
    await show(queued.action.job);
    await sleep(POLL_MS, undefined, { signal: context.signal }).catch(() => {});
  }
  throw new InterruptedError('No longer following; the workers continue.');
}

/** Shows the running run of a job, whichever worker executes it. */
function showProgress(context: RunContext): (job: string) => Promise<void> {
  let shown: string | null = null;
  let shownAt = 0;
  let waitsUntil = 0;
  return async (job) => {
    const [run] = await context.state.runs.list({ job, limit: 1 });
    if (run?.status !== 'running') return;
    if (run.id !== shown) {
      context.onEvent({ type: 'begun', run, continued: false });
      shown = run.id;
    }
    const { progress, waiting } = run;
    const waitsMs = waiting == null ? 0 : waiting.until - context.clock();
    if (waiting != null && waitsMs > 0 && waiting.until > waitsUntil) {
      waitsUntil = waiting.until;
      context.onEvent({ type: 'waiting-for-requests', operations: waiting.operations, ms: waitsMs });
    }
    if (progress == null || progress.at === shownAt) return;
    shownAt = progress.at;
    context.onEvent({ type: 'progress', ...progress });
  };
}
