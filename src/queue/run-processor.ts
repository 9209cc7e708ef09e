import { DelayedError, type Job, WaitingError } from 'bullmq';
import type { Notify } from '../config/job/job.ts';
import { masked } from '../model/masked.ts';
import type { Run } from '../model/run.ts';
import { storeIdentity } from '../model/store-identity.ts';
import {
  explainError,
  InterruptedError,
  InterruptedOnRequestError,
  LockedError,
  StoreferryError,
} from '../model/storeferry-error.ts';
import type { RunFacts } from '../report/run-facts.ts';
import { executeRun, jobTask, notifyEnd, notifyNotBegun } from '../run/execute-run.ts';
import type { DeliverShards } from '../run/import/apply-step.ts';
import { hasDied } from '../run/lock-job.ts';
import { readStoredReport } from '../run/report/read-stored-report.ts';
import {
  isExportRequest,
  RunBug,
  type RunContext,
  type RunEvent,
  type RunRequest,
} from '../run/run-context.ts';
import { importTarget, targetLockName } from '../state/state.ts';
import { jobSignal } from './queue-workers.ts';
import { isRunJobData, type RunJobData, type RunJobResult, runIdOf, UNREADABLE_JOB } from './queues.ts';
import { logRunEvents, type WorkerLog } from './worker-log.ts';

/**
 * The delay before a second look at a queued run whose job runs elsewhere, or whose dead worker still has its lease.
 */
const HELD_MS = 1_000;

/** The dependencies of the processor of runs. */
export interface RunProcessorOptions {
  readonly context: RunContext;
  readonly requestFor: (data: RunJobData) => Promise<RunRequest>;
  /** The notifications that a job requests, if its file can be read. */
  readonly notifyOf: (job: string) => Notify | undefined;
  readonly deliver: DeliverShards;
  /** Called for every run that ends in this worker, with any status. */
  readonly onEnd: (run: Run) => void;
  readonly log: WorkerLog;
}

/** Runs one job from its first step to its last; the workers of its store send the shards of an import. */
export function runProcessor({ context, requestFor, notifyOf, deliver, onEnd, log }: RunProcessorOptions) {
  return async (
    queued: Job<RunJobData, RunJobResult>,
    token: string | undefined,
    cancelled: AbortSignal | undefined,
  ): Promise<RunJobResult> => {
    if (!isRunJobData(queued.data)) {
      log.error({ queued: queued.id }, UNREADABLE_JOB);
      return { run: null, error: UNREADABLE_JOB };
    }
    const { job } = queued.data;
    const signal = jobSignal(context.signal, cancelled);
    const logEvent = logRunEvents(log, job, context.clock);
    let remembered = Promise.resolve();
    const onEvent = (event: RunEvent): void => {
      if (event.type === 'begun') {
        remembered = queued.updateData({ ...queued.data, run: event.run.id }).catch(() => {});
      }
      logEvent(event);
    };
    const own = { ...context, signal, onEvent, newRunId: await promisedId(context, queued.id) };
    const ended = async (notify: Notify | undefined, report: RunFacts): Promise<void> => {
      const { id, status, error } = report.run;
      const { applied, deleted, rejected, unsent } = report.totals;
      log.info({ run: id, job, status, applied, deleted, rejected, unsent, error }, 'run ended');
      onEnd(report.run);
      await notifyEnd(own, notify, report);
    };
    let notify: Notify | undefined;
    try {
      const before = await endedBefore(context, queued.data);
      if (before !== undefined) {
        const { id, error } = before.run;
        log.info({ run: id, job }, 'run had ended before');
        // Its worker may have died before it sent the notification; a second one has the same id.
        await notifyEnd(own, notifyOf(job), before);
        return { run: id, error };
      }
      const request = await requestFor(queued.data);
      notify = request.job.notify;
      await refuseWhileOthersWrite(context, request);
      const report = await executeRun(own, jobTask(request, deliver)).finally(() => remembered);
      const { id, status, error } = report.run;
      if (status === 'interrupted' && signal.aborted) {
        log.info({ run: id, job }, 'run handed back');
        await queued.moveToWait(token);
        throw new WaitingError();
      }
      await ended(notify, report);
      return { run: id, error };
    } catch (error) {
      if (error instanceof LockedError) {
        // It looks again every second, so it is logged once.
        log[queued.attemptsStarted <= 1 ? 'info' : 'debug']({ job, reason: error.message }, 'run waits');
        await queued.moveToDelayed(context.clock() + HELD_MS, token);
        throw new DelayedError();
      }
      if (error instanceof InterruptedError) {
        await queued.moveToWait(token);
        throw new WaitingError();
      }
      if (error instanceof StoreferryError) {
        const problem = masked(context.redact?.(explainError(error)) ?? explainError(error));
        log.error({ job, reason: problem }, 'run could not begin');
        await notifyNotBegun(own, notifyOf(job), job, problem);
        return { run: null, error: problem };
      }
      if (error instanceof RunBug) await ended(notify, error.report);
      throw error;
    }
  };
}

/** New run ids: first the one that `enqueue` has printed, unless the job was taken before and has used it. */
async function promisedId(
  { state, newRunId }: RunContext,
  queued: string | undefined,
): Promise<() => string> {
  const promised = runIdOf(queued);
  const isFree = promised !== undefined && (await state.runs.get(promised)) === undefined;
  const ids = isFree ? [promised] : [];
  return () => ids.pop() ?? newRunId();
}

/**
 * LockedError if another job writes to the store: the run goes back to the queue instead of waiting, so that jobs of
 * one store do not take all places from those of others. Only a check: the lock is taken later.
 */
async function refuseWhileOthersWrite({ state }: RunContext, request: RunRequest): Promise<void> {
  if (isExportRequest(request)) return;
  const { job, store } = request;
  const target = { storeId: storeIdentity(store), resource: job.import };
  const holder = await state.locks.holderOf(targetLockName(target));
  if (holder == null || holder.job === job.name) return;
  throw new LockedError(`Run ${holder.run} of ${holder.job} writes to the same store.`);
}

/**
 * How the run of this job ended, if it has: a worker that was stopped for longer than its lock, or died before it
 * could finish the job, leaves a job that is taken again. Running it again would send or append everything a second
 * time.
 */
async function endedBefore(context: RunContext, { run: id }: RunJobData): Promise<RunFacts | undefined> {
  const run = id === undefined ? undefined : await context.state.runs.get(id);
  if (run === undefined) return undefined;
  const isOpen = run.status === 'running' || run.status === 'interrupted';
  if (!isOpen) {
    // An older copy of Redis restores an entry whose run ended long ago, and which says nothing about the present
    // source.
    const isOutdated =
      run.kind !== 'export' && (await context.state.ledger(importTarget(run)).lostSince(run));
    return isOutdated ? undefined : await readStoredReport(context, run);
  }
  if (run.interruptAskedAt == null) return undefined;
  if (run.status === 'interrupted') return await readStoredReport(context, run);
  if (!(await hasDied(context, run))) return undefined;
  // Its worker died before it could end the run as a person had requested: it is not continued.
  const ended = await context.state.runs.update(run.id, {
    status: 'interrupted',
    error: new InterruptedOnRequestError().message,
    finishedAt: context.clock(),
  });
  return await readStoredReport(context, ended);
}
