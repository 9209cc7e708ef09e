import { createHash } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { z } from 'zod';
import { ConfigurationError } from '../../model/storeferry-error.ts';
import type { Workspace } from '../workspace.ts';
import { cronParser, scheduleSchema } from './job-fields.ts';

/** The schedule of a job. */
export type JobSchedule = Readonly<z.infer<typeof scheduleSchema>> & { readonly job: string };

/** The schedules in the job files. */
export interface JobSchedules {
  readonly scheduled: readonly JobSchedule[];
  /** Jobs without a schedule. */
  readonly unscheduled: readonly string[];
  /** Jobs with invalid files: whether they have a schedule is unknown. */
  readonly broken: readonly { readonly job: string; readonly problem: string }[];
}

/** Reads the schedules of all jobs. A workspace reads each file once: open it again to see changes. */
export function readSchedules({ jobNames, inspectJob }: Workspace): JobSchedules {
  const scheduled: JobSchedule[] = [];
  const unscheduled: string[] = [];
  const broken: { job: string; problem: string }[] = [];
  for (const name of jobNames()) {
    const { job, problems } = inspectJob(name);
    if (job === undefined) broken.push({ job: name, problem: new ConfigurationError(problems).message });
    else if (job.schedule === undefined) unscheduled.push(name);
    else scheduled.push({ job: name, ...job.schedule });
  }
  return { scheduled, unscheduled, broken };
}

/** Whether a tick of the job is still wanted: its file has a schedule, or is invalid and may have one. */
export function isScheduled({ inspection }: Workspace, name: string): boolean {
  const found = inspection.job(name);
  if (found === undefined) return false;
  const { value: job, problems, unset } = found;
  return job?.schedule !== undefined || job === undefined || problems.length + unset.length > 0;
}

/** The first tick after a time (both in milliseconds since the epoch). */
export function nextTick({ cron, timezone }: Omit<JobSchedule, 'job'>, after: number): number {
  const next = (from: number, tz: string): number =>
    cronParser()
      .parse(cron, { currentDate: new Date(from), tz })
      .next()
      .getTime();
  try {
    return next(after, timezone);
  } catch {
    // cron-parser 5.10 finds no tick on the day before clocks go back by half an hour (Australia/Lord_Howe). So it gets the time on
    // the wall there as if it were UTC.
    const offset = offsetMs(timezone, after);
    const wall = next(after + offset, 'UTC');
    return wall - offsetMs(timezone, wall - offset);
  }
}

/** How far the clocks of a time zone are ahead of UTC at a time, in milliseconds. */
function offsetMs(timeZone: string, at: number): number {
  const parts = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).formatToParts(at);
  const name = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  const [, sign, hours = 0, minutes = 0] = /^GMT([+-])(\d+):(\d+)/.exec(name) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

/** Changes whenever a file changes that schedules depend on. Cheap enough to be called every few seconds. */
export async function schedulesVersion(dir: string): Promise<string> {
  const inFolder = async (folder: string): Promise<string[]> => {
    const names = await readdir(join(dir, folder)).catch(() => []);
    return names.map((name) => join(folder, name));
  };
  const names = ['.env', 'stores.yaml', ...(await inFolder('jobs')), ...(await inFolder('mappings'))];
  const hash = createHash('sha256');
  for (const name of names.sort()) {
    const found = await stat(join(dir, name)).catch(() => null);
    hash.update(`${name}\0${found?.mtimeMs}\0${found?.size}\0${found?.ino}\0`);
  }
  return hash.digest('base64url');
}

/** The problem of a schedule; undefined if it is valid. */
export function whyNoSchedule(cron: string, timezone: string): string | undefined {
  return scheduleSchema.safeParse({ cron, timezone }).error?.issues[0]?.message;
}
