import { lastedMs, type Run } from '../../model/run.ts';
import type { Night } from '../../report/plots/history-plot.ts';

/** Runs of one job (newest first) as nights to compare, oldest first: plans send nothing, and a retry is but a part. */
export function nightsOf(runs: readonly Run[], now: number): Night[] {
  return runs
    .filter(({ kind }) => kind === 'run' || kind === 'export')
    .map((run) => ({ ...run, durationMs: lastedMs(run, now) }))
    .map(({ startedAt, durationMs, status, totals }) => ({
      at: startedAt,
      status,
      durationMs,
      applied: totals?.applied ?? 0,
      rejected: totals?.rejected ?? 0,
      unchanged: totals?.unchanged ?? 0,
      unsent: totals?.unsent ?? 0,
    }))
    .reverse();
}
