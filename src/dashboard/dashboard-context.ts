import type { FastifyPluginCallback } from 'fastify';
import type { Workspace } from '../config/workspace.ts';
import type { ClockKeeper, JobFacts } from '../report/run-facts.ts';
import type { RunContext } from '../run/run-context.ts';

/** The jobs of a workspace, and what keeps their schedules. */
export interface ListedJobs {
  readonly jobs: readonly JobFacts[];
  readonly keeper: ClockKeeper;
}

/** What the pages of the dashboard are made from; put together at the edge (cli/). */
export interface DashboardContext {
  /** State, artifacts, clock and version. Its `signal` aborts when the dashboard stops. */
  readonly context: RunContext;
  /**
   * The workspace as it is now: people edit its files while the dashboard runs, so every page opens it again. What is
   * wrong in a file is thrown when it is asked for (ConfigurationError), or given by `inspection` without throwing.
   */
  readonly openWorkspace: () => Workspace;
  /** What the workspace is called in titles: the name of its folder. */
  readonly workspaceName: string;
  /** Where state is shared; undefined where it is embedded: then there are no queues. */
  readonly redisUrl: string | undefined;
  /** How a command for this workspace begins when it is typed: `storeferry -C shop`. */
  readonly program: string;
  /** All jobs, or the one that is named. */
  readonly listJobs: (only?: string) => Promise<ListedJobs>;
  readonly actions: DashboardActions;
  /**
   * A text that was not written for a page (an error, the output of a command) as a page may show it: the workspace's
   * secrets taken out, its commands as they must be typed here.
   */
  readonly retell: (text: string) => string;
}

/** A command that the dashboard can start, as a person would type it. */
export type Action =
  | { readonly command: 'run' | 'plan'; readonly job: string }
  | { readonly command: 'approve' | 'retry'; readonly job: string; readonly run: string };

/** The state of an action when there is something to show. */
export type ActionResult =
  /** It has become this run, which goes on, or has ended already. */
  | { readonly kind: 'begun'; readonly run: string }
  /** It goes on and has no run yet, or none that will surely stay: an earlier one may be continued instead. */
  | { readonly kind: 'starting' }
  /** It waits for a worker to take it; `workers`: whether any is there. */
  | { readonly kind: 'enqueued'; readonly workers: boolean }
  /** The job is under way already; its run, if it has one yet. */
  | { readonly kind: 'busy'; readonly run: string | null }
  /** It ended before it had a run; `message` is what the command printed. */
  | { readonly kind: 'refused'; readonly message: string };

/** Work on a job: of this dashboard, of a worker, or still in the queue; its run is null while it has none. */
export interface AtWork {
  readonly by: 'dashboard' | 'worker' | 'queue';
  readonly run: string | null;
}

/** Carries actions out; made at the edge, since only that starts processes. */
export interface DashboardActions {
  /**
   * Begins an action and gives its run as soon as there is one, or its state after a moment. `once` is the
   * name of one confirmation: the same one again begins nothing, and gives its result. At most one action of a
   * job goes on at a time. `before` is done once nothing else of the job goes on, and where it fails nothing is begun.
   */
  readonly begin: (action: Action, once: string, before?: () => Promise<void>) => Promise<ActionResult>;
  /** Whether runs are handed over to workers at the moment, instead of running beside the dashboard. */
  readonly hasWorkers: () => Promise<boolean>;
  /** What is started here or handed over to the workers, and has not ended: by job. */
  readonly atWork: () => Promise<ReadonlyMap<string, AtWork>>;
  /** The state of the action of a confirmation; undefined when it is no longer remembered. */
  readonly look: (
    once: string,
  ) => Promise<{ readonly action: Action; readonly result: ActionResult } | undefined>;
}

/** Logs what people do and what fails; secrets are removed from what it gets. */
export interface DashboardLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** The path of the queues. */
export const QUEUES_PATH = '/queues';

/** bull-board, made where the queues are known. It is read-only. */
export interface QueueBoard {
  readonly plugin: FastifyPluginCallback;
  /** From now on these stores' queues are shown. */
  show(stores: readonly string[]): void;
}
