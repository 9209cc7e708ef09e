import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The files of a folder and of those in it, by their paths, each with its text in one byte per character. */
export async function readFiles(dir: string): Promise<Map<string, string>> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name));
  return new Map(
    await Promise.all(paths.map(async (path) => [path, await readFile(path, 'latin1')] as const)),
  );
}
