import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/** Files that were looked at and never sent; the oldest make room. */
const MOST = 10;

/** A file that was uploaded for a run, until it is confirmed. */
export interface Upload {
  readonly id: string;
  readonly run: string;
  /** As its owner calls it. */
  readonly name: string;
  read(): Promise<Readable>;
}

/** Uploaded files on the disk of the dashboard, for its owner only. */
export interface Uploads extends AsyncDisposable {
  /** Writes a stream whole, or leaves nothing. */
  keep(run: string, name: string, content: Readable): Promise<Upload>;
  find(id: string | undefined, run: string): Upload | undefined;
  drop(upload: Upload): Promise<void>;
}

/** Uploads in a temporary folder of their own, made with the first of them and removed at the end. */
export function openUploads(): Uploads {
  let folder: Promise<string> | undefined;
  const kept = new Map<string, Upload & { readonly path: string }>();
  const drop = async ({ id }: Upload): Promise<void> => {
    const known = kept.get(id);
    kept.delete(id);
    if (known !== undefined) await rm(known.path, { force: true });
  };
  return {
    async keep(run, name, content) {
      folder ??= mkdtemp(join(tmpdir(), 'storeferry-uploads-'));
      const id = randomUUID();
      const path = join(await folder, id);
      try {
        await pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
      } catch (error) {
        await rm(path, { force: true });
        throw error;
      }
      const upload = {
        ...{ id, run, name, path },
        read: async () => (await open(path)).createReadStream(),
      };
      kept.set(id, upload);
      const [oldest] = kept.values();
      if (kept.size > MOST && oldest !== undefined) await drop(oldest);
      return upload;
    },
    find(id, run) {
      const upload = id === undefined ? undefined : kept.get(id);
      return upload?.run === run ? upload : undefined;
    },
    drop,
    async [Symbol.asyncDispose]() {
      if (folder !== undefined) await rm(await folder, { recursive: true, force: true });
    },
  };
}
