import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { REJECTS_FILE, UNTOUCHED_FILE } from '../../report/rejects/rejects-file.ts';
import { markAsTyped } from '../../run/rejected-page.ts';
import type { RunContext } from '../../run/run-context.ts';

/** The number of uploads that are kept until they are sent; the oldest are removed. */
const MOST = 10;

/** An uploaded file for a run, kept until it is confirmed. */
export interface Upload {
  readonly id: string;
  readonly run: string;
  /** Its name on the visitor's machine. */
  readonly name: string;
  /** The draft in which it was typed here; undefined for a file that a spreadsheet may have written. */
  readonly draft?: string | undefined;
  read(): Promise<Readable>;
}

/** Uploaded files on the disk of the dashboard, readable only for its user. */
export interface Uploads extends AsyncDisposable {
  /** Writes the whole stream or nothing. */
  keep(run: string, name: string, content: Readable, draft?: string): Promise<Upload>;
  find(id: string | undefined, run: string): Upload | undefined;
  drop(upload: Upload): Promise<void>;
}

/** Uploads in a temporary folder, which is created with the first upload and removed at the end. */
export function openUploads(): Uploads {
  let folder: Promise<string> | undefined;
  const kept = new Map<string, Upload & { readonly path: string }>();
  const drop = async ({ id }: Upload): Promise<void> => {
    const known = kept.get(id);
    kept.delete(id);
    if (known !== undefined) await rm(known.path, { force: true });
  };
  return {
    async keep(run, name, content, draft) {
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
        ...{ id, run, name, path, draft },
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

type Folder = ReturnType<RunContext['artifacts']['run']>;

/**
 * Puts an uploaded file where `retry` reads the rejects of a run. An edited file there is kept as
 * `rejects-before-N.csv`; an unedited one equals the untouched copy and is replaced.
 */
export async function replaceRejects(
  { artifacts }: Pick<RunContext, 'artifacts'>,
  upload: Upload,
): Promise<void> {
  const folder = artifacts.run(upload.run);
  const [before, untouched, uploaded] = await Promise.all([
    folder.read(REJECTS_FILE).then(digest),
    folder.read(UNTOUCHED_FILE).then(digest),
    upload.read().then(digest),
  ]);
  if (before !== uploaded) {
    if (before !== untouched) {
      await folder.write(await freeName(folder), await folder.read(REJECTS_FILE));
    }
    await folder.write(REJECTS_FILE, await upload.read());
  }
  if (upload.draft !== undefined) await markAsTyped(folder);
}

async function freeName(folder: Folder): Promise<string> {
  const names = new Set(await folder.list());
  let number = 1;
  while (names.has(`rejects-before-${number}.csv`)) number += 1;
  return `rejects-before-${number}.csv`;
}

async function digest(content: AsyncIterable<Uint8Array>): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of content) hash.update(chunk);
  return hash.digest('hex');
}
