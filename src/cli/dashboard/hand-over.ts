import type { Workspace } from '../../config/workspace.ts';
import type { ActionResult, AtWork } from '../../dashboard/dashboard-context.ts';
import { enqueueRun, isRunJobData, type Queues } from '../../queue/queues.ts';
import { newRunId } from '../open-context.ts';
import { readRequest } from '../read-request.ts';
import type { EnqueuedRun } from './action-runner.ts';

/**
 * Queues a run of a job for the workers; null if none is running, or Redis does not answer. Rejects with the errors
 * in the files of the job.
 */
export async function handOver(
  queues: Queues,
  openWorkspace: () => Workspace,
  job: string,
): Promise<EnqueuedRun | null> {
  if (!(await hasWorkers(queues))) return null;
  await readRequest(openWorkspace(), job, false);
  const { queued } = await enqueueRun(queues, { job, resend: false }, newRunId);
  return { look: () => lookAfter(queues, queued) };
}

/** Whether a worker would execute a run; false if Redis does not answer. */
export async function hasWorkers(queues: Queues): Promise<boolean> {
  return (await queues.runs.getWorkersCount().catch(() => 0)) > 0;
}

/** More runs than a workspace has jobs. */
const MOST_LISTED = 1_000;

/** The runs that wait for a worker or that a worker executes, by job. StateError if Redis does not answer. */
export async function queuedRuns(queues: Queues): Promise<ReadonlyMap<string, AtWork>> {
  const list = async (by: AtWork['by'], states: Parameters<typeof queues.runs.getJobs>[0]) => {
    const jobs = await queues.ask(queues.runs.getJobs(states, 0, MOST_LISTED));
    return jobs.flatMap((queued): [string, AtWork][] =>
      isRunJobData(queued?.data) ? [[queued.data.job, { by, run: queued.data.run ?? null }]] : [],
    );
  };
  const [waiting, held] = await Promise.all([
    list('queue', ['waiting', 'delayed', 'prioritized']),
    list('worker', 'active'),
  ]);
  return new Map([...waiting, ...held]);
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
