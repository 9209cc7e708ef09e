import { createHash } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { type FileHandle, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { z } from 'zod';
import type { SourceSpec } from '../config/job/job.ts';
import { SMALL_INPUT_BYTES } from '../isolation/run-isolated.ts';
import { DEFAULT_LIMITS, fileLimitError, type InputLimits } from '../model/input-limits.ts';
import type { Stored } from '../model/json-object.ts';
import type { RemoteAddress } from '../model/remote-address.ts';
import { stagedTableSchema } from '../model/row.ts';
import { CLAIMED } from '../model/run.ts';
import { NoFileError, SourceError, StateError } from '../model/storeferry-error.ts';
import { bytesOf } from '../remote/fetch-file.ts';
import type { RetryPolicy } from '../remote/remote-client.ts';
import { releaseBuffer } from '../remote/remote-client.ts';
import { EXTENSIONS_FILE } from '../remote/remote-kinds.ts';
import { type RunFolder, sealedFile } from '../state/artifacts.ts';
import { type FileAccess, type FoundFile, findFiles, openFound } from '../state/file-access.ts';
import { stageTable, TABLE_FORMATS } from '../tables/open-table.ts';
import { counted, shellWord } from '../text/printable.ts';
import { changedError, fetchSource } from './fetch-source.ts';
import { extensionRows } from './load-extensions.ts';
import { RECOGNISED_BYTES, recognise } from './recognise.ts';
import { openZip, peek, refuseTooMuch, unpack } from './unpack.ts';

// The files beside a source that are published, and a picture for a page.
export { fetchHostKey, fetchPicture, openPictures } from './fetch-source.ts';
export { type LoadedExtensions, loadExtensions } from './load-extensions.ts';

const SNAPSHOT_FILE = 'snapshot.json';

/** One file of a snapshot: unpacked, in its original charset. */
const snapshotFile = z.strictObject({
  /** Its path in the workspace and within the archive: a label, never a path to open. */
  name: z.string(),
  /** Its name in the run's folder. */
  stored: z.string(),
  bytes: z.int().min(0),
  /** Over the stored bytes, in hexadecimal. */
  sha256: z.string(),
  /** Set if the file was not CSV: the rows that were read from it are stored. */
  table: stagedTableSchema.exactOptional(),
});
export type SnapshotFile = Stored<typeof snapshotFile>;

/** The immutable copy of a run's source. */
const snapshotSchema = z.strictObject({
  files: z.array(snapshotFile),
  /** The lookups and the crosswalk, in the order in which the mapping reads them; absent where there are none. */
  tables: z.array(snapshotFile).exactOptional(),
  /** Over all files in their order, in hexadecimal; equal if the same bytes come in the same order. */
  sha256: z.string(),
  /** Settings for reading the files that replace those of the job: a corrected rejects file has its own dialect. */
  readAs: z
    .strictObject({
      encoding: z.string(),
      delimiter: z.string(),
      /** Set if the rejects are those of a workbook. */
      ofWorkbook: z.literal(true).exactOptional(),
    })
    .exactOptional(),
  /** The version of all files when they were fetched, for the next conditional requests. */
  version: z.string().exactOptional(),
});
export type Snapshot = Stored<typeof snapshotSchema>;

/** Whether a staged file was JSON whose list has no records. */
export function isEmptyList({ bytes, table }: Pick<SnapshotFile, 'bytes' | 'table'>): boolean {
  return bytes === 0 && table?.format === 'json';
}

/** A snapshot of these files in this order. */
export function snapshotOf(files: readonly SnapshotFile[]): Snapshot {
  const hash = createHash('sha256');
  for (const { bytes, sha256, table } of files) {
    hash.update(`${bytes} ${sha256}${table === undefined ? '' : JSON.stringify(table)}\n`);
  }
  return { files, sha256: hash.digest('hex') };
}

/**
 * Writes the list of the snapshot's files last, so that its presence proves that the snapshot is complete; and reads it, to continue
 * the run: undefined if staging has not finished. StateError.
 */
export const { write: saveSnapshot, find: loadSnapshot } = sealedFile(
  SNAPSHOT_FILE,
  snapshotSchema,
  'is damaged',
  'Run the job again: it will take a new snapshot.',
);

/** The snapshot, after a check of each file's checksum; undefined if staging has not finished. StateError. */
export async function verifiedSnapshot(folder: RunFolder): Promise<Snapshot | undefined> {
  const snapshot = await loadSnapshot(folder);
  for (const file of [...(snapshot?.files ?? []), ...(snapshot?.tables ?? [])]) {
    for await (const bytes of verified(folder, file, await folder.read(file.stored))) releaseBuffer(bytes);
  }
  return snapshot;
}

/** A stream of a file's bytes; it fails at its end with a StateError if the checksum is wrong. */
export async function readSnapshotFile(folder: RunFolder, file: SnapshotFile): Promise<Readable> {
  const stream = await folder.read(file.stored);
  return Readable.from(verified(folder, file, stream), { objectMode: false });
}

async function* verified(
  { location }: RunFolder,
  { stored, sha256 }: SnapshotFile,
  bytes: Readable,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  for await (const chunk of bytes) {
    hash.update(chunk);
    yield chunk;
  }
  if (hash.digest('hex') === sha256) return;
  throw new StateError(`${location}/${stored} was changed after staging: its checksum differs.`, {
    hint: 'The file was damaged or edited. Run the job again: it takes a new copy of the source.',
  });
}

/** The name of a copy in the run's folder. */
function copyName(number: number, beginning = 'source'): string {
  return `${beginning}-${String(number).padStart(4, '0')}`;
}

/** Writes a file of a snapshot into the run's folder, completely or not at all. */
export async function writeCopy(
  folder: RunFolder,
  stored: string,
  name: string,
  content: AsyncIterable<Uint8Array | string>,
): Promise<SnapshotFile> {
  const hash = createHash('sha256');
  async function* hashed(): AsyncGenerator<Uint8Array | string> {
    for await (const chunk of content) {
      hash.update(chunk);
      yield chunk;
    }
  }
  const bytes = await folder.write(stored, hashed());
  return { name, stored, bytes, sha256: hash.digest('hex') };
}

/** A text for a file of a snapshot. */
interface StagedContent {
  readonly name: string;
  content(): AsyncIterable<string>;
}

/** Makes a snapshot of texts: the step `stage` of a retry, whose source is the corrected rejects file. */
export async function stageContents(
  contents: readonly StagedContent[],
  readAs: NonNullable<Snapshot['readAs']>,
  folder: RunFolder,
): Promise<Snapshot> {
  const files: SnapshotFile[] = [];
  for (const { name, content } of contents) {
    files.push(await writeCopy(folder, copyName(files.length + 1), name, content()));
  }
  return { ...snapshotOf(files), readAs };
}

export interface StageOptions extends FileAccess {
  readonly folder: RunFolder;
  /** What the names of the copies begin with, where they are not the source of the run. */
  readonly copyAs?: string;
  readonly limits?: Partial<InputLimits> | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Shorter in tests. */
  readonly retryPolicy?: RetryPolicy | undefined;
  /** Called with the number of unpacked bytes and the current file, whenever bytes arrive. */
  readonly onProgress?: ((progress: { readonly file: string; readonly bytes: number }) => void) | undefined;
}

type TableFile = Parameters<typeof stageTable>[0];

/** The fields of a source that select its files and the table in them. */
export type SourcePlace = Pick<SourceSpec, 'path' | 'remote' | 'watch'> &
  TableFile['choice'] & { readonly files?: number | undefined; readonly query?: string | undefined };

/**
 * The step `stage`: copies the source into the run's folder, unpacked, and for a file other than CSV its rows. The
 * caller completes the snapshot with `saveSnapshot`. SourceError for a file that has no table, is damaged, changes
 * while it is read, or exceeds a limit; then no copy remains.
 */
export async function stageSource(source: SourcePlace, options: StageOptions): Promise<Snapshot> {
  const snapshot = await stageSourceUnless(null, source, options);
  if (snapshot === undefined) throw new TypeError('a source without a known version cannot be unchanged');
  return snapshot;
}

/** The same, but undefined, with nothing copied, if the source still has this version. */
export async function stageSourceUnless(
  version: string | null,
  source: SourcePlace,
  options: StageOptions,
): Promise<Snapshot | undefined> {
  const limits = { ...DEFAULT_LIMITS, ...options.limits };
  const { sheet, records } = source;
  const staging: Staging = { options, limits, choice: { sheet, records }, files: [], bytes: 0 };
  try {
    const found =
      source.remote === undefined
        ? await stagePath(source, staging)
        : await stageRemote(source.remote, version, staging);
    if (found === undefined) return undefined;
    const { files } = staging;
    if (source.files !== undefined && files.length !== source.files) {
      const name = source.remote?.location ?? source.path ?? '';
      throw new SourceError(
        `The source \`${name}\` gives ${files.length} file(s) where the job says \`files: ${source.files}\`: ${files.map((file) => file.name).join(', ')}.`,
        { place: { file: name }, hint: 'Wait until all files are there, or correct `files`.' },
      );
    }
    const empty = files.find(isEmptyList);
    if (files.length > 1 && empty !== undefined) {
      throw new SourceError(`The JSON file has no records, and is one of ${files.length} files.`, {
        place: { file: empty.name },
        hint: 'Export it again, or remove it: an empty list is a source without rows where it is the only file.',
      });
    }
    const isQuery = source.query !== undefined || source.remote?.isQuery === true;
    return {
      ...snapshotOf(files),
      ...(found !== null && { version: found }),
      ...(isQuery && { readAs: { encoding: 'utf-8', delimiter: ',' } }),
    };
  } catch (error) {
    // An error of the clean-up must not hide its cause; leftovers are deleted with the run's folder.
    await options.folder.remove(staging.files.map(({ stored }) => stored)).catch(() => undefined);
    throw error;
  }
}

/** Whether the content is a zip, like every workbook. */
export async function isZip(content: AsyncIterable<Uint8Array>): Promise<boolean> {
  const { beginning, whole } = await peek(content, RECOGNISED_BYTES);
  await whole.close();
  return recognise(beginning).kind === 'zip';
}

const MOVES_NAMED = 3;

/** The files of a path; of an inbox one that has arrived, there while its run works. */
async function findSource(path: string, watch: string | undefined, access: FileAccess) {
  try {
    const found = await findFiles(path, access);
    return watch === undefined ? found : found.slice(0, 1);
  } catch (error) {
    if (!(error instanceof NoFileError) || watch === undefined) throw error;
    const failed = join(dirname(watch), 'failed');
    const ofJob = await findFiles(join(failed, `*-${basename(watch)}`), access).catch(() => []);
    const moves = ofJob.flatMap(({ path: place }) => {
      const arrived = CLAIMED.exec(basename(place))?.[2];
      if (arrived === undefined) return [];
      return [`mv -i ${shellWord(place)} ${shellWord(join(dirname(watch), arrived))}`];
    });
    const waiting = 'A worker runs the job for each file that arrives; start it with: storeferry worker';
    const again = `${failed} has ${counted(moves.length, 'file')} whose run failed or was stopped. If it was not approved since, correct the cause, then move it back, in the folder of the workspace: ${moves.slice(0, MOVES_NAMED).join('; ')}${moves.length > MOVES_NAMED ? '; …' : ''}`;
    throw new SourceError(`No file of \`${watch}\` is being processed.`, {
      hint: moves.length === 0 ? waiting : `${again}. ${waiting}`,
    });
  }
}

async function stagePath({ path = '', query, watch }: SourcePlace, staging: Staging): Promise<null> {
  const staged: { readonly file: FoundFile; readonly version: BigIntStats }[] = [];
  for (const file of await findSource(path, watch, staging.options)) {
    if (query !== undefined) {
      const archive = { bytes: Number.POSITIVE_INFINITY, unpacked: 0 };
      const { signal } = staging.options;
      const rows = Readable.from(
        path === EXTENSIONS_FILE
          ? extensionRows(dirname(file.real), query, signal ?? NEVER)
          : (await import('./query-sqlite.ts')).querySqlite(file, query, signal),
        { objectMode: false },
      );
      const bytes = watched(file.path, rows, archive, staging);
      staging.files.push(await writeCopy(staging.options.folder, nextCopy(staging), file.path, bytes));
      continue;
    }
    const handle = await openFound(file);
    try {
      staged.push({ file, version: await stageFile(file.path, handle, staging) });
    } finally {
      await handle.close();
    }
  }
  // A row that has moved from one part of an export to another is in neither, if one of them is the old one.
  // So the last one is compared too: the first may have been the new one already. Not by inode, which some network file systems renumber.
  for (const { file, version } of staged.length > 1 ? staged : []) {
    const now = await stat(file.real, { bigint: true }).catch(() => version);
    if (!isSameVersion(now, version)) throw changedError(file.path);
  }
  return null;
}

const NEVER = new AbortController().signal;

async function stageRemote(
  remote: RemoteAddress,
  unless: string | null,
  staging: Staging,
): Promise<string | null | undefined> {
  const { signal = NEVER, retryPolicy, onProgress } = staging.options;
  return await fetchSource(
    remote,
    {
      signal,
      unless,
      limits: staging.limits,
      retryPolicy,
      onProgress: (file, bytes) => onProgress?.({ file, bytes: staging.bytes + bytes }),
    },
    async (name, { spool }) => {
      await stageFile(name, spool.handle, staging);
    },
  );
}

interface Staging {
  readonly options: StageOptions;
  readonly limits: InputLimits;
  readonly choice: TableFile['choice'];
  readonly files: SnapshotFile[];
  /** Unpacked bytes of all files so far. */
  bytes: number;
}

/** The file that stored files are unpacked from, perhaps an archive. */
interface Archive {
  readonly bytes: number;
  unpacked: number;
}

/** Gives the version that was read. */
async function stageFile(path: string, handle: FileHandle, staging: Staging): Promise<BigIntStats> {
  const before = await handle.stat({ bigint: true });
  const archive: Archive = { bytes: Number(before.size), unpacked: 0 };
  const { beginning, whole } = await peek(bytesOf(handle), RECOGNISED_BYTES);
  if (recognise(beginning).kind === 'zip') {
    await whole.close();
    const zip = await openZip(handle, path, staging.limits);
    if (zip.workbook === undefined) {
      for (const { label, content } of zip.files) {
        await store(`${path}/${label}`, content(), archive, staging);
      }
    } else {
      const parts = countedParts(path, zip.parts, archive, staging);
      const isSmall = zip.bytes <= SMALL_INPUT_BYTES;
      await storeTable(
        { name: path, format: zip.workbook, content: nothing, parts },
        isSmall,
        archive,
        staging,
      );
    }
  } else {
    await store(path, whole, archive, staging);
  }
  if (!isSameVersion(await handle.stat({ bigint: true }), before)) throw changedError(path);
  return before;
}

function isSameVersion(one: BigIntStats, other: BigIntStats): boolean {
  return one.size === other.size && one.mtimeNs === other.mtimeNs;
}

/** Writes the text of a file into the folder, unpacked. */
async function store(
  name: string,
  content: AsyncIterable<Uint8Array>,
  archive: Archive,
  staging: Staging,
): Promise<void> {
  refuseTooMany(name, staging);
  const { format, content: unpacked } = await unpack(content, name);
  if (format !== undefined) {
    const { beginning, whole } = await peek(unpacked, SMALL_INPUT_BYTES + 1);
    const isSmall = beginning.length <= SMALL_INPUT_BYTES;
    const read = () => watched(name, whole, archive, staging);
    await storeTable({ name, format, content: read, parts: new Map() }, isSmall, archive, staging);
    return;
  }
  refuseOtherChoice(name, undefined, staging);
  const { files, options } = staging;
  const bytes = watched(name, unpacked, archive, staging);
  files.push(await writeCopy(options.folder, nextCopy(staging), unique(name, files), bytes));
}

function nextCopy({ options: { copyAs }, files }: Staging): string {
  return copyName(files.length + 1, copyAs);
}

function refuseTooMany(file: string, { files, limits }: Staging): void {
  if (files.length >= limits.fileCount) throw fileLimitError(SourceError, limits, 'fileCount', { file });
}

/** Refuses a file that cannot have the table that the job names, instead of ignoring that setting. */
function refuseOtherChoice(file: string, format: TableFile['format'] | undefined, { choice }: Staging): void {
  const own = format === undefined ? undefined : TABLE_FORMATS[format].choice;
  const wrong = (['sheet', 'records'] as const).find((key) => choice[key] !== undefined && key !== own);
  if (wrong === undefined) return;
  const what = own === 'sheet' ? 'a workbook' : format === undefined ? 'CSV' : format.toUpperCase();
  throw new SourceError(`The source ${file} is ${what}, which has no \`${wrong}\`.`, {
    place: { file },
    hint: `Remove \`${wrong}\` from the source of the job. A link of a Google Sheet names its sheet itself: copy it while that sheet is open.`,
  });
}

/** The same bytes, counted until they are too many. */
async function* watched(
  name: string,
  content: AsyncIterable<Uint8Array>,
  archive: Archive,
  staging: Staging,
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    count(name, chunk.length, archive, staging);
    yield chunk;
  }
}

