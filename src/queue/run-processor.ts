import type { Notify } from '../config/job/job.ts';
import type { JobAction } from '../model/action.ts';
import { repeatEvery } from '../model/clock.ts';
import { storeIdentity } from '../model/remote-address.ts';
import type { Run } from '../model/run.ts';
import {
  explainError,
  InterruptedError,
  InterruptedOnRequestError,
  LockedError,
  messageOf,
  StateError,
  StateUnavailableError,
  StoreferryError,
} from '../model/storeferry-error.ts';
import type { RunFacts } from '../report/run-facts.ts';
import { executeRun, notifyRecipients, type RunTask } from '../run/execute-run.ts';
import { hasDied, readStoredReport } from '../run/report/read-stored-report.ts';
import { type DeliverShards, RunBug, type RunContext, type RunEvent } from '../run/run-context.ts';
import { importTarget, isOver, OPEN_STATUSES, targetLockName } from '../state/state.ts';
import { maskPersonalData } from '../text/mask-personal-data.ts';
import { logTick, type TickOutcome } from './keep-schedules.ts';
import { logRunEvents, type WorkerFiles, type WorkerLog, type WorkerSettings } from './worker-settings.ts';

/** When to look again at a run that waits: another run of its job is under way, or its dead worker still has its lease. */
export const RUN_RETRY_DELAY_MS = 1_000;
/** The same while the state cannot be read or written: each attempt may read the whole source. */
const STATE_RETRY_DELAY_MS = 15_000;
/** Recipients hear of a state that is away for longer than ten minutes. */
const RETRIES_BEFORE_NOTICE = 600_000 / STATE_RETRY_DELAY_MS;

/** A queued run that a worker has taken. */
interface TakenRun {
  readonly action: JobAction;
  /** The run that it became before, in a worker that was stopped or has died. */
  readonly run: string | null;
  /** The id that was printed when the run was queued. */
  readonly announcedId: string | undefined;
  /** False when it is taken again. */
  readonly isFirst: boolean;
  /** Aborts when the worker must stop, and when the queue takes the run away from it. */
  readonly signal: AbortSignal;
  /** Stores which run it became. */
  readonly remember: (run: string) => Promise<void>;
}

/**
 * The outcome of a queued run. `ended`: `run` is null when it could not begin. `delayed`: to be taken again after so many milliseconds.
 * `returned`: the worker stops, and the next one continues the run.
 */
export type ProcessedRun =
  | { readonly kind: 'ended'; readonly run: string | null; readonly error: string | null }
  | { readonly kind: 'delayed'; readonly ms: number }
  | { readonly kind: 'returned' };

/** Processes a queued run. Rejects with bugs only. */
export type ProcessRun = (taken: TakenRun) => Promise<ProcessedRun>;

interface RunProcessorOptions {
  readonly context: RunContext;
  readonly taskFor: WorkerFiles['taskFor'];
  /** The notifications that a job requests, if its file can be read. */
  readonly readRecipients: (job: string) => readonly Notify[] | undefined;
  /** Sends the shards of imports; left out: this process does. */
  readonly deliver?: DeliverShards;
  /** Called for every run that ends in this worker, with any status. */
  readonly onEnd: (run: Run) => void;
  readonly log: WorkerLog;
}

/**
 * Executes queued runs of any kind of queue, from their first step to their last. A run that a worker has begun and not ended is
 * continued, and one that has ended is not begun again.
 */
