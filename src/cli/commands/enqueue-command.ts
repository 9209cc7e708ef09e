import { setTimeout as sleep } from 'node:timers/promises';
import { InterruptedError, StateError, UsageError } from '../../model/storeferry-error.ts';
import { openRunQueue, type RunQueue } from '../../queue/run-queue.ts';
import { readStoredReport } from '../../run/report/read-stored-report.ts';
import type { RunContext, RunEvent } from '../../run/run-context.ts';
import { defineCommand, flag, type Invocation, JOB_ARGUMENT, type ValuesOf } from '../define-command.ts';
import { openContext } from '../open-context.ts';
import { exitCodeOf, printReport } from '../print-report.ts';
import { readRequest } from '../read-request.ts';
import { recordCommand } from '../record-command.ts';
import { RUN_SUMMARY } from '../run-in-workspace.ts';
import { watchRun } from '../watch-run.ts';
import { type Attempt, withJsonResult } from '../with-json-result.ts';

const OPTIONS = {
  follow: flag('wait for it, show its progress, and exit with the code of `run`'),
  json: flag('with --follow: print the result as one JSON object, the last line of standard output'),
  resend: flag('also send unchanged records'),
};

/** `storeferry enqueue`: queues a run of a job for the workers. With --follow it waits for the end of the run. */
export const enqueueCommand = defineCommand({
  arguments: JOB_ARGUMENT,
  options: OPTIONS,
  examples: ['enqueue nightly-catalog', 'enqueue nightly-catalog --follow'],
  json: RUN_SUMMARY,
  async run(invocation, { job }, options) {
    const { json, follow } = options;
    if (json && !follow) {
      throw new UsageError('--json prints how a run ended, so it needs --follow.', {
        hint: 'Add --follow, or leave out --json.',
      });
    }
    return await withJsonResult(invocation, { json, job }, (attempt) =>
      enqueueJob(invocation, job, options, attempt),
    );
  },
});

async function enqueueJob(
  { terminal, directory, program, interruptSignal }: Invocation,
  job: string,
  { follow, json, resend }: ValuesOf<typeof OPTIONS>,
  attempt: Attempt,
): Promise<number> {
  const watch = watchRun(terminal, () => performance.now());
  const onEvent = (event: RunEvent): void => {
    watch.onEvent(event);
    attempt.onEvent(event);
  };
  const signal = interruptSignal(() => watch.clear());
  await using open = await openContext(directory, onEvent, signal);
  await readRequest(open.workspace, job, resend);
  await using queue = await openRunQueue(open);
  const enqueued = await queue.enqueue(job, resend);
  await recordCommand(open.context, { action: 'enqueue', job, run: enqueued.id });
  terminal.err(
    enqueued.added
      ? `Enqueued ${job} as run ${enqueued.id}.\n`
      : `${job} is waiting or running already, as run ${enqueued.id}.\n`,
  );
  if (!enqueued.workers) terminal.err(`No worker is running; start one with: ${program} worker\n`);
  if (!follow) {
    terminal.err(`Show its progress: ${program} runs ${enqueued.id}\n`);
    terminal.err(`Cancel it: ${program} cancel ${enqueued.id}\n`);
    return 0;
  }
  const id = await followRun(queue, { queued: enqueued.id, job }, open.context).finally(() => watch.clear());
  if (id === null) throw new InterruptedError('No longer following; the workers continue.');
  const run = await open.context.state.runs.get(id);
  if (run === undefined) {
    throw new StateError(`The state has lost run ${id}.`, {
      hint: `${LOST} Enqueue the job again: storeferry enqueue ${job}`,
    });
  }
  const report = await readStoredReport(open.context, run);
  printReport(terminal, report, { workspaceDir: open.workspace.dir, program, json });
  attempt.printed();
  return exitCodeOf(report);
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
    if (queued === undefined) {
      throw new StateError('The queue has lost the run.', {
        hint: `${LOST} Enqueue the job again: storeferry enqueue ${job}`,
      });
    }
    if (queued.ended) {
      if (queued.run === null) throw new StateError(queued.error ?? 'The run could not begin.');
      return queued.run;
    }
    await show(queued.job);
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
