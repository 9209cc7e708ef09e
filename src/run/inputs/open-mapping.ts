import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { crosswalkField, type ImportJob, type Job, updateMatch } from '../../config/job/job.ts';
import type { Workspace } from '../../config/workspace.ts';
import {
  checkMapping,
  type JoinOpener,
  joinOpeners,
  keyNames,
  lookupsOfStoreLists,
  type MappingContext,
} from '../../mapping/compile-mapping.ts';
import { type Crosswalk, type LookupTable, lookupTable } from '../../mapping/lookup-table.ts';
import {
  type ContactMappingSpec,
  type MappingFile,
  type MappingSpec,
  matchValue,
} from '../../mapping/spec/mapping-spec.ts';
import { DEFAULT_LIMITS, type InputLimits, type MappingLimits } from '../../model/input-limits.ts';
import { CONTACT_TEXT_FIELDS } from '../../model/mapped-record.ts';
import { blankCellsBeyond, type Row, type TableOptions } from '../../model/row.ts';
import {
  ConfigurationError,
  type ConfigurationProblem,
  MappingError,
  StateError,
} from '../../model/storeferry-error.ts';
import { EXTENSIONS_FILE } from '../../remote/remote-kinds.ts';
import type { Snapshot } from '../../source/snapshot.ts';
import { type LoadedExtensions, loadExtensions } from '../../source/snapshot.ts';
import type { RunFolder } from '../../state/artifacts.ts';
import type { FileAccess } from '../../state/file-access.ts';
import { listHeaders, quotableHeaders } from '../../text/printable.ts';
import { digestOf } from '../digest-of.ts';
import { readCrosswalk } from './read-crosswalk.ts';
import { runMappingTests } from './run-mapping-tests.ts';
import { openSideTable, type SideTable, sideTableFile, sideTableWords } from './side-table.ts';

/**
 * The limits for checking a mapping: the highest that any job with this mapping allows, so that `check` reports no
 * problem that no run has.
 */
function limitsFor(mapping: MappingFile, jobs: readonly Job[]): MappingLimits {
  const users = jobs.flatMap((job) =>
    job.kind === 'import' && job.mapping === mapping.name ? [job.limits] : [],
  );
  const highest = (limit: keyof MappingLimits) =>
    users.length === 0 ? DEFAULT_LIMITS[limit] : Math.max(...users.map((limits) => limits[limit]));
  return {
    patternLength: highest('patternLength'),
    recordRows: highest('recordRows'),
    combinations: highest('combinations'),
  };
}

/** Problems and warnings of mappings that their schema cannot find, failed mapping tests included, and how many tests passed. */
export async function checkMappings(
  mappings: readonly MappingFile[],
  jobs: readonly Job[],
): Promise<{
  readonly problems: readonly ConfigurationProblem[];
  readonly warnings: readonly ConfigurationProblem[];
  readonly passed: number;
}> {
  const problems: ConfigurationProblem[] = [];
  const warnings: ConfigurationProblem[] = [];
  let passed = 0;
  for (const mapping of mappings) {
    const limits = limitsFor(mapping, jobs);
    let isUsable = true;
    const extensions = await extensionsOf(mapping, mapping.spec);
    if (extensions instanceof ConfigurationError) {
      problems.push(...extensions.problems);
      continue;
    }
    const custom = extensions && customTransforms(extensions);
    for (const { isWarning, ...found } of placedProblems(mapping, limits, custom)) {
      (isWarning ? warnings : problems).push(found);
      isUsable &&= isWarning;
    }
    if (!isUsable) continue;
    for (const { name, problems: failures } of await runMappingTests(mapping.spec, { limits, custom })) {
      if (failures.length === 0) passed++;
      problems.push(
        ...failures.map(({ path, message }) => ({
          place: mapping.placeOf(path),
          message: `test '${name}': ${message}`,
        })),
      );
    }
  }
  return { problems, warnings, passed };
}

function placedProblems(mapping: MappingFile, limits: MappingLimits, custom?: MappingContext['custom']) {
  return checkMapping(mapping.spec, limits, custom).map(({ path, message, isWarning = false }) => ({
    place: mapping.placeOf(path),
    message,
    isWarning,
  }));
}

/** A mapping with all that is known before its tables are read: its file, the job's params, and where the tables are. */
export interface MappingSource {
  readonly spec: MappingSpec;
  readonly params: ImportJob['params'];
  /** The lookups and the crosswalk, which a run stages together with its source. */
  readonly tables: readonly SideTable[];
  /** The lookups of the store's subscriber lists, which only a run may request. */
  readonly listLookups: ReturnType<typeof lookupsOfStoreLists>;
  /** The transforms of the workspace, where the mapping has some. */
  readonly custom?: MappingContext['custom'];
  /** Of the mapping, its params, lookups (their places, not their contents) and extensions. The crosswalk counts as an input of the job. */
  readonly digest: string;
  /** A digest of what decides a record's key. */
  readonly keyDigest: string;
  /** Why it cannot be used. Compiles it, which what maps no rows, such as an undo, goes without. */
  readonly findProblems: () => readonly ConfigurationProblem[];
}

