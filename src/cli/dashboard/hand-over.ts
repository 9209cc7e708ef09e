import type { Workspace } from '../../config/workspace.ts';
import type { ActionResult } from '../../dashboard/dashboard-context.ts';
import type { RunQueue } from '../../queue/run-queue.ts';
import { readRequest } from '../read-request.ts';
import type { EnqueuedRun } from './action-runner.ts';

/**
 * Queues a run of a job for the workers; null if none is running, or Redis does not answer. Rejects with the errors
 * in the files of the job.
 */
export async function handOver(
  queue: RunQueue,
  openWorkspace: () => Workspace,
  job: string,
): Promise<EnqueuedRun | null> {
  if (!(await hasWorkers(queue))) return null;
  await readRequest(openWorkspace(), job, false);
  const { id } = await queue.enqueue(job, false);
  return { look: () => lookAfter(queue, id) };
}

/** Whether a worker would execute a run; false if Redis does not answer. */
export async function hasWorkers(queue: RunQueue): Promise<boolean> {
  return (await queue.workers().catch(() => 0)) > 0;
}

async function lookAfter(queue: RunQueue, id: string): Promise<ActionResult> {
  const queued = await queue.find(id);
  if (queued === undefined) return { kind: 'refused', message: 'The queue has lost the run.' };
  const { run, ended, error } = queued;
  if (run !== null) return { kind: 'begun', run };
  if (!ended) return { kind: 'enqueued', workers: await hasWorkers(queue), run: id };
  return { kind: 'refused', message: error ?? 'The run could not begin.' };
}
