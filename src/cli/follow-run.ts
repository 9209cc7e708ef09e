import { setTimeout as sleep } from 'node:timers/promises';
import { StateError } from '../model/errors.ts';
import type { Queues } from '../queue/open-queues.ts';
import type { RunContext } from '../run/context.ts';
import { readStoredReport } from '../run/run-report.ts';
import type { RunWatch } from './watch-run.ts';

const POLL_MS = 250;

/**
 * Waits for a queued run, showing how far it is. Gives the id of the run when it is over; null when whoever waits
 * was interrupted, which the run does not notice.
 */
export async function followRun(
  queues: Queues,
  queuedId: string,
  context: RunContext,
  watch: RunWatch,
): Promise<string | null> {
  const show = showProgress(context, watch);
  while (!context.signal.aborted) {
    const queued = await queues.runs.getJob(queuedId);
    if (queued === undefined) {
      throw new StateError('The queue has lost the run.', {
        hint: 'Redis was emptied or evicts keys; `storeferry runs` shows what the state knows.',
      });
    }
    if (queued.finishedOn !== undefined) {
      const result = queued.returnvalue;
      if (result?.run == null) {
        throw new StateError(result?.error ?? queued.failedReason ?? 'The run could not begin.');
      }
      return result.run;
    }
    await show(queued.data.job);
    await sleep(POLL_MS, undefined, { signal: context.signal }).catch(() => {});
  }
  return null;
}

/** Looks at the job's running run, whichever worker has it. */
function showProgress(context: RunContext, watch: RunWatch): (job: string) => Promise<void> {
  let shown: string | null = null;
  let total: number | null = null;
  return async (job) => {
    const { runs } = context.state;
    const [run] = await runs.list({ job, limit: 1 });
    if (run?.status !== 'running') return;
    if (run.id !== shown) {
      watch.onEvent({ type: 'begun', run, continued: false });
      shown = run.id;
      total = null;
    }
    if (run.step !== 'apply') return;
    // Read once: a plan does not change any more.
    total ??= (await readStoredReport(context, run)).totals.operations;
    const { applied, rejected, deleted } = await runs.tally(run.id);
    const done = applied + rejected + deleted;
    watch.onEvent({ type: 'progress', step: 'apply', done, total, unit: 'requests' });
  };
}
