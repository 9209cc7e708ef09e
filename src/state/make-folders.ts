import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { codeOf } from './file-errors.ts';

/**
 * Creates the folder, and those above it that are missing, with `mode` for each. Node's own way tries for ever
 * where the system answers ENOENT to a new folder although the one above is there, as /proc does.
 */
export async function makeFolders(path: string, mode?: number): Promise<void> {
  if (await madeOrThere(path, mode)) return;
  const above = dirname(path);
  if (above !== path) await makeFolders(above, mode);
  if (await madeOrThere(path, mode)) return;
  await mkdir(path, mode);
}

/** False where a folder above is missing. */
async function madeOrThere(path: string, mode?: number): Promise<boolean> {
  try {
    await mkdir(path, mode);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    if (codeOf(error) === 'EEXIST' && (await stat(path)).isDirectory()) return true;
    throw error;
  }
}
