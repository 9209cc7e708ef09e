import { isRunJobData } from './job-types.ts';
import type { Queues } from './open-queues.ts';

/** There is at most one of each job. */
const MOST_LISTED = 1_000;

/** A run that was handed over to the workers, by the id that `enqueue` printed. */
export interface QueuedRun {
  readonly job: string;
  /** The run that it has become: itself, or an earlier one that it continues. Null until a worker has begun it. */
  readonly run: string | null;
  /** Why it could not begin; null while it may. */
  readonly error: string | null;
  /** Takes it out of the queue; false when a worker has it by now. */
  takeOut(): Promise<boolean>;
}

/** How the queue names a run. */
export function queuedId(run: string): string {
  return `run-${run}`;
}

/** The id of the run that a queued job may begin; undefined where another version has queued it. */
export function runIdOf(queued: string | undefined): string | undefined {
  return /^run-([a-z0-9]+)$/.exec(queued ?? '')?.[1];
}

/** The runs that no worker has begun, oldest first. StateError when Redis does not answer. */
export async function waitingRuns({
  runs,
  ask,
}: Queues): Promise<{ readonly run: string; readonly job: string }[]> {
  const queued = await ask(runs.getJobs(['waiting', 'delayed', 'prioritized'], 0, MOST_LISTED - 1, true));
  return queued.flatMap(({ id, data }) => {
    const run = runIdOf(id);
    return run !== undefined && isRunJobData(data) && data.run === undefined ? [{ run, job: data.job }] : [];
  });
}

/** What the queue knows of a run; undefined where it knows nothing. StateError when Redis does not answer. */
export async function queuedRun({ runs, ask }: Queues, id: string): Promise<QueuedRun | undefined> {
  const queued = await ask(runs.getJob(queuedId(id)));
  if (queued === undefined) return undefined;
  const { data, returnvalue: ended, failedReason = null } = queued;
  return {
    job: data.job,
    run: data.run ?? ended?.run ?? null,
    error: ended?.error ?? failedReason,
    async takeOut() {
      // A job that a worker holds is locked, and cannot be removed.
      return (await ask(runs.remove(queuedId(id)))) === 1;
    },
  };
}
