import { type JobSchedule, type JobSchedules, nextTick } from '../../config/job/read-schedules.ts';

/** The clocks of workers differ: a tick that is past for one may be in the future for another. */
const CLOCKS_DIFFER_MS = 10 * 60 * 1_000;

/** A schedule in the queue. */
export interface KeptSchedule {
  readonly job: string;
  readonly cron: string | undefined;
  readonly timezone: string | undefined;
  /** When its next tick is due; undefined when the queue does not know. */
  readonly next: number | undefined;
  /** The queue has lost the tick that is due: unless it is set again, there will be no further one. */
  readonly stalled: boolean;
}

/** A change of a schedule in the queue. */
export type ScheduleChange =
  /** `overdue`: the change discards the tick that is due, so its run must be queued. */
  | { readonly kind: 'set'; readonly schedule: JobSchedule; readonly overdue: boolean }
  /** `unscheduled`: its file has no schedule; `gone`: there is no such file. */
  | { readonly kind: 'remove'; readonly job: string; readonly because: 'unscheduled' | 'gone' };

/**
 * What to change so that the queue has the schedules of the files. An equal schedule is left alone, since setting it again
 * would discard an overdue tick; that of a job whose file cannot be used stays as it is. A next tick after the one that is
 * due comes from a clock that was ahead: unless it is set again, the job would not run until then.
 */
export function planScheduleChanges(
  { scheduled, unscheduled, broken }: JobSchedules,
  kept: readonly KeptSchedule[],
  now: number,
): readonly ScheduleChange[] {
  const known = new Map(kept.map((schedule) => [schedule.job, schedule]));
  const sets = scheduled.flatMap((schedule): ScheduleChange[] => {
    const present = known.get(schedule.job);
    const isKept = present !== undefined && isSame(schedule, present) && !present.stalled;
    if (isKept && !isTooLate(schedule, present, now)) return [];
    return [{ kind: 'set', schedule, overdue: present?.next !== undefined && present.next <= now }];
  });
  const staying = new Set([...scheduled, ...broken].map(({ job }) => job));
  const withoutSchedule = new Set(unscheduled);
  const removals = kept
    .filter(({ job }) => !staying.has(job))
    .map(({ job }) => ({
      kind: 'remove' as const,
      job,
      because: withoutSchedule.has(job) ? ('unscheduled' as const) : ('gone' as const),
    }));
  return [...sets, ...removals];
}

function isTooLate(schedule: JobSchedule, { next }: KeptSchedule, now: number): boolean {
  return next !== undefined && next > nextTick(schedule, now + CLOCKS_DIFFER_MS);
}

function isSame({ cron, timezone }: JobSchedule, kept: KeptSchedule): boolean {
  return cron === kept.cron && timezone === kept.timezone;
}
