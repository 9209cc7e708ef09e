import {
  lastedMs,
  type Run,
  type RunStatus,
  type RunTotals,
  type ShareEstimate,
  type Verification,
} from '../model/run.ts';
import type { JudgedWave } from '../model/wave-limits.ts';
import { type ClockKeeper, type JobFacts, NO_TOTALS, type RunFacts } from './run-facts.ts';

/** The object that `--json` prints as the last line, with its members in the order of design.md. */
export interface RunSummary extends Omit<RunTotals, 'inRows'> {
  /** Null if no run began. */
  readonly run: string | null;
  /** Null if a command that names a run failed before it knew the job. */
  readonly job: string | null;
  readonly status: RunStatus;
  /** Relative to the workspace; null if nothing was rejected. */
  readonly rejectsFile: string | null;
  readonly durationMs: number;
  readonly error: string | null;
  /** The waves that were sent and judged; absent if the job sends in one go. */
  readonly waves?: readonly Omit<JudgedWave, 'answered'>[];
}

/** A command that failed before it could collect a report: the state cannot be used, or the job is already running. */
export interface FailedCommand {
  readonly run: string | null;
  readonly job: string | null;
  readonly status: RunStatus;
  /** What its run had reported before; the other figures are 0. */
  readonly applied: number;
  readonly rejected: number;
  readonly durationMs: number;
  readonly error: string;
}

/** The summary of a command that has no report, for programs. */
export function failureSummary({
  run,
  job,
  status,
  applied,
  rejected,
  durationMs,
  error,
}: FailedCommand): RunSummary {
  const { inRows: _, ...totals } = NO_TOTALS;
  return { run, job, status, ...totals, applied, rejected, rejectsFile: null, durationMs, error };
}

/**
 * The summary of a run for programs. The duration of an unfinished run ends at `now` (milliseconds since the epoch).
 */
export function runSummary(
  { run, totals, rejectsFile }: Pick<RunFacts, 'run' | 'totals' | 'rejectsFile'>,
  now: number,
): RunSummary {
  return {
    run: run.id,
    job: run.job,
    status: run.status,
    rows: totals.rows,
    records: totals.records,
    new: totals.new,
    changed: totals.changed,
    unchanged: totals.unchanged,
    removed: totals.removed,
    operations: totals.operations,
    applied: totals.applied,
    deleted: totals.deleted,
    rejected: totals.rejected,
    skipped: totals.skipped,
    unsent: totals.unsent,
    held: totals.held,
    requests: totals.requests,
    fieldsChanged: totals.fieldsChanged,
    rejectsFile,
    durationMs: lastedMs(run, now),
    error: run.error,
    ...(run.waves === undefined ? {} : { waves: run.waves.map(({ answered: _, ...wave }) => wave) }),
  };
}

/**
 * A run as `runs --json` prints it: the object of `run --json`, and the kind of run. Times are ISO 8601, null while
 * unknown.
 */
interface ListedRun extends RunSummary {
  readonly kind: Run['kind'];
  readonly store: string;
  readonly step: Run['step'];
  readonly retryOf: string | null;
  readonly undoOf: string | null;
  readonly releaseOf: string | null;
  readonly startedAt: string;
  readonly finishedAt: string | null;
  /** The progress of a running run; null if nothing is known. */
  readonly progress: { readonly done: number; readonly total: number | null; readonly unit: string } | null;
}

/** A job as `runs --json` prints it. */
interface ListedJob {
  readonly job: string;
  readonly schedule: { readonly cron: string; readonly timezone: string } | null;
  readonly next: string | null;
  readonly broken: boolean;
  /** The id of its latest run that was not just a plan. */
  readonly last: string | null;
}

/** The object that `runs --json` prints. */
interface RunsSummary {
  readonly jobs: readonly ListedJob[];
  /** What keeps the schedules. */
  readonly schedules: ClockKeeper;
  /** Newest first. */
  readonly runs: readonly ListedRun[];
}

/** One run for programs; `now` in milliseconds since the epoch. */
export function listedRun(facts: Pick<RunFacts, 'run' | 'totals' | 'rejectsFile'>, now: number): ListedRun {
  const { kind, store, step, retryOf, startedAt, finishedAt, progress = null } = facts.run;
  const { undo, release } = facts.run;
  return {
    ...runSummary(facts, now),
    ...{ kind, store, step, retryOf, undoOf: undo?.of ?? null, releaseOf: release?.of ?? null },
    startedAt: isoTime(startedAt),
    finishedAt: finishedAt === null ? null : isoTime(finishedAt),
    progress: progress && { done: progress.done, total: progress.total, unit: progress.unit },
  };
}

/** Jobs and runs for programs. A run in a list has its final totals. */
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

/** ISO 8601 in UTC. */
export function isoTime(at: number): string {
  return new Date(at).toISOString();
}

/** The object that `verify --json` prints as the last line. */
interface VerificationSummary
  extends Pick<
    Verification,
    'sampled' | 'known' | 'asKnown' | 'recreated' | 'altered' | 'rejected' | 'unsent'
  > {
  /** Null if the command failed before it was known, like `store`. */
  readonly job: string | null;
  readonly store: string | null;
  /** `estimate` is null if no answer was conclusive; then `low` is 0 and `high` 1. */
  readonly forgottenShare: ShareEstimate;
  readonly error: string | null;
}

/** The summary of a verification for programs. */
export function verificationSummary(
  { job, store, error }: Pick<Run, 'job' | 'store' | 'error'>,
  { sampled, known, asKnown, recreated, altered, rejected, unsent, forgottenShare }: Verification,
): VerificationSummary {
  return {
    ...{ job, store, sampled, known, asKnown, recreated, altered, rejected, unsent, forgottenShare },
    error,
  };
}

/** The summary of a verification that could not begin, or has no report. */
export function failedVerification({
  job,
  error,
}: Pick<VerificationSummary, 'job' | 'error'>): VerificationSummary {
  const nothing = { sampled: 0, known: 0, asKnown: 0, recreated: 0, altered: 0, rejected: 0, unsent: 0 };
  return { job, store: null, ...nothing, forgottenShare: { estimate: null, low: 0, high: 1 }, error };
}
