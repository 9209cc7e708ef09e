import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FastifyRequest } from 'fastify';
import { formatBytes, printable, shortened } from '../../report/printable.ts';
import { REJECTS_FILE, UNTOUCHED_FILE } from '../../report/rejects/rejects-file.ts';
import { markAsTyped } from '../../run/read-corrections.ts';
import type { RunContext } from '../../run/run-context.ts';
import { checkFormToken } from '../guard/guard-requests.ts';
import { PageError } from '../guard/page-error.ts';
import { CSRF_FIELD } from '../pages/post-form.ts';

/** Larger files are better read from an address or a folder. */
export const UPLOAD_LIMIT_BYTES = 64_000_000;

/** The number of uploads that are kept until they are sent; the oldest are removed. */
const MOST = 10;

/** An uploaded file for a run or a new job, kept until it is confirmed. */
export interface Upload {
  readonly id: string;
  /** The run or the purpose that it is for. */
  readonly run: string;
  /** Its name on the visitor's machine. */
  readonly name: string;
  /** The draft in which it was typed here; undefined for a file that a spreadsheet may have written. */
  readonly draft?: string | undefined;
  /** An absolute path; the last part is the name of the file, as far as file names may have it. */
  readonly path: string;
  read(): Promise<Readable>;
}

/** Uploaded files on the disk of the dashboard, readable only for its user. */
export type Uploads = ReturnType<typeof openUploads>;

/** Uploads in a temporary folder, which is created with the first upload and removed at the end. */
export function openUploads() {
  let folder: Promise<string> | undefined;
  const kept = new Map<string, Upload>();
  const drop = async ({ id }: Upload): Promise<void> => {
    const known = kept.get(id);
    kept.delete(id);
    if (known !== undefined) await removeFolder(known);
  };
  return {
    /** Writes the whole stream or nothing. */
    async keep(run: string, name: string, content: Readable, draft?: string): Promise<Upload> {
      folder ??= mkdtemp(join(tmpdir(), 'storeferry-uploads-'));
      const id = randomUUID();
      const own = join(await folder, id);
      const path = join(own, fileNameOf(name));
      await mkdir(own, { mode: 0o700 });
      try {
        await pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
      } catch (error) {
        await rm(own, { recursive: true, force: true });
        throw error;
      }
      const upload = {
        ...{ id, run, name, path, draft },
        read: async () => (await open(path)).createReadStream(),
      };
      const oldest = keepNewest(kept, MOST, id, upload);
      if (oldest !== undefined) await removeFolder(oldest);
      return upload;
    },
    find(id: string | undefined, run: string): Upload | undefined {
      const upload = id === undefined ? undefined : kept.get(id);
      return upload?.run === run ? upload : undefined;
    },
    drop,
    async [Symbol.asyncDispose]() {
      if (folder !== undefined) await rm(await folder, { recursive: true, force: true });
    },
  };
}

/** Adds to a map that keeps only so many; returns the oldest, which is removed. */
export function keepNewest<T>(kept: Map<string, T>, most: number, id: string, value: T): T | undefined {
  kept.delete(id);
  kept.set(id, value);
  const [oldest] = kept;
  if (kept.size <= most || oldest === undefined) return undefined;
  kept.delete(oldest[0]);
  return oldest[1];
}

async function removeFolder({ path }: Upload): Promise<void> {
  await rm(dirname(path), { recursive: true, force: true });
}

/** A name for a file in the workspace: no folder, nothing hidden, and no sign that a glob would read. */
export function fileNameOf(name: string): string {
  const plain = name
    .replaceAll(/^.*[/\\]/gs, '')
    .replaceAll(/[^\p{L}\p{M}\p{N}._-]+/gu, '-')
    .replace(/^[.-]+/, '');
  return plain.slice(-NAME_LENGTH) || 'file';
}

const NAME_LENGTH = 80;

/** Limits of a form with one file. */
export interface ReceiveOptions {
  /** The run or the purpose that the file is for. */
  readonly run: string;
  /** What to do with a larger file. */
  readonly hint: string;
}

/** Streams the file of a form to disk, after its token has proved that the form is ours. PageError for no file, or a larger one. */
export async function receiveUpload(
  request: FastifyRequest,
  uploads: Uploads,
  { run, hint }: ReceiveOptions,
): Promise<Upload> {
  if (!request.isMultipart()) throw noFile();
  const limits = { fileSize: UPLOAD_LIMIT_BYTES, files: 1, fields: 5, parts: 6, headerPairs: 20 };
  let checked = false;
  for await (const part of request.parts({ limits })) {
    if (part.type === 'field') {
      if (part.fieldname !== CSRF_FIELD) continue;
      checkFormToken(request, part.value);
      checked = true;
    } else {
      if (!checked) checkFormToken(request, undefined);
      const name = part.filename === '' ? 'the uploaded file' : part.filename;
      const upload = await uploads.keep(run, shortened(printable(name), NAME_LENGTH), part.file);
      if (!part.file.truncated) return upload;
      await uploads.drop(upload);
      const most = `At most ${formatBytes(UPLOAD_LIMIT_BYTES)} can be uploaded.`;
      throw new PageError(413, 'The file is too large', `${most} ${hint}`);
    }
  }
  throw noFile();
}

function noFile(): PageError {
  return new PageError(400, 'No file', 'Go back and choose the file.');
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
