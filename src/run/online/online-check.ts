import type { WorkspaceCheck } from '../../config/check-workspace.ts';

/** The result of a probe of one thing outside the workspace. */
export interface Finding {
  /** The subject, such as `store main`. */
  readonly subject: string;
  readonly verdict: 'ok' | 'warning' | 'error' | 'not-checked';
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string | undefined;
}

/** A finding without its subject. */
export type Facts = Omit<Finding, 'subject'>;

/** A probe of one thing that a run needs. */
export interface Look {
  readonly subject: string;
  /** Returns findings; a rejection is an error as well. */
  look(signal: AbortSignal): Promise<readonly Facts[]>;
}

/** The facts about the workspace for checks. */
export interface CheckedWorkspace extends Pick<WorkspaceCheck, 'stores' | 'jobs' | 'mappings' | 'settings'> {
  readonly dir: string;
  /** The variables without value that a store needs. */
  readonly unsetOf: (store: string) => readonly string[];
  readonly version: string;
  readonly newRunId: () => string;
}

/** A check of `check --online`: returns the probes that this workspace needs. */
export type OnlineCheck = (workspace: CheckedWorkspace) => readonly Look[];

/** The folders and settings that decide which files jobs may use. */
export function accessOf({ dir, settings }: Pick<CheckedWorkspace, 'dir' | 'settings'>) {
  return { workspaceDir: dir, allowedFolders: settings?.allowedFolders };
}