/** The store of an import job, its mapping, and the job itself with the store's rules for prices. */
export async function openImport(workspace: Workspace, written: ImportJob) {
  const store = workspace.store(written.store);
  const prices = written.import === 'products' ? (written.prices ?? store.prices) : undefined;
  const job = prices === undefined ? written : { ...written, prices };
  const mapping = await openMapping(workspace.mapping(job.mapping), job, workspace.fileAccess());
  return { job, store, mapping };
}

/** What a job's mapping needs besides the source. */
export async function openMapping(
  file: MappingFile,
  job: ImportJob,
  access: FileAccess,
): Promise<MappingSource> {
  const { spec } = file;
  const { tests: _, lookups: __, ...maps } = spec;
  // As text: the order of options and columns matters, and `digestOf` ignores the order of keys.
  const written = JSON.stringify(maps);
  const lookups = writtenLookups(file);
  const extensions = await extensionsOf(file, maps);
  if (extensions instanceof ConfigurationError) throw extensions;
  const custom = extensions && customTransforms(extensions);
  return {
    spec,
    custom,
    findProblems: () => placedProblems(file, job.limits, custom).filter(({ isWarning }) => !isWarning),
    params: job.params,
    tables: sideTablesOf(file, job, access),
    listLookups: lookupsOfStoreLists(spec, job.params),
    digest: digestOf([
      written,
      lookups,
      job.params,
      ...(extensions === undefined ? [] : [extensions.digest]),
    ]),
    keyDigest: keyDigestOf(spec, job, lookups, extensions?.digest),
  };
}

