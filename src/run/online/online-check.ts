import type { WorkspaceCheck } from '../../config/check-workspace.ts';

/** What a look at one thing outside the workspace has shown. */
export interface Finding {
  /** What it is about, such as `store main`. */
  readonly subject: string;
  readonly verdict: 'ok' | 'warning' | 'error' | 'not-checked';
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string | undefined;
}

/** A finding, but for its subject. */
export type Facts = Omit<Finding, 'subject'>;

/** A look at one thing that a run needs. */
export interface Look {
  readonly subject: string;
  /** Gives findings, or rejects: that is an error as well. */
  look(signal: AbortSignal): Promise<readonly Facts[]>;
}

/** What checks know of the workspace. */
export interface CheckedWorkspace extends Pick<WorkspaceCheck, 'stores' | 'jobs' | 'mappings' | 'settings'> {
  readonly dir: string;
  /** The variables without value that a store needs. */
  readonly unsetOf: (store: string) => readonly string[];
  readonly version: string;
  readonly newRunId: () => string;
}

/** A check of `check --online`: gives the looks that this workspace needs. */
export type OnlineCheck = (workspace: CheckedWorkspace) => readonly Look[];

/** Where files of the workspace may be. */
export function accessOf({ dir, settings }: Pick<CheckedWorkspace, 'dir' | 'settings'>) {
  return { workspaceDir: dir, allowedFolders: settings?.allowedFolders };
}
