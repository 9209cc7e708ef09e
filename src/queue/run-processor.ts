import { DelayedError, type Job, WaitingError } from 'bullmq';
import { LockedError, StoreferryError } from '../model/errors.ts';
import type { DeliverShards } from '../run/apply-step.ts';
import type { RunContext } from '../run/context.ts';
import type { ImportRequest } from '../run/import-request.ts';
import { importRun } from '../run/import-run.ts';
import type { RunJobData, RunJobResult } from './job-types.ts';

/** How long a queued run steps back while its job runs elsewhere, or the lease of a dead worker runs out. */
const HELD_MS = 2_000;

/** Runs one job from stage to finish; its shards go to the workers of the store. */
export function runProcessor(
  context: RunContext,
  requestFor: (data: RunJobData) => Promise<ImportRequest>,
  deliver: DeliverShards,
) {
  return async (
    queued: Job<RunJobData, RunJobResult>,
    token: string | undefined,
    cancelled: AbortSignal | undefined,
  ): Promise<RunJobResult> => {
    const signals = [context.signal, ...(cancelled === undefined ? [] : [cancelled])];
    const own = { ...context, signal: AbortSignal.any(signals) };
    try {
      const { run } = await importRun(own, await requestFor(queued.data), deliver);
      if (run.status === 'interrupted' && own.signal.aborted) {
        await queued.moveToWait(token);
        throw new WaitingError();
      }
      return { run: run.id, error: run.error };
    } catch (error) {
      if (error instanceof LockedError) {
        await queued.moveToDelayed(context.clock() + HELD_MS, token);
        throw new DelayedError();
      }
      if (error instanceof StoreferryError) return { run: null, error: error.message };
      throw error;
    }
  };
}
