import { lastedMs, type Run } from '../../model/run.ts';
import type { PastRun } from '../../report/plots/history-plot.ts';

/** Runs of one job (newest first) for its history plot, oldest first: plans send nothing, and a retry is a part of a run. */
export function pastRuns(runs: readonly Run[], now: number): PastRun[] {
  return runs
    .filter(({ kind }) => kind === 'run' || kind === 'export')
    .map((run) => ({
      at: run.startedAt,
      status: run.status,
      durationMs: lastedMs(run, now),
      applied: run.totals?.applied ?? 0,
      deleted: run.totals?.deleted ?? 0,
      rejected: run.totals?.rejected ?? 0,
      unchanged: run.totals?.unchanged ?? 0,
      unsent: run.totals?.unsent ?? 0,
    }))
    .reverse();
}
