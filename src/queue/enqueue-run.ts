import type { RunJobData } from './job-types.ts';
import type { Queues } from './open-queues.ts';
import { queuedId, runIdOf } from './queued-run.ts';

/** A run handed over to the workers. */
export interface Enqueued {
  /** Of the run that a worker begins, unless it continues an earlier one. */
  readonly id: string;
  /** As the queue calls it. */
  readonly queued: string;
  /** False when the same job was waiting or running already: then this is that one. */
  readonly added: boolean;
  /** Whether any worker is there to take it. */
  readonly workers: boolean;
}

/** Adds a run of a job, at most one of each job at a time. StateError when Redis does not take it. */
export async function enqueueRun(
  { runs, ask }: Queues,
  data: RunJobData,
  newId: () => string,
): Promise<Enqueued> {
  const jobId = queuedId(newId());
  const added = await ask(runs.add(data.job, data, { jobId, deduplication: { id: data.job } }));
  const queued = added.id ?? jobId;
  return {
    id: runIdOf(queued) ?? queued,
    queued,
    added: queued === jobId,
    workers: (await ask(runs.getWorkersCount())) > 0,
  };
}
