import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isAbandoned } from './abandoned-file.ts';
import { found, told } from './artifact-error.ts';
import { checkedName, isTemporary, temporaryName } from './artifact-names.ts';
import type { Artifacts, RunFolder } from './artifacts.ts';
import { syncFolder, writeAll } from './durable-file.ts';
import { inChunks } from './in-chunks.ts';
import { makeFolders } from './make-folders.ts';
import { rewrittenInPlace } from './rewritten-file.ts';

/** Artifacts in a folder, which several machines may share. Nothing is created before it is needed. */
export function folderArtifacts(root: string): Artifacts {
  return {
    run: (id) => runFolder(join(root, checkedName(id))),
    async remove(id) {
      const folder = join(root, checkedName(id));
      await told(folder, 'removed', rm(folder, { recursive: true, force: true }));
    },
  };
}

function runFolder(location: string): RunFolder {
  const pathOf = (name: string) => join(location, checkedName(name));
  let prepared: Promise<void> | undefined;
  const folder: RunFolder = {
    location,
    rewritten: (name) => rewrittenInPlace(folder, name, pathOf(name)),
    async write(name, content) {
      const path = pathOf(name);
      prepared ??= prepare(location);
      await prepared;
      const temporary = join(location, temporaryName(name, randomUUID()));
      try {
        const size = await writeNew(temporary, content);
        await told(path, 'written', rename(temporary, path));
        await told(location, 'written', syncFolder(location));
        return size;
      } catch (error) {
        await rm(temporary, { force: true }).catch(() => {});
        throw error;
      }
    },
    async read(name) {
      const path = pathOf(name);
      const file = await told(path, 'read', open(path, constants.O_RDONLY | constants.O_NOFOLLOW));
      return file.createReadStream({ highWaterMark: 256 * 1_024 });
    },
    async exists(name) {
      return (await told(pathOf(name), 'read', found(stat(pathOf(name))))) !== undefined;
    },
    async list() {
      const names = await told(location, 'read', found(readdir(location)));
      return (names ?? []).filter((name) => !isTemporary(name)).sort();
    },
    async remove(names) {
      for (const name of names) await told(pathOf(name), 'removed', rm(pathOf(name), { force: true }));
    },
  };
  return folder;
}

/** Creates the folder and sweeps what writers that died have left in it. */
async function prepare(location: string): Promise<void> {
  await told(location, 'created', makeFolders(location, 0o700));
  for (const name of await told(location, 'read', readdir(location))) {
    if (!isTemporary(name)) continue;
    const path = join(location, name);
    if (await isAbandoned(path)) await rm(path, { force: true }).catch(() => {});
  }
}

async function writeNew(path: string, content: Parameters<RunFolder['write']>[1]): Promise<number> {
  const file = await told(path, 'written', open(path, 'wx', 0o600));
  try {
    let size = 0;
    for await (const chunk of inChunks(content)) {
      await told(path, 'written', writeAll(file, chunk));
      size += chunk.length;
    }
    await told(path, 'written', file.sync());
    return size;
  } finally {
    await file.close().catch(() => {});
  }
}
