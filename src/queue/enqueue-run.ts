import type { RunJobData } from './job-types.ts';
import type { Queues } from './open-queues.ts';

/** A run handed over to the workers. */
export interface Enqueued {
  readonly id: string;
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
  const jobId = `run-${newId()}`;
  const added = await ask(runs.add(data.job, data, { jobId, deduplication: { id: data.job } }));
  const id = added.id ?? jobId;
  return { id, added: id === jobId, workers: (await ask(runs.getWorkersCount())) > 0 };
}
