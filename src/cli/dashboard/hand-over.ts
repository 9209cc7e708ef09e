import type { Workspace } from '../../config/workspace.ts';
import type { ActionResult } from '../../dashboard/dashboard-actions.ts';
import { enqueueRun } from '../../queue/enqueue-run.ts';
import type { Queues } from '../../queue/open-queues.ts';
import { newRunId } from '../open-context.ts';
import { runRequest } from '../read-request.ts';
import type { EnqueuedRun } from './action-runner.ts';

/**
 * Hands a run of a job over to the workers; null when there is none to take it, or Redis does not say. Rejects with
 * what is wrong in the files of the job.
 */
export async function handOver(
  queues: Queues,
  openWorkspace: () => Workspace,
  job: string,
): Promise<EnqueuedRun | null> {
  if (!(await hasWorkers(queues))) return null;
  await runRequest(openWorkspace(), job, false);
  const { id } = await enqueueRun(queues, { job, resend: false }, newRunId);
  return { look: () => lookAfter(queues, id) };
}

/** Whether a worker would take a run; false when Redis does not say. */
export async function hasWorkers(queues: Queues): Promise<boolean> {
  return (await queues.runs.getWorkersCount().catch(() => 0)) > 0;
}

async function lookAfter(queues: Queues, id: string): Promise<ActionResult> {
  const queued = await queues.ask(queues.runs.getJob(id));
  if (queued === undefined) return { kind: 'refused', message: 'The queue has lost the run.' };
  const { data, returnvalue: ended, failedReason } = queued;
  const run = data.run ?? ended?.run;
  if (run != null) return { kind: 'begun', run };
  if (queued.finishedOn === undefined) {
    return { kind: 'enqueued', workers: await hasWorkers(queues) };
  }
  return { kind: 'refused', message: ended?.error ?? failedReason ?? 'The run could not begin.' };
}
