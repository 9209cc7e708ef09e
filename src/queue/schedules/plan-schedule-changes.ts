import { type JobSchedule, type JobSchedules, nextTick } from '../../config/job/read-schedules.ts';

/** The clocks of workers differ: a tick that one has seen come may lie ahead for another. */
const CLOCKS_DIFFER_MS = 10 * 60 * 1_000;

/** A schedule as the queue keeps it. */
export interface KeptSchedule {
  readonly job: string;
  readonly cron: string | undefined;
  readonly timezone: string | undefined;
  /** When its next tick is due; undefined when the queue does not know. */
  readonly next: number | undefined;
  /** The queue has lost the tick that is due: without help there would never be another one. */
  readonly stalled: boolean;
}

export type ScheduleChange =
  /** `overdue`: the tick that was due is thrown away by the change, and must be made up for. */
  | { readonly kind: 'set'; readonly schedule: JobSchedule; readonly overdue: boolean }
  /** `unscheduled`: its file says so; `gone`: there is no such file (any more). */
  | { readonly kind: 'remove'; readonly job: string; readonly because: 'unscheduled' | 'gone' };

/**
 * What to change so that the queue keeps what the files say. What is the same is left alone, since setting it again
 * would throw an overdue tick away; the schedule of a job whose file is broken at the moment stays as it is. A next tick
 * beyond the one that is due is of a clock that was ahead: without help the job would not run until then.
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
