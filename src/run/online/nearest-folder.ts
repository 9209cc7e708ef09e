import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The folder itself (an absolute path), or the nearest above it that is there: what it will be made in. */
export async function nearestFolder(folder: string): Promise<string> {
  let there = folder;
  while ((await stat(there).catch(() => undefined)) === undefined && there !== dirname(there)) {
    there = dirname(there);
  }
  return there;
}
