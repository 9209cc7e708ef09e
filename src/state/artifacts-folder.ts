import { createReadStream } from 'node:fs';
import { access, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { StateError } from '../model/errors.ts';
import type { Artifacts, RunFolder } from './artifacts.ts';

/** Flat names only: nothing that is written or read can lie outside its folder. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const UNFINISHED = '.part';

function checkedName(name: string): string {
  if (!NAME.test(name) || name.endsWith(UNFINISHED)) throw new Error(`Not a name of an artifact: ${name}`);
  return name;
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function failed(what: string, where: string, cause: unknown): StateError {
  const message = cause instanceof Error ? cause.message : String(cause);
  return new StateError(`${where} cannot be ${what}: ${message}`, {
    cause,
    hint: 'Look for a full disk and missing permissions, then run again to continue.',
  });
}

/** A folder on a disk, or on a share that all workers reach. */
export function artifactsFolder(root: string): Artifacts {
  return {
    run: (id) => runFolder(join(root, checkedName(id))),
    async remove(id) {
      await rm(join(root, checkedName(id)), { recursive: true, force: true });
    },
  };
}

function runFolder(dir: string): RunFolder {
  const path = (name: string) => join(dir, checkedName(name));
  return {
    location: dir,
    async write(name, content) {
      const target = path(name);
      // Unique, so that two writers of one name cannot mix; the later rename wins, with a whole file.
      const part = `${target}.${process.pid}-${Math.random().toString(36).slice(2)}${UNFINISHED}`;
      try {
        await mkdir(dir, { recursive: true, mode: 0o700 });
        const size = await writeWhole(part, content);
        await rename(part, target);
        await syncFolder(dir);
        return size;
      } catch (error) {
        await rm(part, { force: true }).catch(() => {});
        if (error instanceof Error && 'syscall' in error) throw failed('written', target, error);
        throw error;
      }
    },
    async read(name) {
      const stream = createReadStream(path(name));
      await new Promise<void>((resolve, reject) => {
        stream.once('open', () => resolve());
        stream.once('error', (error) => reject(failed('read', path(name), error)));
      });
      return stream;
    },
    async exists(name) {
      try {
        await access(path(name));
        return true;
      } catch (error) {
        if (isAbsent(error)) return false;
        throw failed('read', path(name), error);
      }
    },
    async list() {
      try {
        const names = await readdir(dir);
        return names.filter((name) => NAME.test(name) && !name.endsWith(UNFINISHED)).sort();
      } catch (error) {
        if (isAbsent(error)) return [];
        throw failed('read', dir, error);
      }
    },
    async remove(names) {
      await Promise.all(names.map((name) => rm(path(name), { force: true })));
    },
  };
}

async function writeWhole(
  path: string,
  content: AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>,
): Promise<number> {
  const file = await open(path, 'wx', 0o600);
  try {
    let size = 0;
    for await (const chunk of content) {
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      await file.writeFile(bytes);
      size += bytes.length;
    }
    await file.sync();
    return size;
  } finally {
    await file.close();
  }
}

async function syncFolder(dir: string): Promise<void> {
  const folder = await open(dir, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
