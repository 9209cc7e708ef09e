import { nextTick } from '../config/job/job.ts';
import { readSchedules } from '../config/workspace.ts';
import { EXECUTING_KINDS } from '../model/run.ts';
import type { RunQueue } from '../queue/run-queue.ts';
import type { JobFacts, ScheduleStatus } from '../report/run-facts.ts';
import { withLiveStatus } from '../run/report/read-stored-report.ts';
import type { OpenContext } from './open-context.ts';

/** The workspace of the jobs, and the queue to ask who runs them. */
type Listing = Pick<OpenContext, 'workspace' | 'context' | 'redisUrl'> & { readonly queue: RunQueue };

/** The jobs of the workspace, or only those named, and whether a worker keeps their schedules. */
export async function listJobs(
  { workspace, context, redisUrl, queue }: Listing,
  only?: readonly string[] | undefined,
): Promise<{ readonly jobs: readonly JobFacts[]; readonly schedules: ScheduleStatus }> {
  const { scheduled, broken } = readSchedules(workspace);
  const kept = await queue.nextTicks();
  const now = context.clock();
  const names = workspace.jobNames().filter((name) => only?.includes(name) !== false);
  const jobs = await Promise.all(
    names.map(async (job): Promise<JobFacts> => {
      const [last] = await context.state.runs.list({ job, kinds: EXECUTING_KINDS, limit: 1 });
      const schedule = scheduled.find((entry) => entry.job === job) ?? null;
      // The clock of another machine may differ; without Redis there is only this one.
      const expected = schedule === null || redisUrl !== undefined ? null : nextTick(schedule, now);
      return {
        job,
        schedule,
        next: schedule === null ? null : (kept.get(job) ?? expected),
        broken: broken.some((entry) => entry.job === job),
        last: last && (await withLiveStatus(context, last)),
      };
    }),
  );
  return { jobs, schedules: (await queue.workers()) > 0 ? 'worker' : 'no-worker' };
}