/** The extensions of the workspace that a mapping is in; undefined if it names none, and then nothing of them is executed. */
async function extensionsOf({ dir }: MappingFile, spec: object) {
  if (extensionsFileOf(spec) === undefined) return undefined;
  try {
    return await loadExtensions(dir);
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
}

/** The file of the extensions, if a part of a mapping names one. */
export function extensionsFileOf(part: object): string | undefined {
  return JSON.stringify(part).includes('"custom":') ? EXTENSIONS_FILE : undefined;
}

function customTransforms({ transforms }: LoadedExtensions): MappingContext['custom'] {
  return (name) => (Object.hasOwn(transforms, name) ? transforms[name] : undefined);
}

/** The tables that a job reads besides its source: the lookups of its mapping, and its crosswalk. */
export function sideTablesOf(
  { spec, dir, lookupPlaces }: MappingFile,
  job: ImportJob,
  access: FileAccess,
): SideTable[] {
  const besideMapping = {
    workspaceDir: dir,
    allowedFolders: [access.workspaceDir, ...(access.allowedFolders ?? [])],
  };
  const joins = joinOpeners(spec, job.params);
  const lookups = Object.entries(spec.lookups ?? {}).flatMap(
    ([name, { match, join: _, ...written }]): SideTable[] => {
      const place = lookupPlaces.get(name);
      if (place === undefined) return [];
      const at = { ...tableOptionsOf(written), ...place };
      const table = { name, match, join: joins.get(name), resource: spec.import };
      return [{ kind: 'lookup', ...table, at, access: besideMapping }];
    },
  );
  const { crosswalk } = job;
  if (crosswalk === undefined || !isThere(crosswalk, access)) return lookups;
  return [...lookups, { kind: 'crosswalk', at: crosswalk, columns: withField(crosswalk, spec), access }];
}

/** With `crosswalk: store` there may be no table yet: then the store is asked. */
function isThere(
  { isOfStore, path = '' }: NonNullable<ImportJob['crosswalk']>,
  { workspaceDir }: FileAccess,
) {
  return isOfStore !== true || existsSync(join(workspaceDir, path));
}

/** The tables that rows are compared with. */
export type MappingTables = Awaited<ReturnType<typeof readMappingTables>>;

/** Reads the tables of a mapping from the snapshot: lookups into memory, the crosswalk into a database that `opened` closes. */
export async function readMappingTables(
  { tables }: Pick<MappingSource, 'tables'>,
  { tables: staged = [] }: Snapshot,
  folder: RunFolder,
  limits: InputLimits,
  opened: DisposableStack,
) {
  const lookups = new Map<string, LookupTable>();
  const joins = new Map<string, ReturnType<JoinOpener['open']>>();
  let crosswalk: Crosswalk | undefined;
  for (const [index, table] of tables.entries()) {
    const file = staged[index];
    if (file === undefined) {
      throw new StateError(`The snapshot has no copy of the ${sideTableWords(table)}.`, {
        hint: 'Run the job again: it takes a new snapshot.',
      });
    }
    const { header, rows: read } = await openSideTable(table, file, folder, limits);
    if (table.kind === 'crosswalk') {
      crosswalk = await readCrosswalk(table.columns, sideTableFile(table), header, read(), opened);
      continue;
    }
    if (table.join !== undefined) {
      const joined = table.join.open(sideTableFile(table), header);
      joins.set(table.name, joined);
      let width: number | undefined;
      for await (const batch of read()) {
        width ??= header.length + blankCellsBeyond(header, batch);
        for (const row of batch) joined.add(row, width);
      }
      continue;
    }
    const rows: Row[] = [];
    for await (const batch of read()) rows.push(...batch);
    const [cells, formats] = [rows.map((row) => row.cells), rows.map((row) => row.currencies)];
    const lookup = lookupTable(header, cells, table.match, formats);
    if (lookup === undefined) throw columnMissing(table, header);
    lookups.set(table.name, lookup);
  }
  return { lookups, joins, crosswalk };
}

/** The lookups as they are written, with the addresses of their files but without secrets. */
function writtenLookups({ spec, lookupPlaces }: MappingFile): Readonly<Record<string, object>> {
  return Object.fromEntries(
    Object.entries(spec.lookups ?? {}).map(([name, { match, of, when, join, ...written }]) => {
      const { remote, ...place } = lookupPlaces.get(name) ?? {};
      const address = remote === undefined ? place : { remote: remote.location };
      return [name, { match, of, when, join, ...tableOptionsOf(written), ...address }];
    }),
  );
}

/** How a table is written, without the place of its file. */
export function tableOptionsOf({
  sheet,
  headerRow,
  dataRow,
  records,
  encoding,
  delimiter,
  quotes,
  escape: escapedBy,
  skipBlanks,
}: TableOptions) {
  return { sheet, headerRow, dataRow, records, encoding, delimiter, quotes, escape: escapedBy, skipBlanks };
}

/** The crosswalk with the field to compare its column with. A mapping without that field reports this itself. */
function withField(crosswalk: NonNullable<ImportJob['crosswalk']>, spec: MappingSpec) {
  const field = spec.import === 'contacts' ? crosswalkField(crosswalk, spec.contact) : undefined;
  return field === undefined ? crosswalk : { ...crosswalk, field };
}

/**
 * The key of a contact is its id: from the mapping, or from a crosswalk by a field. Another file may have the same
 * content.
 */
function contactKey({ contact }: ContactMappingSpec, { crosswalk }: ImportJob) {
  if (crosswalk === undefined) return contact.id;
  const field = crosswalkField(crosswalk, contact) ?? crosswalk.match;
  const sent = CONTACT_TEXT_FIELDS.find((name) => name === field);
  return (sent && contact[sent]) ?? new Map(Object.entries(contact.match ?? {})).get(field);
}

/** What decides the key: its expression, the grouping of rows, and the columns, params and lookups that these use. */
function keyDigestOf(
  spec: MappingSpec,
  job: ImportJob,
  written: ReturnType<typeof writtenLookups>,
  extensions: string | undefined,
) {
  const key =
    spec.import === 'products' ? matchValue(spec, updateMatch(job) ?? 'url') : contactKey(spec, job);
  const { columns, params, lookups } = keyNames(spec, key);
  const named = <T>(entries: Readonly<Record<string, T>> | undefined, names: ReadonlySet<string>) =>
    Object.entries(entries ?? {}).filter(([name]) => names.has(name));
  const { match, id } = job.crosswalk ?? {};
  return `${KEY_DIGEST}${digestOf([
    key ?? null,
    spec.group ?? null,
    match ?? null,
    id ?? null,
    named(spec.columns, columns),
    named(written, lookups),
    named(spec.params, params),
    named(job.params, params),
    ...(extensions !== undefined && extensionsFileOf([key, spec.group]) !== undefined ? [extensions] : []),
  ])}`;
}

/**
 * The prefix of a key digest. It changes with the kind of input, because digests of different kinds cannot be
 * compared.
 */
const KEY_DIGEST = 'key-2 ';

/** The key digest of an earlier run, if it can be compared with a present one; null otherwise. */
export function comparableKeyDigest(digest: string | null): string | null {
  return digest?.startsWith(KEY_DIGEST) === true ? digest : null;
}

function columnMissing(table: Extract<SideTable, { kind: 'lookup' }>, header: readonly string[]) {
  const columns = listHeaders(header, quotableHeaders(table.resource, header));
  return new MappingError(
    `The ${sideTableWords(table)} has no column '${table.match}'; columns found: ${columns}.`,
    {
      place: { file: sideTableFile(table), line: 1 },
      hint: 'Correct `match` in the mapping, or the header of the file.',
    },
  );
}
