import type { RunFolder } from '../state/artifacts.ts';
import { type Snapshot, type SnapshotFile, snapshotOf } from './snapshot.ts';
import { writeCopy } from './write-copy.ts';

/** A text that is to be a file of a snapshot. */
export interface StagedContent {
  readonly name: string;
  content(): AsyncIterable<string>;
}

/** Takes a snapshot of texts instead of files: of a rejects file as corrected, by the step `stage` of a retry. */
export async function stageContents(
  contents: readonly StagedContent[],
  readAs: NonNullable<Snapshot['readAs']>,
  folder: RunFolder,
): Promise<Snapshot> {
  const files: SnapshotFile[] = [];
  for (const { name, content } of contents) {
    files.push(await writeCopy(folder, files.length + 1, name, content()));
  }
  return { ...snapshotOf(files), readAs };
}
