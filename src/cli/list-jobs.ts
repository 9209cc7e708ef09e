import { nextTick, readSchedules } from '../config/job/schedules.ts';
import { openQueues } from '../queue/open-queues.ts';
import { nextTicks } from '../queue/schedules/next-ticks.ts';
import type { ClockKeeper, JobFacts } from '../report/jobs-text.ts';
import { asItStands } from '../run/as-it-stands.ts';
import type { OpenContext } from './open-context.ts';

/** Plans are no runs: so many are looked at to find one. */
const LOOK_BACK = 20;

/** The jobs of the workspace, or the one that is named, and who runs them by the clock. */
export async function listJobs(
  open: OpenContext,
  only: string | undefined,
): Promise<{ readonly jobs: readonly JobFacts[]; readonly keeper: ClockKeeper }> {
  const { workspace, context, redisUrl } = open;
  const { scheduled, broken } = readSchedules(workspace);
  const kept = scheduled.length === 0 || redisUrl === undefined ? null : await askQueues(redisUrl);
  const now = context.clock();
  const names = workspace.jobNames().filter((name) => only === undefined || name === only);
  const jobs = await Promise.all(
    names.map(async (job): Promise<JobFacts> => {
      const runs = await context.state.runs.list({ job, limit: LOOK_BACK });
      const last = runs.find(({ kind }) => kind !== 'plan');
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

async function askQueues(redisUrl: string) {
  await using queues = openQueues({ redisUrl, patient: false, onError: () => {} });
  return { next: await nextTicks(queues), workers: (await queues.runs.getWorkersCount()) > 0 };
}