export function runProcessor({
  context,
  taskFor,
  readRecipients,
  deliver,
  onEnd,
  log,
}: RunProcessorOptions): ProcessRun {
  /** How often a run of each job has met a state that was away, one time after the other. */
  const retries = new Map<string, number>();
  return async (taken) => {
    const { action, signal } = taken;
    const { job } = action;
    const logEvent = logRunEvents(log, job, context.clock);
    let remembered = Promise.resolve();
    let begun = taken.run;
    const onEvent = (event: RunEvent) => {
      if (event.type === 'begun') {
        begun = event.run.id;
        remembered = taken.remember(begun).catch(() => {});
      }
      logEvent(event);
    };
    const own = { ...context, actors: action.by, signal, onEvent, announcedId: taken.announcedId };
    const ended = async (notify: readonly Notify[] | undefined, report: RunFacts) => {
      const { id, status, error } = report.run;
      const { applied, deleted, rejected, unsent } = report.totals;
      const level = status === 'failed' ? 'error' : status === 'stopped' ? 'warn' : 'info';
      log[level]({ run: id, job, status, applied, deleted, rejected, unsent, error }, 'run ended');
      onEnd(report.run);
      await notifyRecipients(own, notify, job, { kind: 'ended', report });
    };
    let notify: readonly Notify[] | undefined;
    try {
      own.newRunId = await announcedIdFirst(context, taken.announcedId);
      const before = await findEndedRun(context, taken);
      if (before !== undefined) {
        const { id, error } = before.run;
        log.info({ run: id, job }, 'run had already ended');
        // Its worker may have died before it sent the notification; a second one has the same id.
        await notifyRecipients(own, readRecipients(job), job, { kind: 'ended', report: before });
        return { kind: 'ended', run: id, error };
      }
      const task = await taskFor(own, action);
      notify = task.request.job.notify;
      await refuseWhileOthersWrite(context, task);
      const report = await executeRun(own, forWorkers(task, deliver)).finally(() => remembered);
      const { id, status, error } = report.run;
      retries.delete(job);
      if (status === 'interrupted' && signal.aborted) {
        log.info({ run: id, job }, 'run returned to the queue');
        return { kind: 'returned' };
      }
      await ended(notify, report);
      return { kind: 'ended', run: id, error };
    } catch (error) {
      if (error instanceof LockedError) {
        // It looks again every second, so it is logged once.
        log[taken.isFirst ? 'info' : 'debug']({ job, reason: error.message }, 'run waits');
        return { kind: 'delayed', ms: RUN_RETRY_DELAY_MS };
      }
      // Its comparison with the store was: no run is left to continue.
      if (error instanceof InterruptedOnRequestError)
        return { kind: 'ended', run: null, error: error.message };
      if (error instanceof InterruptedError) return { kind: 'returned' };
      if (error instanceof StoreferryError) {
        const problem = maskPersonalData(context.redact(explainError(error)));
        if (error instanceof StateUnavailableError) {
          log.error({ run: begun, job, reason: problem }, 'run waits for the state');
          const tried = (retries.get(job) ?? 0) + 1;
          retries.set(job, tried);
          if (tried === RETRIES_BEFORE_NOTICE)
            await notifyRecipients(own, readRecipients(job), job, {
              kind: 'not-recorded',
              run: begun,
              problem,
            });
          return { kind: 'delayed', ms: STATE_RETRY_DELAY_MS };
        }
        // A run that has begun and ends so may have sent: only its end is not in the state.
        const run = error instanceof StateError ? begun : null;
        log.error(
          { run, job, reason: problem },
          run === null ? 'run could not begin' : 'run ended without a record',
        );
        await notifyRecipients(own, readRecipients(job), job, { kind: 'not-recorded', run, problem });
        return { kind: 'ended', run, error: problem };
      }
      if (error instanceof RunBug) await ended(notify, error.report);
      throw error;
    }
  };
}

/** The shards of runs go to all workers; those of an approval, a retry or a release are sent by the worker that took it. */
function forWorkers(task: RunTask, workers: DeliverShards | undefined): RunTask {
  switch (task.kind) {
    case 'run':
      return { ...task, workers };
    case 'approve':
      // The worker that had it may have died.
      return { ...task, resumes: true };
    default:
      return task;
  }
}

