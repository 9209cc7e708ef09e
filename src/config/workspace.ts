import { resolve } from 'node:path';
import type { MappingFile } from '../mapping/spec/mapping-spec.ts';
import { ConfigurationError, UsageError } from '../model/errors.ts';
import { didYouMean } from '../model/nearest.ts';
import { loadEnvironment } from './environment.ts';
import { type Inspection, inspectFiles } from './inspection.ts';
import type { Interpretation, UnsetVariable } from './interpret.ts';
import type { Job } from './job/job.ts';
import { readSettings, type Settings } from './settings.ts';
import type { StoreConfig } from './stores.ts';
import { openFiles, SHIPPED_MAPPINGS, type WorkspaceFiles } from './workspace-files.ts';

/**
 * A folder with `stores.yaml`, `jobs/`, `mappings/` and `.env`. Files are read when something in them is asked for, so
 * that a run fails only on what it uses. What is asked for by a name that is not there is a UsageError; what cannot be
 * used as it stands is a ConfigurationError with all that is wrong in it, unset variables included.
 */
export interface Workspace {
  /** An absolute path. */
  readonly dir: string;
  storeNames(): readonly string[];
  jobNames(): readonly string[];
  /** The workspace's own, and those shipped with Storeferry. */
  mappingNames(): readonly string[];
  store(name: string): StoreConfig;
  job(name: string): Job;
  mapping(name: string): MappingFile;
  settings(): Settings;
  /** Where the files that jobs name may be. */
  fileAccess(): { readonly workspaceDir: string; readonly allowedFolders: readonly string[] };
  /** A path as a job writes it, as an absolute one. */
  path(written: string): string;
  /** The secrets that what was read so far has taken from the environment, and those in `.env`, to be redacted everywhere. */
  secrets(): readonly string[];
  /** The same without throwing, for checks. */
  readonly inspection: Inspection;
  readonly files: WorkspaceFiles;
}

/** Opens a workspace; UsageError when the folder is none. Reads `.env`, and nothing else yet. */
export function openWorkspace(
  folder: string,
  variables: Readonly<Record<string, string | undefined>>,
  shippedMappings: string = SHIPPED_MAPPINGS,
): Workspace {
  const dir = resolve(folder);
  const files = openFiles(dir, shippedMappings);
  const environment = loadEnvironment(dir, variables);
  const secrets = new Set<string>();
  const inspection = inspectFiles(files, environment, (secret) => secrets.add(secret));
  const storeNames = () => {
    const { names, problems } = inspection.stores();
    if (names === undefined) throw new ConfigurationError(problems);
    return names;
  };
  const settings = () => {
    const read = readSettings(environment, dir);
    for (const secret of read.secrets) secrets.add(secret);
    return read;
  };
  return {
    dir,
    files,
    inspection,
    storeNames,
    jobNames: () => files.jobNames,
    mappingNames: () => files.mappingNames,
    store: (name) => usable(inspection.store(name) ?? unknown('store', 'stores.yaml', name, storeNames())),
    job: (name) => usable(inspection.job(name) ?? unknown('job', 'jobs/', name, files.jobNames)),
    mapping: (name) =>
      usable(inspection.mapping(name) ?? unknown('mapping', 'mappings/', name, files.mappingNames)),
    settings,
    fileAccess: () => ({ workspaceDir: dir, allowedFolders: settings().allowedFolders }),
    path: (written) => resolve(dir, written),
    secrets: () => [...new Set([...secrets, ...environment.secretsInFile()])],
  };
}

function unknown(kind: string, where: string, name: string, names: readonly string[]): never {
  throw new UsageError(`There is no ${kind} '${name}' in ${where}${didYouMean(name, names) || '.'}`, {
    hint: names.length === 0 ? `There is no ${kind} there at all.` : `There is ${names.join(', ')}.`,
  });
}

function usable<T>({ value, problems, unset }: Interpretation<T>): T {
  if (value === undefined || problems.length > 0 || unset.length > 0) {
    throw new ConfigurationError([...problems, ...unset.map(whyUnset)]);
  }
  return value;
}

/** An unset variable as a problem: in a run an error, in a check a warning. */
export function whyUnset({ name, place }: UnsetVariable) {
  return { place, message: `the variable ${name} is not set; set it in the environment or in .env` };
}
