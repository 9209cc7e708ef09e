import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { MappingFile } from '../mapping/spec/mapping-spec.ts';
import { jobFileName, jobForStore } from '../model/run.ts';
import { ConfigurationError, type ConfigurationProblem, UsageError } from '../model/storeferry-error.ts';
import { didYouMean } from '../text/printable.ts';
import { typedPlace } from './complete-places.ts';
import { loadEnvironment } from './environment.ts';
import { type Inspection, inspectFiles } from './inspection.ts';
import { type Interpretation, whyUnset } from './interpret.ts';
import type { Job, JobSchedule } from './job/job.ts';
import { readSettings } from './settings.ts';
import { filesOf, SHIPPED_MAPPINGS, storesOf, type WorkspaceFiles } from './workspace-files.ts';
import { fillTemplate, parseTemplate } from './yaml-text.ts';

export { isTypedAddress, type TypedLogin, type TypedPlace, typedPlace } from './complete-places.ts';
export { loadEnvironment, overriddenText } from './environment.ts';

/**
 * A folder with `stores.yaml`, `jobs/`, `mappings/` and `.env`. Files are read on first use, so that a run fails only
 * on files that it uses. An unknown name is a UsageError; an invalid file is a ConfigurationError with all its
 * problems, including unset variables.
 */
export type Workspace = ReturnType<typeof readWorkspace>;

/** A workspace to read; UsageError if the folder is not one. Reads only `.env`. */
export function readWorkspace(
  folder: string,
  variables: Readonly<Record<string, string | undefined>>,
  shippedMappings: string = SHIPPED_MAPPINGS,
) {
  const dir = resolve(folder);
  if (!isWorkspace(dir)) {
    throw new UsageError(`${dir} is not a workspace: it has neither stores.yaml nor jobs/.`, {
      hint: 'Name the workspace with -C DIR, or create one: storeferry init DIR',
    });
  }
  const files: WorkspaceFiles = filesOf(dir, shippedMappings);
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
    /** An absolute path. */
    dir,
    files,
    /** The same without throwing, for checks. */
    inspection,
    /** What the inspection would find if files, named relative to the workspace, had these texts, and these variables values. */
    inspectionWith: (
      texts: Readonly<Record<string, string>>,
      more: Readonly<Record<string, string>> = {},
    ): Inspection =>
      inspectFiles(
        filesOf(dir, shippedMappings, texts),
        { ...environment, get: (name) => more[name] ?? environment.get(name) },
        (secret) => secrets.add(secret),
      ),
    storeNames,
    /** A job with `stores` is one for each of them, `JOB@STORE`. */
    jobNames: () => files.jobNames,
    /** The jobs that a name means: itself, or those of all its stores. UsageError if there is none. */
    jobsNamed(name: string): readonly string[] {
      const { jobNames } = files;
      if (jobNames.includes(name)) return [name];
      const ofStores = jobNames.filter((job) => job !== name && jobFileName(job) === name);
      return ofStores.length > 0 ? ofStores : unknown('job', 'jobs/', name, jobNames);
    },
    /** The names of the workspace's own mappings and the shipped ones. */
    mappingNames: () => files.mappingNames,
    store: (name: string) =>
      usable(inspection.store(name) ?? unknown('store', 'stores.yaml', name, storeNames())),
    job(name: string): Job {
      const found = inspection.job(name);
      if (found === undefined) return unknown('job', 'jobs/', name, files.jobNames);
      const stores = storesOf(files.job(name)?.content);
      if (stores === undefined || jobFileName(name) !== name) return usable(found);
      throw new UsageError(`The job ${name} has ${stores.length} stores.`, {
        hint: `Name it with one of them: ${stores.map(({ store }) => jobForStore(name, store)).join(', ')}.`,
      });
    },
    mapping: (name: string) =>
      usable(inspection.mapping(name) ?? unknown('mapping', 'mappings/', name, files.mappingNames)),
    /** The job, or undefined and all problems of its file; for checks and lists. */
    inspectJob(name: string) {
      const found = inspection.job(name);
      const problems = found === undefined ? [] : allProblems(found);
      return { job: problems.length === 0 ? found?.value : undefined, problems };
    },
    settings,
    /** The files that jobs may use. */
    fileAccess: () => ({ workspaceDir: dir, allowedFolders: settings().allowedFolders }),
    /** A path as a job writes it, as an absolute one. */
    path: (written: string) => resolve(dir, written),
    /** A text as a file writes it, with its placeholders filled in; one without value stays as it is. */
    fill: (written: string) =>
      fillTemplate(parseTemplate(written) ?? [written], (name) => environment.get(name)).text,
    /** An address that a visitor typed, without placeholders; or why a job could not name it. */
    typedPlace: (address: string) =>
      typedPlace(address, { environment, onSecret: (secret) => void secrets.add(secret) }),
    /** Whether a variable has a value. */
    hasVariable: (name: string) => environment.get(name) !== undefined,
    /** Whether a variable has a value, and has it from `.env`. */
    isInDotEnv: environment.isInDotEnv,
    /** The variables in `.env` that have another value in the environment. */
    overriddenVariables: environment.overridden,
    /** The secrets that were read so far from files and the environment, and those in `.env`, for redaction. */
    secrets: (): readonly string[] => [...new Set([...secrets, ...environment.secretsInFiles()])],
  };
}