/** New run ids: first the one that `enqueue` has printed, unless the job was taken before and has used it. */
async function announcedIdFirst({ state, newRunId }: RunContext, announcedId: string | undefined) {
  const isFree = announcedId !== undefined && (await state.runs.get(announcedId)) === undefined;
  const ids = isFree ? [announcedId] : [];
  return () => ids.pop() ?? newRunId();
}

/**
 * LockedError if another job writes to the store: the run goes back to the queue instead of waiting, so that jobs of
 * one store do not take all places from those of others. Only a check: the lock is taken later.
 */
async function refuseWhileOthersWrite({ state }: RunContext, task: RunTask) {
  if (task.kind === 'export') return;
  const { job, store } = task.request;
  const target = { storeId: storeIdentity(store), resource: job.import };
  const holder = await state.locks.holderOf(targetLockName(target));
  if (holder == null || holder.job === job.name) return;
  throw new LockedError(`Run ${holder.run} of ${holder.job} writes to the same store.`);
}

/**
 * How the run of this entry of the queue ended, if it has: a worker that was stopped for longer than its lock, or died before it
 * could finish the entry, leaves it to be taken again. Running it again would send or append everything a second time.
 * LockedError while another process still holds a run that it was asked to end.
 */
async function findEndedRun(context: RunContext, { run: known, announcedId }: TakenRun) {
  // A run that failed before its first step has the announced id, but the entry does not name it.
  const id = known ?? announcedId;
  const run = id === undefined ? undefined : await context.state.runs.get(id);
  if (run === undefined || !isOver(run)) return undefined;
  if (!OPEN_STATUSES.includes(run.status)) {
    // An older copy of Redis restores an entry whose run ended long ago, and which says nothing about the present
    // source.
    const isOutdated =
      run.kind !== 'export' && (await context.state.ledger(importTarget(run)).lostSince(run));
    return isOutdated ? undefined : await readStoredReport(context, run);
  }
  if (run.status === 'interrupted') return await readStoredReport(context, run);
  // The lease of a dead worker may end at any moment: without it the run would be continued.
  if (!(await hasDied(context, run))) throw new LockedError(`The run ${run.id} was asked to end.`);
  // Its worker died before it could end the run as a person had requested: it is not continued.
  const ended = await context.state.runs.update(run.id, {
    status: 'interrupted',
    error: new InterruptedOnRequestError().message,
    finishedAt: context.clock(),
  });
  return await readStoredReport(context, ended);
}

/** How often a worker sends what a recipient has not taken, or what a process that died has left. */
const DELIVER_EVERY_MS = 60_000;

/**
 * Notifies the recipients of jobs from a worker: of ticks whose run did not start in time, and of what waits for them. It ends when the
 * stack is disposed of.
 */
export function noticeSender(
  { context, files, log }: Pick<WorkerSettings, 'context' | 'files' | 'log'>,
  ending: AsyncDisposableStack,
) {
  const sending = new Set<Promise<void>>();
  const track = (sent: Promise<void>) => {
    sending.add(sent);
    void sent.finally(() => sending.delete(sent));
  };
  const deliver = async () => {
    try {
      for (const job of files.jobNames()) {
        if (context.signal.aborted) return;
        await notifyRecipients(context, files.readRecipients(job), job);
      }
    } catch (error) {
      const reason = messageOf(error);
      log.error({ reason }, 'cannot read the jobs; notices wait');
    }
  };
  track(deliver());
  const delivering = repeatEvery(DELIVER_EVERY_MS, deliver);
  ending.defer(async () => {
    await delivering.stop();
    await Promise.all(sending);
  });
  return {
    /** Logs the outcome of a tick, and sends what is to be said of it. */
    onTick(tick: TickOutcome): void {
      const problem = logTick(log, tick);
      const { job, queued, added } = tick;
      const id = `tick-${queued}${added ? '' : '-dropped'}`;
      const recipients = files.readRecipients(job);
      if (!recipients?.some(({ on }) => on.includes('missed'))) return;
      track(notifyRecipients(context, recipients, job, { kind: 'tick', id, problem }));
    },
  };
}
