import { openWorkspace } from '../config/workspace.ts';
import { InterruptedError, StateError, UsageError } from '../model/errors.ts';
import { enqueueRun, openQueues } from '../queue/queues.ts';
import { readStoredReport } from '../run/report/read-stored-report.ts';
import type { RunEvent } from '../run/run-context.ts';
import { followRun } from './follow-run.ts';
import { interruptSignal } from './interrupt-signal.ts';
import type { Invocation } from './invocation.ts';
import { newRunId, openContext } from './open-context.ts';
import { exitCodeOf, printReport } from './print-report.ts';
import { readRequest } from './read-request.ts';
import { watchRun } from './watch-run.ts';
import { type Attempt, withJsonResult } from './with-json-result.ts';

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
export async function enqueue(invocation: Invocation, job: string, options: EnqueueOptions): Promise<number> {
  const json = options.json === true;
  if (json && options.follow !== true) {
    throw new UsageError('--json prints how a run ended, so it needs --follow.', {
      hint: 'Add --follow, or leave out --json.',
    });
  }
  return await withJsonResult(invocation, { json, job }, (attempt) =>
    handOver(invocation, job, options, attempt),
  );
}

async function handOver(
  { terminal, directory, program }: Invocation,
  job: string,
  { follow, json, resend }: EnqueueOptions,
  attempt: Attempt,
): Promise<number> {
  const watch = watchRun(terminal, () => performance.now());
  const onEvent = (event: RunEvent): void => {
    watch.onEvent(event);
    attempt.onEvent(event);
  };
  const signal = interruptSignal(() => watch.clear());
  const redisUrl = requireRedis(openWorkspace(directory, process.env).settings().redisUrl);
  await using open = await openContext(directory, onEvent, signal);
  await readRequest(open.workspace, job, resend === true);
  await using queues = await openQueues({ redisUrl, patient: false, onError: () => {} });
  const enqueued = await enqueueRun(queues, { job, resend: resend === true }, newRunId);
  terminal.err(
    enqueued.added
      ? `Enqueued ${job} as run ${enqueued.id}.\n`
      : `${job} is waiting or running already, as run ${enqueued.id}.\n`,
  );
  if (!enqueued.workers) terminal.err(`No worker is there to take it: start one with: ${program} worker\n`);
  if (follow !== true) {
    terminal.err(`See how it goes: ${program} runs ${enqueued.id}\n`);
    terminal.err(`Call it off: ${program} cancel ${enqueued.id}\n`);
    return 0;
  }
  const id = await followRun(queues, { queued: enqueued.queued, job }, open.context).finally(() =>
    watch.clear(),
  );
  if (id === null) throw new InterruptedError('No longer following; the workers go on.');
  const run = await open.context.state.runs.get(id);
  if (run === undefined) {
    throw new StateError(`The state has lost run ${id}.`, {
      hint: `Redis was emptied, or evicts keys (see maxmemory-policy). Hand the job over again: storeferry enqueue ${job}`,
    });
  }
  const report = await readStoredReport(open.context, run);
  printReport(terminal, report, { workspaceDir: open.workspace.dir, program, json: json === true });
  attempt.printed();
  return exitCodeOf(report);
}
