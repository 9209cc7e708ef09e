import { nextTick, readSchedules } from '../config/job/read-schedules.ts';
import { KINDS_BUT_PLAN } from '../model/run.ts';
import { nextTicks, openQueues, type Queues } from '../queue/queues.ts';
import type { ClockKeeper, JobFacts } from '../report/run-facts.ts';
import { asItStands } from '../run/lock-job.ts';
import { redisFailure } from '../state/redis/redis-connection.ts';
import type { OpenContext } from './open-context.ts';

/** The workspace of the jobs, and the queues to ask who runs them: open queues or Redis. */
type Listing = Pick<OpenContext, 'workspace' | 'context' | 'redisUrl'> & { readonly queues?: Queues | null };

/** The jobs of the workspace, or one named job, and what keeps their schedules. */
export async function listJobs(
  listing: Listing,
  only: string | undefined,
): Promise<{ readonly jobs: readonly JobFacts[]; readonly keeper: ClockKeeper }> {
  const { workspace, context } = listing;
  const { scheduled, broken } = readSchedules(workspace);
  const kept = scheduled.length === 0 ? null : await askQueues(listing);
  const now = context.clock();
  const names = workspace.jobNames().filter((name) => only === undefined || name === only);
  const jobs = await Promise.all(
    names.map(async (job): Promise<JobFacts> => {
      const [last] = await context.state.runs.list({ job, kinds: KINDS_BUT_PLAN, limit: 1 });
      const schedule = scheduled.find((entry) => entry.job === job) ?? null;
      const computed = schedule === null ? null : nextTick(schedule, now);
      return {
        job,
        schedule,
        next: kept === null ? computed : (kept.next.get(job) ?? null),
        broken: broken.some((entry) => entry.job === job),
        last: last && (await asItStands(context, last)),
      };
    }),
  );
  return { jobs, keeper: kept === null ? 'no-redis' : kept.workers ? 'worker' : 'no-worker' };
}

async function askQueues({ redisUrl, queues }: Listing) {
  if (redisUrl === undefined) return null;
  try {
    if (queues != null) return await askOpened(queues);
    await using opened = await openQueues({ redisUrl, patient: false, onError: () => {} });
    return await askOpened(opened);
  } catch (error) {
    throw redisFailure(error, redisUrl);
  }
}

async function askOpened(queues: Queues) {
  return { next: await nextTicks(queues), workers: (await queues.runs.getWorkersCount()) > 0 };
}
