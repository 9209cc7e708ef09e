import type { Notify } from '../config/job/job.ts';
import type { Run } from '../model/run.ts';
import { UsageError } from '../model/storeferry-error.ts';
import type { RunFacts } from '../report/run-facts.ts';
import { supersedeEmptied } from './import/continue-or-begin.ts';
import { type ImportTask, importRun } from './import-run.ts';
import { lockJob } from './lock-job.ts';
import type { News } from './notify/send-notices.ts';
import type { DriftRequest, ExportRequest, RunContext, VerifyRequest } from './run-context.ts';

/** The task of a run. */
export type RunTask =
  | ImportTask
  /** Sends a sample of acknowledged records again, to estimate how many records the store has lost. */
  | { readonly kind: 'verify'; readonly request: VerifyRequest }
  /** Compares the store with what it last answered. */
  | { readonly kind: 'drift'; readonly request: DriftRequest }
  /** Reads the store and writes a file. */
  | { readonly kind: 'export'; readonly request: ExportRequest };

/** Executes a run of any kind from its beginning to its recorded end; rejects as `runPipeline`. */
export async function executeRun(context: RunContext, task: RunTask): Promise<RunFacts> {
  switch (task.kind) {
    case 'verify': {
      const { verifyRun } = await import('./verify/verify-run.ts');
      return await verifyRun(context, task.request);
    }
    case 'drift': {
      const { driftRun } = await import('./drift/drift-run.ts');
      return await driftRun(context, task.request);
    }
    case 'export': {
      const { exportRun } = await import('./export/export-run.ts');
      return await exportRun(context, task.request);
    }
    case 'run': {
      const { job, sample } = task.request;
      if (job.drift === undefined || sample !== undefined) return await importRun(context, task);
      // The first id may be promised to whoever has enqueued the run.
      const ids = [context.newRunId()];
      const { compareSlice } = await import('./drift/drift-run.ts');
      const compared = await compareSlice(context, task.request, job.drift);
      return await importRun(
        { ...context, newRunId: () => ids.pop() ?? context.newRunId() },
        { ...task, compared },
      );
    }
    case 'plan':
    case 'undo':
    case 'restore':
    case 'copy':
    case 'release':
    case 'approve':
    case 'retry':
      return await importRun(context, task);
    default:
      throw new Error(`Unknown task: ${task satisfies never}`);
  }
}

/** Notifies the recipients of a job of what has happened, and delivers what waits for them. Never rejects. */
export async function notifyRecipients(
  context: RunContext,
  recipients: readonly Notify[] | undefined,
  job: string,
  news?: News,
): Promise<void> {
  if (recipients === undefined) return;
  // Loaded only if there is somebody to notify: its HTTP client takes a tenth of a second to load.
  const { sendNotices } = await import('./notify/send-notices.ts');
  await sendNotices(context, job, recipients, news);
}

/**
 * Ends a plan that waits for approval, so that nobody can send it: its status becomes `superseded`, and what only sending it would
 * need is removed. What was sent of it stays. UsageError for any other run, LockedError while a run of its job is at work.
 */
export async function discardRun(context: RunContext, { id, job }: Run): Promise<Run> {
  const { runs } = context.state;
  const known = await runs.get(id);
  if (known === undefined) throw new UsageError(`There is no run ${id}.`);
  await using _lock = await lockJob(context, known);
  // Read again: another process may have approved it before the lock was free.
  const run = (await runs.get(id)) ?? known;
  if (run.status !== 'planned' && run.status !== 'stopped') {
    throw new UsageError(
      `The run ${id} of ${job} is ${run.status}: only a plan that waits can be discarded.`,
      {
        hint:
          run.status === 'running'
            ? `To stop it: storeferry cancel ${id}`
            : `\`storeferry runs ${id}\` shows it.`,
      },
    );
  }
  await supersedeEmptied(context, run);
  return await runs.update(id, { discarded: true });
}
