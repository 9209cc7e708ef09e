import type { WorkspaceCheck } from '../../config/check-workspace.ts';
import type { Settings } from '../../config/settings.ts';
import { artifactsCheck } from './artifacts-check.ts';
import { destinationCheck } from './destination-check.ts';
import { diskCheck } from './disk-check.ts';
import type { OnlineCheck } from './finding.ts';
import { redisCheck } from './redis-check.ts';
import { sourceCheck, sourceFiles } from './source-check.ts';
import { stateCheck } from './state-check.ts';
import { type AnsweredStores, storeCheck } from './store-check.ts';

/** What checks of a workspace need to know of it. */
export interface CheckedWorkspace {
  readonly dir: string;
  /** What can be used of its files. */
  readonly found: Pick<WorkspaceCheck, 'stores' | 'jobs' | 'mappings'>;
  /** The variables that a store still waits for. */
  readonly unsetOf: (store: string) => readonly string[];
  /** Undefined when they are not valid. */
  readonly settings: Settings | undefined;
  readonly version: string;
  readonly newRunId: () => string;
}

/** Everything outside the files of a workspace that its jobs need, in the order in which a run comes to it. */
export function workspaceChecks({
  dir,
  found,
  unsetOf,
  settings,
  version,
  newRunId,
}: CheckedWorkspace): OnlineCheck[] {
  const access = { workspaceDir: dir, allowedFolders: settings?.allowedFolders };
  const imports = found.jobs.filter((job) => job.kind === 'import');
  const exports = found.jobs.filter((job) => job.kind === 'export');
  const answered: AnsweredStores = new Map();
  const checks = [
    ...found.stores.map((store) => storeCheck(store, unsetOf(store.name), version, answered)),
    ...imports.map((job) =>
      sourceCheck(job, found.mappings.find(({ name }) => name === job.mapping)?.spec, access),
    ),
    ...exports.map((job) => destinationCheck(job, access)),
  ];
  if (settings === undefined) return checks;
  const { artifacts, redisUrl } = settings;
  checks.push(artifactsCheck(artifacts, newRunId));
  if (artifacts.kind === 'folder') checks.push(diskCheck(artifacts.path, () => sourceFiles(imports, access)));
  if (redisUrl !== undefined) checks.push(redisCheck(redisUrl));
  return checks;
}

/**
 * Checks to be attempted when all others have ended, of the folder `.storeferry`: they keep the process busy, and answers of
 * stores would seem to be late.
 */
export function lastChecks(stateFolder: string, settings: Settings | undefined): OnlineCheck[] {
  return settings === undefined || settings.redisUrl !== undefined ? [] : [stateCheck(stateFolder)];
}
