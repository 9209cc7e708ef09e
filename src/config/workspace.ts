import { createHash } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { type MappingFile, mappedFields, mappingSchema } from '../mapping/spec/mapping-spec.ts';
import { PRODUCT_FIELDS, reportedField, type SentFields } from '../model/mapped-record.ts';
import { isLoopback, normalisedAddress, storeIdentity } from '../model/remote-address.ts';
import { jobFile, jobFileName, jobForStore } from '../model/run.ts';
import {
  ConfigurationError,
  type ConfigurationProblem,
  formatPlace,
  UsageError,
} from '../model/storeferry-error.ts';
import { didYouMean } from '../text/printable.ts';
import { likelySecrets, typedPlace } from './complete-places.ts';
import { type Inspection, inspectFiles } from './inspection.ts';
import { type Interpretation, whyUnset } from './interpret.ts';
import { exportJobSchema } from './job/export-job-schema.ts';
import { importJobSchema } from './job/import-job-schema.ts';
import {
  ADOPT_AT,
  CROSSWALK_AT,
  filesNamed,
  type Job,
  type JobSchedule,
  mappingsNamed,
  misnamed,
  PUBLISH_AT,
  SOURCE_AT,
} from './job/job.ts';
import { loadEnvironment, overriddenText, readSettings, settingsSchema } from './settings.ts';
import { type StoreConfig, storesSchema } from './store-config.ts';
import { filesOf, SHIPPED_MAPPINGS, storesOf, type WorkspaceFiles } from './workspace-files.ts';
import { fillTemplate, parseTemplate } from './yaml-text.ts';

export { isTypedAddress, type TypedLogin, type TypedPlace, typedPlace } from './complete-places.ts';
export { loadEnvironment, overriddenText } from './settings.ts';

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

