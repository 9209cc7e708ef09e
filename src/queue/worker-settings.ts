import type { BaseLogger } from 'pino';
import type { ImportJob, Notify } from '../config/job/job.ts';
import type { StoreConfig } from '../config/store-config.ts';
import type { JobSchedules } from '../config/workspace.ts';
import type { JobAction } from '../model/action.ts';
import type { Run } from '../model/run.ts';
import type { RunTask } from '../run/execute-run.ts';
import type { RunContext, RunEvent, StoreStats } from '../run/run-context.ts';

/** The log of a worker: one line per step of a run or shard, with their ids. */
export type WorkerLog = Pick<BaseLogger, 'debug' | 'info' | 'warn' | 'error'>;

/** The message while records wait, in the log of a run and of a shard. */
export const WAITS_FOR_REQUESTS = 'run waits: the results of earlier requests for these records are unknown';

const PROGRESS_EVERY_MS = 10_000;
const SAME_ERROR_EVERY_MS = 5_000;
/** Limits the memory: messages may contain job names. */
const MAX_REMEMBERED = 100;

/** Logs the events of a run, with its id. */
export function logRunEvents(log: WorkerLog, job: string, clock: () => number): (event: RunEvent) => void {
  let run: string | null = null;
  let loggedAt = clock();
  return (event) => {
    switch (event.type) {
      case 'begun':
        run = event.run.id;
        return log.info({ run, job, continued: event.continued }, 'run begun');
      case 'sampled':
        return log.info({ run, job, records: event.records, known: event.known }, 'sample is sent again');
      case 'touching':
        return log.info({ run, job, records: event.records }, 'store is asked by writes that change nothing');
      case 'waiting':
        return log.info({ run, job, heldBy: event.heldBy, needs: event.needs }, 'run waits');
      case 'waiting-for-requests':
        return log.info({ run, job, operations: event.operations, ms: event.ms }, WAITS_FOR_REQUESTS);
      case 'state-loss':
        return log.warn({ run, job, ...event.loss }, 'the state has lost records of sent requests');
      case 'wave': {
        const { number, of, wave } = event;
        return log.info({ run, job, number, of, records: wave.records, stop: wave.stop }, 'wave sent');
      }
      case 'changed-since-plan':
        return log.info({ run, job }, event.text);
      case 'not-notified':
        return log.warn(
          { run, job, host: event.host, problem: event.problem },
          'the notification of its end could not be sent',
        );
      case 'report-not-written':
        return log.warn({ run, job, problem: event.problem }, 'its report could not be written');
      case 'progress': {
        if (Math.abs(clock() - loggedAt) < PROGRESS_EVERY_MS) return;
        loggedAt = clock();
        const { step, done, total, unit } = event;
        return log.info({ run, job, step, done, total, unit }, 'progress');
      }
      default:
        return event satisfies never;
    }
  };
}

/** Logs errors of Redis from all connections, each message at most every five seconds. */
export function errorLogger(log: WorkerLog): (error: Error) => void {
  const loggedAtByMessage = new Map<string, number>();
  return ({ message }) => {
    const now = performance.now();
    if (now - (loggedAtByMessage.get(message) ?? Number.NEGATIVE_INFINITY) < SAME_ERROR_EVERY_MS) return;
    if (loggedAtByMessage.size >= MAX_REMEMBERED) loggedAtByMessage.clear();
    loggedAtByMessage.set(message, now);
    // Only the message: errors of Redis contain the command with its arguments.
    log.error({ reason: message }, 'Redis error');
  };
}

/** The job of a run and its store as the files have them now: they may have changed since it began. */
export interface RunConfiguration {
  readonly job: ImportJob;
  readonly store: StoreConfig;
}

/** How a worker reads the workspace, each time from its files. */
export interface WorkerFiles {
  readonly storeNames: () => readonly string[];
  readonly jobNames: () => readonly string[];
  readonly schedules: () => JobSchedules;
  readonly isScheduled: (job: string) => boolean;
  /** The jobs that run for files that arrive, with their patterns. */
  readonly watched: () => readonly { readonly job: string; readonly pattern: string }[];
  readonly isExport: (job: string) => boolean;
  /** Changes when schedules may have changed. */
  readonly schedulesVersion: () => Promise<string>;
  readonly taskFor: (context: RunContext, action: JobAction) => Promise<RunTask>;
  /** The notifications that a job requests, if its file can be read. */
  readonly readRecipients: (job: string) => readonly Notify[] | undefined;
  readonly readConfiguration: (run: Run) => RunConfiguration;
}

/** The dependencies of a worker. */
export interface WorkerSettings {
  /** The Redis with its work; undefined: the work is in the embedded state. */
  readonly redisUrl: string | undefined;
  /** How long an entry of a queue (BullMQ's job) stays with a silent worker. */
  readonly lockDurationMs?: number | undefined;
  readonly context: RunContext;
  readonly files: WorkerFiles;
  readonly storeStats: () => readonly StoreStats[];
  readonly log: WorkerLog;
}

/** A worker that takes runs until the stack it was started with is disposed of, from its queue alone. */
export interface StartedWorker {
  /** Why it is not healthy; null if it is. */
  health(): Promise<string | null>;
  /** The text for Prometheus. */
  metrics(): Promise<string>;
  /** Aborts when the worker cannot continue: then the process should be restarted. Its reason is an error with the cause. */
  readonly gaveUp: AbortSignal;
}

/** A worker that also looks for files that arrive, and runs jobs for events. */
export interface RunningWorker extends StartedWorker {
  /** Runs the job soon, after an event of its store. */
  runForEvent(job: string): void;
}
