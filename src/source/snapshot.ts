import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Stored } from '../model/json-object.ts';
import { releaseBuffer } from '../model/read-next.ts';
import { stagedTableSchema } from '../model/row.ts';
import { StateError } from '../model/storeferry-error.ts';
import { type RunFolder, readSealed, sealedJson } from '../state/artifacts.ts';

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

/** A snapshot of these files in this order. */
export function snapshotOf(files: readonly SnapshotFile[]): Snapshot {
  const hash = createHash('sha256');
  for (const { bytes, sha256, table } of files) {
    hash.update(`${bytes} ${sha256}${table === undefined ? '' : JSON.stringify(table)}\n`);
  }
  return { files, sha256: hash.digest('hex') };
}

/**
 * Writes the list of the snapshot's files. It is written last, so its presence proves that the snapshot is complete.
 */
export async function saveSnapshot(folder: RunFolder, snapshot: Snapshot): Promise<void> {
  await folder.write(SNAPSHOT_FILE, [sealedJson(snapshot)]);
}

/** The snapshot in the folder, to continue the run; undefined if staging has not finished. StateError. */
export async function loadSnapshot(folder: RunFolder): Promise<Snapshot | undefined> {
  if (!(await folder.exists(SNAPSHOT_FILE))) return undefined;
  return await readSealed(folder, SNAPSHOT_FILE, snapshotSchema, [
    'is damaged',
    'Run the job again: it will take a new snapshot.',
  ]);
}

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
export function copyName(number: number, beginning = 'source'): string {
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