function count(name: string, bytes: number, archive: Archive, staging: Staging): void {
  const { limits, options } = staging;
  options.signal?.throwIfAborted();
  staging.bytes += bytes;
  archive.unpacked += bytes;
  const { bytes: packedBytes, unpacked: unpackedBytes } = archive;
  refuseTooMuch(name, { packedBytes, unpackedBytes, totalBytes: staging.bytes }, limits);
  options.onProgress?.({ file: name, bytes: staging.bytes });
}

/** Writes the rows of a table in a format other than CSV into the folder. */
async function storeTable(
  file: Pick<TableFile, 'name' | 'format' | 'content' | 'parts'>,
  isSmall: boolean,
  archive: Archive,
  staging: Staging,
): Promise<void> {
  const { files, limits, choice, options } = staging;
  refuseTooMany(file.name, staging);
  refuseOtherChoice(file.name, file.format, staging);
  const table = stageTable({ ...file, limits, choice }, { isSmall, signal: options.signal });
  // A few bytes may repeat a row a million times.
  let unpackedBytes = 0;
  async function* counted(): AsyncGenerator<string> {
    for await (const text of table.content) {
      unpackedBytes += Buffer.byteLength(text);
      const totalBytes = staging.bytes + unpackedBytes;
      refuseTooMuch(file.name, { packedBytes: archive.bytes, unpackedBytes, totalBytes }, limits);
      yield text;
    }
  }
  const copy = await writeCopy(options.folder, nextCopy(staging), unique(file.name, files), counted());
  files.push({ ...copy, table: table.describe() });
}

/** The parts of a workbook; each counts once, however often it is read. */
function countedParts(
  name: string,
  parts: TableFile['parts'],
  archive: Archive,
  staging: Staging,
): TableFile['parts'] {
  const counted = [...parts].map(([path, content]) => {
    let known = 0;
    async function* read(): AsyncGenerator<Uint8Array> {
      let bytes = 0;
      for await (const chunk of content()) {
        bytes += chunk.length;
        const more = Math.max(0, bytes - known);
        known += more;
        count(name, more, archive, staging);
        yield chunk;
      }
    }
    return [path, read] as const;
  });
  return new Map(counted);
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** A repeated label, as in archives, gets a number, because labels identify the file of a row. */
function unique(name: string, files: readonly SnapshotFile[]): string {
  const taken = (candidate: string) => files.some((file) => file.name === candidate);
  if (!taken(name)) return name;
  let number = 2;
  while (taken(`${name} (${number})`)) number += 1;
  return `${name} (${number})`;
}
