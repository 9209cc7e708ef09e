import { setTimeout as sleep } from 'node:timers/promises';
import { StateError, UsageError } from '../model/errors.ts';
import { enqueueRun } from '../queue/enqueue.ts';
import { openQueues, type Queues } from '../queue/open-queues.ts';
import type { RunContext } from '../run/context.ts';
import { readStoredReport } from '../run/run-report.ts';
import { interruptSignal } from './interrupt.ts';
import { importRequest, newRunId, openContext } from './open-context.ts';
import { exitCodeOf, printReport } from './print-report.ts';
import type { Invocation } from './program.ts';
import type { Terminal } from './terminal.ts';
import { type RunWatch, watchRun } from './watch-run.ts';

const POLL_MS = 250;

interface EnqueueOptions {
  readonly follow?: true;
  readonly json?: true;
  readonly resend?: true;
}

/** The address of Redis, without which there are no queues; UsageError. */
export function requireRedis(redisUrl: string | undefined): string {
  if (redisUrl !== undefined) return redisUrl;
  throw new UsageError('Workers share their work through Redis, and REDIS_URL is not set.', {
    hint: 'Set REDIS_URL in the environment or in .env, or use `storeferry run` on one machine.',
  });
}

/** Hands a run of a job over to the workers, and waits for it where asked to. */
export async function enqueue(
  { terminal, directory }: Invocation,
  job: string,
  { follow, json, resend }: EnqueueOptions,
): Promise<number> {
  const watch = watchRun(terminal, Date.now);
  const signal = interruptSignal(() => watch.clear());
  await using open = await openContext(directory, watch.onEvent, signal);
  await using queues = openQueues(requireRedis(open.redisUrl));
  await importRequest(open.workspace, job, false);
  const enqueued = await enqueueRun(queues, { job, resend: resend === true }, newRunId);
  terminal.err(enqueued.added ? `Enqueued ${job}.\n` : `${job} is waiting or running already.\n`);
  if (follow !== true) {
    if (enqueued.added) terminal.err('See how it goes: storeferry runs\n');
    return 0;
  }
  const run = await untilOver(queues, enqueued.id, open.context, job, watch);
  if (run === null) {
    terminal.err('No longer following; the workers go on.\n');
    return 130;
  }
  return await printStored(terminal, open.context, open.workspace.dir, run, json === true);
}

async function printStored(
  terminal: Terminal,
  context: RunContext,
  dir: string,
  id: string,
  json: boolean,
): Promise<number> {
  const run = await context.state.runs.get(id);
  if (run === undefined) throw new StateError(`The state has lost run ${id}.`);
  const report = await readStoredReport(context, run);
  printReport(terminal, report, { workspaceDir: dir, json });
  return exitCodeOf(report);
}

/** The id of the run when it is over; null when whoever waits was interrupted. */
async function untilOver(
  queues: Queues,
  id: string,
  context: RunContext,
  job: string,
  watch: RunWatch,
): Promise<string | null> {
  let begun: string | null = null;
  while (!context.signal.aborted) {
    const queued = await queues.runs.getJob(id);
    if (queued === undefined) throw new StateError('The queue has lost the run.');
    if (queued.finishedOn !== undefined) {
      watch.clear();
      const result = queued.returnvalue;
      if (result?.run == null) {
        throw new StateError(result?.error ?? queued.failedReason ?? 'The run could not begin.');
      }
      return result.run;
    }
    const [run] = await context.state.runs.list({ job, limit: 1 });
    if (run?.status === 'running') {
      if (run.id !== begun) watch.onEvent({ type: 'begun', run, continued: false });
      begun = run.id;
      const { plan, totals } = await readStoredReport(context, run);
      const done = totals.applied + totals.deleted;
      const total = plan === null ? null : totals.operations;
      watch.onEvent({ type: 'progress', step: run.step, done, total, unit: 'requests' });
    }
    await sleep(POLL_MS, undefined, { signal: context.signal }).catch(() => {});
  }
  return null;
}
