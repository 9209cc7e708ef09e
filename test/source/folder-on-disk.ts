import { createReadStream, existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { RunFolder } from '../../src/state/artifacts.ts';

/** A run folder on disk, as simple as the interface allows: written whole or not at all. */
export function folderOnDisk(location: string): RunFolder {
  return {
    location,
    async write(name, content) {
      await mkdir(location, { recursive: true });
      const temporary = join(location, `${name}.tmp`);
      try {
        await writeFile(temporary, content);
      } catch (error) {
        await rm(temporary, { force: true });
        throw error;
      }
      await rename(temporary, join(location, name));
      return (await stat(join(location, name))).size;
    },
    read: async (name) => createReadStream(join(location, name)),
    exists: async (name) => (await namesIn(location)).includes(name),
    list: async () => (await namesIn(location)).sort(),
    async remove(names) {
      for (const name of names) await rm(join(location, name), { force: true });
    },
  };
}

async function namesIn(location: string): Promise<string[]> {
  return existsSync(location) ? readdir(location) : [];
}

/** A workspace with files in it, and the folder of a run beside it; both go when it is disposed of. */
export async function workspaceWith(files: Readonly<Record<string, string | Uint8Array>>) {
  const root = await mkdtemp(join(tmpdir(), 'storeferry-source-'));
  const workspaceDir = join(root, 'workspace');
  for (const [name, content] of Object.entries(files)) {
    const path = join(workspaceDir, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
  return {
    root,
    workspaceDir,
    folder: folderOnDisk(join(root, 'run')),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}
