import { z } from 'zod';
import type { CrosswalkSpec } from '../../config/job/job.ts';
import type { JoinOpener } from '../../mapping/compile-mapping.ts';
import { fileLimitError, type InputLimits } from '../../model/input-limits.ts';
import type { Stored } from '../../model/json-object.ts';
import type { Resource } from '../../model/mapped-record.ts';
import type { FilePlace } from '../../model/remote-address.ts';
import type { Row, Table, TableOptions } from '../../model/row.ts';
import { CsvError, SourceError } from '../../model/storeferry-error.ts';
import {
  isEmptyList,
  readSnapshotFile,
  type Snapshot,
  type SnapshotFile,
  type StageOptions,
  stageSourceUnless,
} from '../../source/snapshot.ts';
import { type Artifacts, findJson, type RunFolder } from '../../state/artifacts.ts';
import type { FileAccess } from '../../state/file-access.ts';
import { openTable } from '../../tables/open-table.ts';
import { digestOf } from '../digest-of.ts';

/** A table that rows are compared with: a lookup of the mapping by its name, or the crosswalk of the job. */
export type SideTable = {
  readonly at: FilePlace & TableOptions;
  /** Where the file may be, if it is on this machine. */
  readonly access: FileAccess;
} & (
  | {
      readonly kind: 'lookup';
      readonly name: string;
      readonly match: string;
      /** What the mapping makes of the rows. */
      readonly resource: Resource;
      readonly join: JoinOpener | undefined;
    }
  | { readonly kind: 'crosswalk'; readonly columns: Pick<CrosswalkSpec, 'match' | 'field' | 'id'> }
);

/** The name of its file in messages: the path as written, or the address. */
export function sideTableFile({ at }: Pick<SideTable, 'at'>): string {
  return at.remote?.location ?? at.path ?? '';
}

/** The copy of a table in the run's folder, and the version that it had. */
interface StagedSideTable {
  readonly file: SnapshotFile;
  /** Null where the server gives none. */
  readonly version: string | null;
}

/**
 * Copies a table into the run's folder, as a source is copied; undefined, with nothing copied, when it still has this
 * version. SourceError as for a source, naming the table.
 */
async function stageSideTable(
  table: SideTable,
  known: string | null,
  options: Omit<StageOptions, keyof FileAccess>,
): Promise<StagedSideTable | undefined> {
  const { at, access } = table;
  const staged = await withTableName(table, () => stageSourceUnless(known, at, { ...access, ...options }));
  if (staged === undefined) return undefined;
  const { files, sha256 } = staged;
  const [file] = files;
  if (file === undefined || files.length > 1) {
    throw new SourceError(`The ${sideTableWords(table)} ${sideTableFile(table)} has ${files.length} files.`, {
      place: { file: sideTableFile(table) },
      hint: 'Name one file that has one table.',
    });
  }
  if (isEmptyList(file)) {
    throw new SourceError(`The ${sideTableWords(table)} has no records.`, {
      place: { file: sideTableFile(table) },
      hint: 'Export it again: its list is empty.',
    });
  }
  // A file of this machine has no version; its content identifies it.
  const version = at.remote === undefined ? sha256 : (staged.version ?? null);
  if (version !== known || known === null) return { file, version };
  await options.folder.remove([file.stored]);
  return undefined;
}

/** Stages the source of a run; undefined if it still has the known version. */
type StageSource = (known: string | null) => Promise<Snapshot | undefined>;

/**
 * Stages the source of a run by `stage`, and the tables beside it. Undefined, with nothing copied, when all of them still
 * have the versions of `known`.
 */
export async function stageWithSideTables(
  tables: readonly SideTable[],
  known: string | null,
  stage: StageSource,
  options: Omit<StageOptions, keyof FileAccess>,
): Promise<Snapshot | undefined> {
  if (tables.length === 0) return await stage(known);
  const [knownSource = null, ...knownTables] = versionsIn(known);
  const prefix = options.copyAs === undefined ? '' : `${options.copyAs}-`;
  const copy = (table: SideTable, index: number, version: string | null) =>
    stageSideTable(table, version, { ...options, copyAs: `${prefix}table-${index + 1}` });
  const staged: (StagedSideTable | undefined)[] = [];
  let isUnchanged = known !== null;
  for (const [index, table] of tables.entries()) {
    const found = await copy(table, index, isUnchanged ? (knownTables[index] ?? null) : null);
    staged.push(found);
    isUnchanged &&= found === undefined;
  }
  const source = await stage(isUnchanged ? knownSource : null);
  if (source === undefined) return undefined;
  const found: StagedSideTable[] = [];
  for (const [index, table] of tables.entries()) {
    const late = staged[index] ?? (await copy(table, index, null));
    if (late === undefined) throw new TypeError('a table without a known version cannot be unchanged');
    found.push(late);
  }
  const { version: ofSource, sha256, ...snapshot } = source;
  const versions = [ofSource ?? null, ...found.map(({ version }) => version)];
  return {
    ...snapshot,
    tables: found.map(({ file }) => file),
    sha256: digestOf([sha256, tablesDigest(found.map(({ file }) => file))]),
    ...(!versions.includes(null) && { version: JSON.stringify(versions) }),
  };
}

