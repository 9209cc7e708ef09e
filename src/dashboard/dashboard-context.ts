import type { Workspace } from '../config/workspace.ts';
import type { ClockKeeper, JobFacts } from '../report/jobs-text.ts';
import type { RunContext } from '../run/run-context.ts';
import type { DashboardActions } from './dashboard-actions.ts';

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
