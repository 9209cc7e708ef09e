import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type MappingFile, mappedFields } from '../mapping/spec/mapping-spec.ts';
import { reportedField, type SentFields } from '../model/mapped-record.ts';
import { isLoopback, normalisedAddress, storeIdentity } from '../model/remote-address.ts';
import { jobFile } from '../model/run.ts';
import { ConfigurationError, type ConfigurationProblem, formatPlace } from '../model/storeferry-error.ts';
import { likelySecrets } from './complete-places.ts';
import { overriddenText } from './environment.ts';
import { type Interpretation, whyUnset } from './interpret.ts';
import {
  ADOPT_AT,
  CROSSWALK_AT,
  filesNamed,
  type Job,
  mappingsNamed,
  misnamed,
  PUBLISH_AT,
  SOURCE_AT,
} from './job/job.ts';
import type { StoreConfig } from './store-config.ts';
import type { Workspace } from './workspace.ts';

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
function distinct(problems: readonly ConfigurationProblem[]): ConfigurationProblem[] {
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
    const fields = mappedFields(spec).filter((field) => !kept.has(reportedField(field)));
    return [{ store: storeIdentity(store), job: name, updates: job.mode === 'update', fields }];
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
        if (both.length === 0) return [];
        const message = `it sends ${both.join(', ')}, and so does the job ${other.job} for the same store: in the same record each undoes what the other sent. ${other.updates ? 'Let one of them leave it out of its mapping' : `Add to ${jobFile(other.job)}: keep: [${both.join(', ')}]`}`;
        return [{ place: { file: jobFile(update.job) }, message }];
      }),
    ),
  );
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

function absentLookups({ dir, lookupPlaces, placeOf }: MappingFile): ConfigurationProblem[] {
  return [...lookupPlaces]
    .filter(([, { path }]) => isAbsent(path, dir))
    .map(([name]) => ({
      place: placeOf(['lookups', name, 'path']),
      message: `lookups.${name}.path: this file does not exist (yet)`,
    }));
}

function isAbsent(path: string | undefined, dir: string): boolean {
  return path !== undefined && !/[*?[{]/.test(path) && !existsSync(resolve(dir, path));
}