/** A digest of the content of staged tables: with an equal digest, equal rows give equal records. */
export function tablesDigest(tables: readonly SnapshotFile[]): string {
  return digestOf(tables.map(({ sha256, table }) => [sha256, table ?? null]));
}

function versionsIn(known: string | null): (string | null)[] {
  const versions: unknown = JSON.parse(known ?? '[]');
  return Array.isArray(versions) ? versions.map(String) : [];
}

/** Opens a staged table. SourceError where it cannot be read, naming the table. */
export async function openSideTable(
  side: SideTable,
  staged: SnapshotFile,
  folder: RunFolder,
  limits: InputLimits,
) {
  const name = sideTableFile(side);
  const table = await withTableName(side, async () => {
    const bytes = await readSnapshotFile(folder, staged);
    const opened = await openTable(bytes, staged.table, { ...side.at, name, limits });
    if (opened.doubt !== null) throw opened.doubt;
    return opened;
  });
  return {
    header: table.header,
    /** In the order of the file; a row beyond the limit, or one that cannot be read, is a SourceError that names the table. */
    rows: () => limitedRows(table, side, limits),
  };
}

async function* limitedRows(
  table: Table,
  side: SideTable,
  limits: InputLimits,
): AsyncGenerator<readonly Row[]> {
  const limit = side.kind === 'lookup' ? 'lookupRows' : 'crosswalkRows';
  let left = limits[limit];
  try {
    for await (const batch of table.batches()) {
      const first = batch[left];
      if (first !== undefined) {
        throw fileLimitError(CsvError, limits, limit, { file: sideTableFile(side), line: first.line });
      }
      left -= batch.length;
      yield batch;
    }
  } catch (error) {
    throw nameTableIn(side, error);
  }
}

async function withTableName<T>(side: SideTable, action: () => Promise<T>) {
  try {
    return await action();
  } catch (error) {
    throw nameTableIn(side, error);
  }
}

/** `lookup 'colours'`, `crosswalk`. */
export function sideTableWords(side: SideTable): string {
  return side.kind === 'lookup' ? `lookup '${side.name}'` : 'crosswalk';
}

/** The error with the name of the table, because the code that reads files calls each of them the source of the job. */
function nameTableIn(side: SideTable, error: unknown) {
  if (!(error instanceof SourceError || error instanceof CsvError)) return error;
  const words = sideTableWords(side);
  const { message, unquoted, place, hint } = error;
  const withName = (text: string) => {
    const named = text.replace(/\b([Tt]he) source\b/, `$1 ${words}`);
    return named === text ? `${words[0]?.toUpperCase()}${words.slice(1)}: ${text}` : named;
  };
  return new SourceError(withName(message), {
    place,
    unquoted: withName(unquoted),
    hint: hint?.replace(
      'the source of the job',
      side.kind === 'lookup' ? `the ${words} of the mapping` : 'the crosswalk of the job',
    ),
    cause: error,
  });
}

/** The folder of the stores that tables of the workspace are about: a file for each table. */
const STORES_FOLDER = 'tables-of-stores';
const noteSchema = z.object({
  storeId: z.string(),
  /** Of a table that a scan has written: the ids that were asked for. */
  scanned: z.array(z.object({ from: z.int(), to: z.int() })).exactOptional(),
});
type TableNote = Stored<typeof noteSchema>;

/**
 * Remembers that a table with ids or urls of a store is about the store with this identity: the table is named after the store, whose
 * name may mean another one later.
 */
export async function noteStoreOfTable(
  artifacts: Artifacts,
  table: string,
  storeId: string,
  more: Pick<TableNote, 'scanned'> = {},
): Promise<void> {
  await artifacts.run(STORES_FOLDER).write(noteFile(table), [JSON.stringify({ storeId, ...more })]);
}

/** The table of a job for one of several stores has an @, which a file of the artifacts must not have. */
function noteFile(table: string) {
  return `${table.replaceAll('@', '_at_')}.json`;
}

/** What was remembered of a table; undefined if nothing. */
export async function readTableNote(artifacts: Artifacts, table: string): Promise<TableNote | undefined> {
  return await findJson(artifacts.run(STORES_FOLDER), noteFile(table), noteSchema);
}

/**
 * Claims a table for a store: one of which nothing is known is from now on about it. Gives the identity of the other store that the
 * table is about; undefined if it is about this one.
 */
export async function claimTableForStore(
  artifacts: Artifacts,
  table: string,
  storeId: string,
): Promise<string | undefined> {
  const note = await readTableNote(artifacts, table);
  if (note === undefined) await noteStoreOfTable(artifacts, table, storeId);
  return note === undefined || note.storeId === storeId ? undefined : note.storeId;
}
