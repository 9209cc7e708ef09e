import type { ImportJob, Notify } from '../config/job/job.ts';
import type { JobSchedules } from '../config/job/read-schedules.ts';
import type { StoreConfig } from '../config/store-config.ts';
import type { Run } from '../model/run.ts';
import type { RunContext, RunRequest } from '../run/run-context.ts';
import type { StoreStats } from '../run/store-clients.ts';
import type { WorkerLog } from './worker-log.ts';

/** The configuration with which a run was begun. */
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
  /** Changes when schedules may have changed. */
  readonly schedulesVersion: () => Promise<string>;
  readonly requestFor: (data: { readonly job: string; readonly resend: boolean }) => Promise<RunRequest>;
  /** The notifications that a job requests, if its file can be read. */
  readonly notifyOf: (job: string) => Notify | undefined;
  readonly configurationOf: (run: Run) => RunConfiguration;
}

/** The dependencies of a worker. */
export interface WorkerSettings {
  /** The Redis with its work; undefined: the work is in the embedded state. */
  readonly redisUrl: string | undefined;
  /** How long a job in Redis stays with a silent worker. */
  readonly lockDurationMs?: number | undefined;
  readonly context: RunContext;
  readonly files: WorkerFiles;
  readonly storeStats: () => readonly StoreStats[];
  readonly log: WorkerLog;
}

/** A worker that takes runs until the stack it was started with is disposed of. */
export interface RunningWorker {
  /** Why it is not healthy; null if it is. */
  health(): Promise<string | null>;
  /** The text for Prometheus. */
  metrics(): Promise<string>;
  /** Aborts when the worker cannot continue: then the process should be restarted. Its reason is an error with the cause. */
  readonly gaveUp: AbortSignal;
}