function allProblems({ problems, unset }: Interpretation<unknown>) {
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
  const inFolder = async (folder: string) => {
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

/** The kinds of YAML files that have a schema. */
export const SCHEMA_NAMES = ['job', 'mapping', 'stores'] as const;
export type SchemaName = (typeof SCHEMA_NAMES)[number];

/** A node of a JSON Schema of draft 7, as far as it is used here. */
export type JsonSchema = z.core.JSONSchema.BaseSchema;

const SCHEMAS = {
  environment: settingsSchema,
  // A file is validated with the schema of its own kind, which gives better explanations.
  job: z.union([importJobSchema, exportJobSchema]),
  mapping: mappingSchema,
  stores: storesSchema,
} as const;

interface Context {
  readonly jsonSchema: JsonSchema;
  readonly path: readonly PropertyKey[];
}

type Override = (context: Context) => void;

function generate(name: keyof typeof SCHEMAS, override: Override): JsonSchema {
  return z.toJSONSchema(SCHEMAS[name], { io: 'input', target: 'draft-7', override });
}

/** The allowed values of a file, without the alternative placeholders: the source of the reference. */
export function plainSchemaFor(name: SchemaName | 'environment'): JsonSchema {
  return generate(name, tidy);
}

/** The JSON Schema of a file of the workspace, in draft 7, which YAML plugins of editors support best. */
export function schemaFor(name: SchemaName): JsonSchema {
  const schema = generate(name, (context) => {
    tidy(context);
    allowPlaceholder(context);
    allowStores(context);
  });
  return { title: `Storeferry: ${name}`, ...schema };
}

/** Removes keys that are always refused, and bounds of the number type itself. */
function tidy({ jsonSchema }: Context) {
  for (const [key, property] of Object.entries(jsonSchema.properties ?? {})) {
    if (typeof property === 'object' && 'not' in property) delete jsonSchema.properties?.[key];
  }
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
}

/** A job has one store or several. */
function allowStores({ jsonSchema }: Context) {
  const { required = [], properties = {} } = jsonSchema;
  if (properties['stores'] === undefined) return;
  jsonSchema.required = required.filter((key) => key !== 'store');
  jsonSchema.oneOf = [{ required: ['store'] }, { required: ['stores'] }];
}

/** Keywords that describe a value without limiting it. */
const ABOUT: ReadonlySet<string> = new Set(['title', 'description', 'default', 'examples', 'id']);

/** Values that are not just any text may also be written as a placeholder; keys and fixed words may not. */
function allowPlaceholder({ jsonSchema, path }: Context) {
  const { type, enum: words, pattern } = jsonSchema;
  const isTyped = type === 'integer' || type === 'number' || type === 'boolean';
  if (path.at(-1) === 'propertyNames' || (!isTyped && words === undefined && pattern === undefined)) return;
  const limits = Object.entries(jsonSchema).filter(([key]) => !ABOUT.has(key));
  for (const [key] of limits) delete jsonSchema[key];
  const placeholder = { type: 'string' as const, pattern: '\\$\\{[A-Za-z_][A-Za-z0-9_]*(:[^}]*)?\\}' };
  jsonSchema.anyOf = [Object.fromEntries(limits), placeholder];
}

/** All problems of a workspace, and its valid contents. */
export type WorkspaceCheck = ReturnType<typeof checkWorkspace>;

/**
 * Reads every file of a workspace, offline, and collects the problems. `shownPath` returns the path of a file for
 * commands that the user types.
 */
export function checkWorkspace(workspace: Workspace, shownPath: (file: string) => string = (file) => file) {
  const { files, inspection } = workspace;
  const settings = settingsOf(workspace);
  const stores = inspection.stores();
  const storesFound = collect(stores.names ?? [], (name) => inspection.store(name));
  const jobs = collect(files.jobNames, (name) => inspection.job(name));
  const used = jobs.values.flatMap((job) => (job.kind === 'import' ? mappingsNamed(job) : []));
  const mappingNames = [...new Set([...files.ownMappingNames, ...used])];
  const mappings = collect(mappingNames, (name) => inspection.mapping(name));
  const unset = [storesFound, jobs, mappings].flatMap((part) => part.unset);
  return {
    /** Problems that stop a run. */
    problems: distinct([
      ...settings.problems,
      ...stores.problems,
      ...storesFound.problems,
      ...jobs.problems,
      ...mappings.problems,
    ]),
    /** Problems that do not stop a run. */
    warnings: distinct([
      ...unset.map(whyUnset),
      ...storesFound.values.flatMap((store) => plainHttp(workspace, store)),
      ...sameStores(workspace, storesFound.values),
      ...contestedFields(workspace),
      ...contestedContacts(workspace),
      ...files.jobNames.flatMap((name) => {
        const yaml = files.job(name);
        return yaml === undefined
          ? []
          : likelySecrets(yaml, [SOURCE_AT, CROSSWALK_AT, ADOPT_AT, PUBLISH_AT, ['destination']]);
      }),
      ...jobs.values.flatMap((job) => absentFiles(workspace, job)),
      ...jobs.values.flatMap((job) => misnamedFile(workspace, job)),
      ...mappings.values.flatMap(absentLookups),
      ...openToOthers(workspace, shownPath),
      ...workspace
        .overriddenVariables()
        .map((name) => ({ place: { file: '.env' }, message: overriddenText(name) })),
      ...files.ignored.map(({ file, why }) => ({ place: { file }, message: why })),
    ]),
    /** Names of the variables that are needed and not set. */
    unset: [...new Set(unset.map(({ name }) => name))].sort(),
    stores: storesFound.values,
    jobs: jobs.values,
    /** The workspace's own mappings, and the shipped ones that its jobs use. */
    mappings: mappings.values,
    /** Undefined if they are not valid. */
    settings: settings.value,
  };
}

/** A problem of a job with several stores is found for each of them. */
function distinct(problems: readonly ConfigurationProblem[]) {
  return [...new Map(problems.map((one) => [`${formatPlace(one.place)}\n${one.message}`, one])).values()];
}

function collect<T>(names: readonly string[], inspect: (name: string) => Interpretation<T> | undefined) {
  const found = names.flatMap((name) => inspect(name) ?? []);
  return {
    values: found.flatMap(({ value }) => (value === undefined ? [] : [value])),
    problems: found.flatMap(({ problems }) => problems),
    unset: found.flatMap(({ unset }) => unset),
  };
}

function settingsOf(workspace: Workspace) {
  try {
    return { value: workspace.settings(), problems: [] };
  } catch (error) {
    if (error instanceof ConfigurationError) return { value: undefined, problems: error.problems };
    throw error;
  }
}

function plainHttp({ files }: Workspace, { name, baseUrl }: StoreConfig): ConfigurationProblem[] {
  const { protocol, hostname } = new URL(baseUrl);
  if (protocol === 'https:' || isLoopback(hostname)) return [];
  const message = `${name}.baseUrl: http sends the API key unencrypted; use https`;
  const place = files.stores()?.placeOf([name, 'baseUrl'], 'value') ?? { file: 'stores.yaml' };
  return [{ place, message }];
}

/**
 * Several names for one address, unless their ids declare what they are. Without an id they share a ledger. With an
 * id on only one of them they would not, and two runs could write to one site at the same time.
 */
function sameStores({ files }: Workspace, stores: readonly StoreConfig[]): ConfigurationProblem[] {
  const byAddress = Map.groupBy(stores, ({ baseUrl }) => normalisedAddress(baseUrl));
  return [...byAddress.values()].flatMap(([first, ...others]) =>
    others.flatMap((other) => {
      if (first === undefined || (first.id !== undefined && other.id !== undefined)) return [];
      const place = files.stores()?.placeOf([other.name], 'key') ?? { file: 'stores.yaml' };
      const message =
        storeIdentity(first) === storeIdentity(other)
          ? `${other.name} is the same store as ${first.name}: they have the same address. They share one ledger, and their runs wait for each other. If the API key selects another site, give each an id:`
          : `${other.name} has the same address as ${first.name}, and only one of them has an id. If they are one site, give both the same id; otherwise give them different ids`;
      return [{ place, message }];
    }),
  );
}

/**
 * What the product imports of a workspace send, by the identity of their store. What cannot be read is left out, and so is
 * `mode: create`, which changes no product that is there.
 */
export function sentFields({ files, inspection }: Workspace): ReadonlyMap<string, readonly SentFields[]> {
  const found = files.jobNames.flatMap((name) => {
    const job = inspection.job(name)?.value;
    if (job?.kind !== 'import' || job.mode === 'create') return [];
    const store = inspection.store(job.store)?.value;
    const spec = inspection.mapping(job.mapping)?.value?.spec;
    if (store === undefined || spec?.import !== 'products') return [];
    const kept = new Set(job.keep?.map(reportedField));
    const updates = job.mode === 'update';
    const fields = mappedFields(spec).filter((field) => !kept.has(reportedField(field)));
    const named = new Set([...fields.map(reportedField), ...kept]);
    const removes = PRODUCT_FIELDS.filter(
      (field) => !updates && field.startsWith('variants.') && !named.has(reportedField(field)),
    );
    return [{ store: storeIdentity(store), job: name, updates, fields, removes }];
  });
  return Map.groupBy(found, ({ store }) => store);
}

/** Fields that an update and another job of the same store send: each would undo what the other has sent. */
function contestedFields(workspace: Workspace): ConfigurationProblem[] {
  return [...sentFields(workspace).values()].flatMap((senders) =>
    senders.flatMap((update, index) =>
      senders.flatMap((other, place) => {
        if (!update.updates || other === update || (other.updates && place < index)) return [];
        const both = update.fields.filter((field) => other.fields.includes(field));
        const removed = update.fields.filter((field) => other.removes.includes(field));
        if (removed.length > 0) {
          const message = `it sends ${removed.join(', ')}, and the job ${other.job} sends whole products without: each of its runs takes away what this job sent. Add to ${jobFile(other.job)}: keep: [${[...removed, ...both].join(', ')}]`;
          return [{ place: { file: jobFile(update.job) }, message }];
        }
        if (both.length === 0) return [];
        const message = `it sends ${both.join(', ')}, and so does the job ${other.job} for the same store: in the same record each undoes what the other sent. ${other.updates ? 'Let one of them leave it out of its mapping' : `Add to ${jobFile(other.job)}: keep: [${both.join(', ')}]`}`;
        return [{ place: { file: jobFile(update.job) }, message }];
      }),
    ),
  );
}

/** Contact fields that two jobs of a store send: a contact whom both know would change with each run. */
function contestedContacts({ files, inspection }: Workspace): ConfigurationProblem[] {
  const senders = files.jobNames.flatMap((name) => {
    const job = inspection.job(name)?.value;
    const store = job && inspection.store(job.store)?.value;
    const spec = job?.kind === 'import' ? inspection.mapping(job.mapping)?.value?.spec : undefined;
    if (store === undefined || spec?.import !== 'contacts') return [];
    const { id: _, match: __, email: ___, ...fields } = spec.contact;
    return [{ name, store: storeIdentity(store), fields: Object.keys(fields) }];
  });
  return senders.flatMap(({ name, store, fields }, index) => {
    const found = senders.slice(index + 1).flatMap((other) => {
      const both = other.store === store ? fields.filter((field) => other.fields.includes(field)) : [];
      return both.length === 0 ? [] : [{ other: other.name, both }];
    });
    if (found.length === 0) return [];
    const both = [...new Set(found.flatMap((one) => one.both))];
    const others = found.map(({ other }) => other);
    const so = others.length === 1 ? 'so does the job' : 'so do the jobs';
    const consent = both.some((field) => field.startsWith('subscribe')) ? ', consent too' : '';
    const message = `it sends ${both.join(', ')}, and ${so} ${others.join(', ')} for the same store: of a contact whom several have each undoes what another sent${consent}. Let only one of them have it in its mapping`;
    return [{ place: { file: jobFile(name) }, message }];
  });
}

/**
 * Files with keys or customers' data must not be accessible to other users. Windows has no such permissions; a folder elsewhere
 * (ARTIFACTS_URL) is not looked at.
 */
function openToOthers({ path }: Workspace, shownPath: (file: string) => string): ConfigurationProblem[] {
  if (process.platform === 'win32') return [];
  return PRIVATE.flatMap(({ file, mode }) => {
    const rights = statSync(path(file), { throwIfNoEntry: false })?.mode ?? 0;
    if ((rights & 0o077) === 0) return [];
    const others = (rights & 0o007) === 0 ? 'its group' : 'every user of this machine';
    return [
      { place: { file }, message: `it is open to ${others}; close it: chmod ${mode} ${shownPath(file)}` },
    ];
  });
}

const PRIVATE = [
  { file: '.env', mode: '600' },
  { file: '.storeferry', mode: '700' },
] as const;

/** Only warnings: a missing file may arrive before the run, although more often its name is misspelt. */
function absentFiles(workspace: Workspace, job: Job): ConfigurationProblem[] {
  if (job.kind === 'export') return [];
  const yaml = workspace.files.job(job.name);
  return filesNamed(job)
    .filter(({ path }) => isAbsent(path, workspace.dir))
    .map(({ at }) => ({
      place: yaml?.placeOf(at, 'value') ?? { file: jobFile(job.name) },
      message: `${at.join('.')}: this file does not exist (yet)`,
    }));
}

/** The file of an export that other programs would take for one of another format. */
function misnamedFile({ files }: Workspace, job: Job): ConfigurationProblem[] {
  if (job.kind === 'import' || job.destination.table !== undefined) return [];
  const { path, remote, format } = job.destination;
  const message = misnamed(remote?.location ?? path ?? '', format);
  const at = ['destination', ...(path === undefined ? [] : ['path'])];
  const place = files.job(job.name)?.placeOf(at, 'value') ?? { file: jobFile(job.name) };
  return message === undefined ? [] : [{ place, message: `${at.join('.')}: ${message}` }];
}

function absentLookups({ spec, dir, lookupPlaces, placeOf }: MappingFile): ConfigurationProblem[] {
  return [...lookupPlaces]
    .filter(([, { path }]) => isAbsent(path, dir))
    .map(([name]) => ['lookups', name, spec.lookups?.[name]?.sqlite === undefined ? 'path' : 'sqlite'])
    .map((at) => ({ place: placeOf(at), message: `${at.join('.')}: this file does not exist (yet)` }));
}

function isAbsent(path: string | undefined, dir: string) {
  return path !== undefined && !/[*?[{]/.test(path) && !existsSync(resolve(dir, path));
}
