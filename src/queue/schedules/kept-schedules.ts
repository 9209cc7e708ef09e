import type { Queue } from 'bullmq';
import type { TickData } from '../job-types.ts';
import type { KeptSchedule } from './plan-schedule-changes.ts';

/** A tick that is due so long ago should be on its way, if workers run. */
const DUE_LONG_AGO_MS = 10_000;

/** All schedules in the queue, also those that other programs set. */
export async function keptSchedules(
  ticks: Queue<TickData, null>,
  now: number,
): Promise<readonly KeptSchedule[]> {
  const schedulers = await ticks.getJobSchedulers();
  return await Promise.all(
    schedulers.map(async ({ key, pattern, tz, next }) => ({
      job: key,
      cron: pattern,
      timezone: tz,
      next,
      stalled:
        next !== undefined &&
        next < now - DUE_LONG_AGO_MS &&
        (await ticks.getJob(`repeat:${key}:${next}`)) === undefined,
    })),
  );
}
