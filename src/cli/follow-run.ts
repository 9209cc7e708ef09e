import { setTimeout as sleep } from 'node:timers/promises';
import { StateError } from '../model/errors.ts';
import type { Queues } from '../queue/queues.ts';
import type { RunContext } from '../run/run-context.ts';

const POLL_MS = 250;

/**
 * Waits for a queued run, showing how far it is. Gives the id of the run when it is over; null when whoever waits
 * was interrupted, which the run does not notice.
 */
export async function followRun(
  queues: Queues,
  { queued: queuedId, job }: { readonly queued: string; readonly job: string },
  context: RunContext,
): Promise<string | null> {
  const show = showProgress(context);
  while (!context.signal.aborted) {
    const queued = await queues.ask(queues.runs.getJob(queuedId));
    if (queued === undefined) {
      throw new StateError('The queue has lost the run.', {
        hint: `Redis was emptied, or evicts keys (see maxmemory-policy). Hand the job over again: storeferry enqueue ${job}`,
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

/** Looks at the job's running run, whichever worker has it; about once a second there is something new. */
function showProgress(context: RunContext): (job: string) => Promise<void> {
  let shown: string | null = null;
  let toldAt = 0;
  let waitsUntil = 0;
  return async (job) => {
    const [run] = await context.state.runs.list({ job, limit: 1 });
    if (run?.status !== 'running') return;
    if (run.id !== shown) {
      context.onEvent({ type: 'begun', run, continued: false });
      shown = run.id;
    }
    const { progress, waiting } = run;
    const waitsMs = waiting == null ? 0 : waiting.until - context.clock();
    if (waiting != null && waitsMs > 0 && waiting.until > waitsUntil) {
      waitsUntil = waiting.until;
      context.onEvent({ type: 'waiting-for-requests', operations: waiting.operations, ms: waitsMs });
    }
    if (progress == null || progress.at === toldAt) return;
    toldAt = progress.at;
    context.onEvent({ type: 'progress', ...progress });
  };
}
