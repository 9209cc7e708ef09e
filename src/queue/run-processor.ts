import { DelayedError, type Job, WaitingError } from 'bullmq';
import { explainError, InterruptedError, LockedError, StoreferryError } from '../model/errors.ts';
import type { RunContext } from '../run/context.ts';
import type { DeliverShards } from '../run/delivery.ts';
import type { RunEvent } from '../run/events.ts';
import type { ImportRequest } from '../run/import-request.ts';
import { importRun } from '../run/import-run.ts';
import { jobSignal } from './job-signal.ts';
import type { RunJobData, RunJobResult } from './job-types.ts';
import type { WorkerLog } from './worker-log.ts';

/** How long a queued run steps back while its job runs elsewhere, or the lease of a dead worker runs out. */
const HELD_MS = 1_000;
const PROGRESS_EVERY_MS = 10_000;

export interface RunProcessorOptions {
  readonly context: RunContext;
  readonly requestFor: (data: RunJobData) => Promise<ImportRequest>;
  readonly deliver: DeliverShards;
  readonly log: WorkerLog;
}

/** Runs one job from stage to finish; its shards go to the workers of the store. */
export function runProcessor({ context, requestFor, deliver, log }: RunProcessorOptions) {
  return async (
    queued: Job<RunJobData, RunJobResult>,
    token: string | undefined,
    cancelled: AbortSignal | undefined,
  ): Promise<RunJobResult> => {
    const { job } = queued.data;
    const signal = jobSignal(context.signal, cancelled);
    const own = { ...context, signal, onEvent: logEvents(log, job, context.clock) };
    try {
      const request = await requestFor(queued.data);
      const { run, totals } = await importRun(own, request, deliver, { together: true });
      const { id, status, error } = run;
      if (status === 'interrupted' && signal.aborted) {
        log.info({ run: id, job }, 'run handed back');
        await queued.moveToWait(token);
        throw new WaitingError();
      }
      const { applied, deleted, rejected, unsent } = totals;
      log.info({ run: id, job, status, applied, deleted, rejected, unsent, error }, 'run ended');
      return { run: id, error };
    } catch (error) {
      if (error instanceof LockedError) {
        log.info({ job, reason: error.message }, 'run waits');
        await queued.moveToDelayed(context.clock() + HELD_MS, token);
        throw new DelayedError();
      }
      if (error instanceof InterruptedError) {
        await queued.moveToWait(token);
        throw new WaitingError();
      }
      if (error instanceof StoreferryError) {
        log.error({ job, reason: error.message }, 'run could not begin');
        return { run: null, error: explainError(error) };
      }
      throw error;
    }
  };
}

function logEvents(log: WorkerLog, job: string, clock: () => number): (event: RunEvent) => void {
  let run: string | null = null;
  let loggedAt = clock();
  return (event) => {
    switch (event.type) {
      case 'begun':
        run = event.run.id;
        return log.info({ run, job, continued: event.continued }, 'run begun');
      case 'waiting':
        return log.info({ run, job, heldBy: event.heldBy }, 'run waits for its store');
      case 'progress': {
        if (clock() - loggedAt < PROGRESS_EVERY_MS) return;
        loggedAt = clock();
        const { step, done, total, unit } = event;
        return log.info({ run, job, step, done, total, unit }, 'progress');
      }
      default:
        return event satisfies never;
    }
  };
}
