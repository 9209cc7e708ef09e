import { createHash } from 'node:crypto';
import type { RunFolder } from '../state/artifacts.ts';
import type { SnapshotFile } from './snapshot.ts';

/** Writes the next file of a snapshot into the run's folder, whole or not at all. */
export async function writeCopy(
  folder: RunFolder,
  number: number,
  name: string,
  content: AsyncIterable<Uint8Array | string>,
): Promise<SnapshotFile> {
  const stored = `source-${String(number).padStart(4, '0')}`;
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
