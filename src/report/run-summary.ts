import type { Run, RunStatus, RunTotals } from '../model/run.ts';

/** The object that `--json` prints as the last line, its members in the order in which design.md names them. */
export interface RunSummary extends Omit<RunTotals, 'inRows'> {
  readonly run: string;
  readonly job: string;
  readonly status: RunStatus;
  /** Relative to the workspace; null when nothing was rejected. */
  readonly rejectsFile: string | null;
  readonly durationMs: number;
  readonly error: string | null;
}

/** What a summary is made of. */
export interface SummarisedRun {
  readonly run: Run;
  readonly totals: RunTotals;
  readonly rejectsFile: string | null;
}

/** The summary of a run for programs. A run that is not over has lasted until `now` (milliseconds since the epoch). */
export function runSummary({ run, totals, rejectsFile }: SummarisedRun, now: number): RunSummary {
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
    durationMs: Math.max(0, (run.finishedAt ?? now) - run.startedAt),
    error: run.error,
  };
}