/** Whether a folder is a workspace. */
export function isWorkspace(dir: string): boolean {
  const exists = (path: string) => statSync(join(dir, path), { throwIfNoEntry: false }) !== undefined;
  return exists('stores.yaml') || exists('jobs');
}

function unknown(kind: string, where: string, name: string, names: readonly string[]): never {
  throw new UsageError(`There is no ${kind} '${name}' in ${where}${didYouMean(name, names) || '.'}`, {
    hint: names.length === 0 ? `There are no ${kind}s yet.` : `Known ${kind}s: ${names.join(', ')}.`,
  });
}

function usable<T>(found: Interpretation<T>): T {
  const problems = allProblems(found);
  if (found.value === undefined || problems.length > 0) throw new ConfigurationError(problems);
  return found.value;
}

function allProblems({ problems, unset }: Interpretation<unknown>): ConfigurationProblem[] {
  return [...problems, ...unset.map(whyUnset)];
}

/** The mappings that a job in this folder could use: its own and the shipped ones, if they can be read. */
export function availableMappings(
  dir: string,
  variables: Readonly<Record<string, string | undefined>>,
): readonly MappingFile[] {
  const files = filesOf(dir, SHIPPED_MAPPINGS);
  const inspection = inspectFiles(files, loadEnvironment(dir, variables), () => {});
  return files.mappingNames.flatMap((name) => inspection.mapping(name)?.value ?? []);
}

/** The schedules in the job files. */
export type JobSchedules = ReturnType<typeof readSchedules>;

/** Reads the schedules of all jobs. A workspace reads each file once: open it again to see changes. */
export function readSchedules({ jobNames, inspectJob }: Workspace) {
  const scheduled: JobSchedule[] = [];
  /** Jobs without a schedule. */
  const unscheduled: string[] = [];
  /** Jobs with invalid files: whether they have a schedule is unknown. */
  const broken: { job: string; problem: string }[] = [];
  for (const name of jobNames()) {
    const { job, problems } = inspectJob(name);
    if (job === undefined) broken.push({ job: name, problem: new ConfigurationError(problems).message });
    else if (job.schedule === undefined) unscheduled.push(name);
    else scheduled.push({ job: name, ...job.schedule });
  }
  return { scheduled, unscheduled, broken };
}

/** The jobs that run for files that arrive, with the patterns of these. */
export function watchedJobs({ jobNames, inspectJob }: Workspace): { job: string; pattern: string }[] {
  return jobNames().flatMap((name) => {
    const { job } = inspectJob(name);
    const pattern = job?.kind === 'import' ? job.source.watch : undefined;
    return pattern === undefined ? [] : [{ job: name, pattern }];
  });
}

/** Whether a tick of the job is still wanted: its file has a schedule, or is invalid and may have one. */
export function isScheduled({ inspection, files }: Workspace, name: string): boolean {
  const found = inspection.job(name);
  if (found === undefined) return false;
  const { value: job, problems, unset } = found;
  // Its file no longer names the store.
  if (job !== undefined && !files.jobNames.includes(name)) return false;
  return job?.schedule !== undefined || job === undefined || problems.length + unset.length > 0;
}

/** Changes whenever a file changes that schedules depend on. Cheap enough to be called every few seconds. */
export async function schedulesVersion(dir: string): Promise<string> {
  const inFolder = async (folder: string): Promise<string[]> => {
    const names = await readdir(join(dir, folder)).catch(() => []);
    return names.map((name) => join(folder, name));
  };
  const names = ['.env', 'stores.yaml', ...(await inFolder('jobs')), ...(await inFolder('mappings'))];
  const hash = createHash('sha256');
  for (const name of names.sort()) {
    const found = await stat(join(dir, name)).catch(() => null);
    hash.update(`${name}\0${found?.mtimeMs}\0${found?.size}\0${found?.ino}\0`);
  }
  return hash.digest('base64url');
}
