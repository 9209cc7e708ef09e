import type { Job } from 'bullmq';
import { enqueueRun, isTickData, type Queues, type TickData, UNREADABLE_JOB } from '../queues.ts';
import type { WorkerLog } from '../worker-log.ts';

/** A tick that is later than this was missed, while no worker ran or Redis was away. */
const MISSED_AFTER_MS = 60_000;

/** What the processor of ticks needs. */
export interface TickProcessorOptions {
  readonly queues: Queues;
  /** Whether the job still has a schedule; a job whose file cannot be used gets a run that says so. */
  readonly isScheduled: (job: string) => boolean;
  readonly newRunId: () => string;
  readonly clock: () => number;
  readonly log: WorkerLog;
}

/**
 * Turns a tick of a schedule into a run. While the job still runs or waits the tick is dropped: at most one run of a job is
 * queued, so that a schedule that is faster than its job leaves no backlog, and no two runs overlap.
 */
export function tickProcessor({ queues, isScheduled, newRunId, clock, log }: TickProcessorOptions) {
  return async ({ id: tick, data, timestamp, opts }: Job<TickData, null>): Promise<null> => {
    if (!isTickData(data)) {
      log.error({ queued: tick }, UNREADABLE_JOB);
      return null;
    }
    const { job } = data;
    if (!isScheduled(job)) {
      log.info({ job }, 'tick dropped: the job is no longer scheduled');
      return null;
    }
    const lateMs = clock() - (timestamp + (opts.delay ?? 0));
    const { queued, added } = await enqueueRun(queues, { job, resend: false }, newRunId);
    if (!added) log.info({ job, queued }, 'tick dropped: the job still runs or waits');
    else if (lateMs < MISSED_AFTER_MS) log.info({ job, queued }, 'tick');
    else log.warn({ job, queued, lateMs }, 'a missed tick is made up for, once');
    return null;
  };
}
