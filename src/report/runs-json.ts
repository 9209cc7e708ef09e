import type { Run } from '../model/run.ts';
import type { ClockKeeper, JobFacts } from './jobs-text.ts';
import type { RunFacts } from './run-facts.ts';
import { type RunSummary, runSummary } from './run-summary.ts';
import { NO_TOTALS } from './run-totals.ts';

/** A run as `runs --json` prints it: as `run --json` does, and what it is. Times are ISO 8601, null while unknown. */
export interface ListedRun extends RunSummary {
  readonly kind: Run['kind'];
  readonly store: string;
  readonly step: Run['step'];
  readonly retryOf: string | null;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** Of a run under way; null where nothing is known. */
  readonly progress: { readonly done: number; readonly total: number | null; readonly unit: string } | null;
}

/** A job as `runs --json` prints it. */
interface ListedJob {
  readonly job: string;
  readonly schedule: { readonly cron: string; readonly timezone: string } | null;
  readonly next: string | null;
  readonly broken: boolean;
  /** The id of its latest run that was more than a plan. */
  readonly last: string | null;
}

/** The object that `runs --json` prints. */
export interface RunsSummary {
  readonly jobs: readonly ListedJob[];
  /** Who keeps the schedules. */
  readonly schedules: ClockKeeper;
  /** Newest first. */
  readonly runs: readonly ListedRun[];
}

/** One run for programs; `now` in milliseconds since the epoch. */
export function listedRun(facts: Pick<RunFacts, 'run' | 'totals' | 'rejectsFile'>, now: number): ListedRun {
  const { kind, store, step, retryOf, startedAt, finishedAt, progress = null } = facts.run;
  return {
    ...runSummary(facts, now),
    ...{ kind, store, step, retryOf },
    startedAt: isoTime(startedAt),
    finishedAt: finishedAt === null ? null : isoTime(finishedAt),
    progress: progress && { done: progress.done, total: progress.total, unit: progress.unit },
  };
}

/** Jobs and runs for programs. A run in a list has the totals it ended with. */
export function runsSummary(
  jobs: readonly JobFacts[],
  schedules: ClockKeeper,
  runs: readonly Run[],
  now: number,
): RunsSummary {
  return {
    jobs: jobs.map(({ job, schedule, next, broken, last }) => ({
      job,
      schedule: schedule && { cron: schedule.cron, timezone: schedule.timezone },
      next: next === null ? null : isoTime(next),
      broken,
      last: last?.id ?? null,
    })),
    schedules,
    runs: runs.map((run) => listedRun({ run, totals: run.totals ?? NO_TOTALS, rejectsFile: null }, now)),
  };
}

function isoTime(at: number): string {
  return new Date(at).toISOString();
}
