import { lastedMs, type RunStatus, type RunTotals } from '../model/run.ts';
import type { RunFacts } from './run-facts.ts';
import { NO_TOTALS } from './run-totals.ts';

/** The object that `--json` prints as the last line, its members in the order in which design.md names them. */
export interface RunSummary extends Omit<RunTotals, 'inRows'> {
  /** Null when no run began. */
  readonly run: string | null;
  /** Null when a command that names a run failed before it knew its job. */
  readonly job: string | null;
  readonly status: RunStatus;
  /** Relative to the workspace; null when nothing was rejected. */
  readonly rejectsFile: string | null;
  readonly durationMs: number;
  readonly error: string | null;
}

/** A command that failed before it could collect a report: the state cannot be used, the job is running elsewhere. */
export interface FailedCommand {
  readonly run: string | null;
  readonly job: string | null;
  readonly status: RunStatus;
  /** What its run had reported by then; the other figures are 0. */
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

/** The summary of a run for programs. A run that is not over has lasted until `now` (milliseconds since the epoch). */
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
    requests: totals.requests,
    fieldsChanged: totals.fieldsChanged,
    rejectsFile,
    durationMs: lastedMs(run, now),
    error: run.error,
  };
}
