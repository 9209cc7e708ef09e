import { setTimeout as sleep } from 'node:timers/promises';
import { explainFailure, InterruptedError, StateError, UsageError } from '../../model/storeferry-error.ts';
import { openRunQueue, type RunQueue } from '../../queue/run-queue.ts';
import type { RunFacts } from '../../report/run-facts.ts';
import { failureSummary, storesSummary } from '../../report/run-summary.ts';
import { readStoredReport } from '../../run/report/read-stored-report.ts';
import type { RunContext, RunEvent } from '../../run/run-context.ts';
import {
  defineCommand,
  flag,
  type Invocation,
  JOB_ARGUMENT,
  JSON_FLAG,
  printJson,
  type ValuesOf,
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
  json: JSON_FLAG,
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
  { follow, json, resend }: ValuesOf<typeof OPTIONS>,
  attempt: Attempt,
): Promise<number> {
  if (json && !follow)
    throw new UsageError('--json prints how a run ended, so it needs --follow.', {
      hint: 'Add --follow, or leave out --json.',
    });
  const watch = watchRun(terminal, () => performance.now());
  const onEvent = (event: RunEvent): void => {
    watch.onEvent(event);
    attempt.onEvent(event);
  };
  const signal = interruptSignal(() => watch.clear());
  await using open = await openContext(directory, onEvent, signal);
  await using queue = await openRunQueue(open);
  const names = open.workspace.jobsNamed(job);
  // Refuses invalid jobs before any run is queued.
  for (const name of names) await readRequest(open.workspace, name, resend);
  const queued: { readonly queued: string; readonly job: string }[] = [];
  let hasWorkers = true;
  for (const name of names) {
    const { id, added, workers } = await queue.enqueue({
      does: 'run',
      job: name,
      by: open.context.actors,
      resend,
    });
    await recordCommand(open.context, { action: 'enqueue', job: name, run: id });
    terminal.err(
      added ? `Enqueued ${name} as run ${id}.\n` : `${name} is waiting or running already, as run ${id}.\n`,
    );
    hasWorkers = workers;
    queued.push({ queued: id, job: name });
  }
  if (!hasWorkers) terminal.err(`No worker is running; start one with: ${program} worker\n`);
  if (!follow) {
    for (const { queued: id } of queued) {
      terminal.err(`Show its progress: ${program} runs ${id}\n`);
      terminal.err(`Cancel it: ${program} cancel ${id}\n`);
    }
    return 0;
  }
  const summaries: object[] = [];
  const codes: number[] = [];
  for (const one of queued) {
    const startedAt = performance.now();
    const report = await followedReport(queue, one, open.context)
      .finally(() => watch.clear())
      .catch((error: unknown) => {
        if (names.length === 1 || error instanceof InterruptedError) throw error;
        codes.push(printError(terminal, error, { program, directory }));
        const durationMs = Math.round(performance.now() - startedAt);
        const failed = { run: one.queued, job: one.job, status: 'failed', applied: 0, rejected: 0 } as const;
        summaries.push(failureSummary({ ...failed, durationMs, error: explainFailure(error) }));
        return undefined;
      });
    if (report === undefined) continue;
    if (!json || names.length === 1)
      printReport(terminal, report, { workspaceDir: open.workspace.dir, program, json });
    summaries.push(jsonSummary(report, open.workspace.dir));
    codes.push(exitCodeOf(report));
  }
  if (json && names.length > 1) printJson(terminal, storesSummary(job, summaries));
  attempt.printed();
  return worstCode(codes);
}

/** Waits for the end of a queued run. */
async function followedReport(
  queue: RunQueue,
  queued: Parameters<typeof followRun>[1],
  context: RunContext,
): Promise<RunFacts> {
  const id = await followRun(queue, queued, context);
  if (id === null) throw new InterruptedError('No longer following; the workers continue.');
  const run = await context.state.runs.get(id);
  if (run !== undefined) return await readStoredReport(context, run);
  throw new StateError(`The state has lost run ${id}.`, {
    hint: `${LOST} Enqueue the job again: storeferry enqueue ${queued.job}`,
  });
}

const LOST = 'Redis was emptied or evicts keys (see maxmemory-policy), or .storeferry was replaced.';
const POLL_MS = 250;

/**
 * Waits for a queued run and shows its progress. Returns the id of the run when it has ended; null if the wait was
 * interrupted, which does not affect the run.
 */
async function followRun(
  queue: RunQueue,
  { queued: queuedId, job }: { readonly queued: string; readonly job: string },
  context: RunContext,
): Promise<string | null> {
  const show = showProgress(context);
  while (!context.signal.aborted) {
    const queued = await queue.find(queuedId);
    if (queued === undefined)
      throw new StateError('The queue has lost the run.', {
        hint: `${LOST} Enqueue the job again: storeferry enqueue ${job}`,
      });
    if (queued.ended) {
      if (queued.run === null) throw new StateError(queued.error ?? 'The run could not begin.');
      return queued.run;
    }
    await show(queued.action.job);
    await sleep(POLL_MS, undefined, { signal: context.signal }).catch(() => {});
  }
  return null;
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
