import { randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FastifyRequest } from 'fastify';
import { formatBytes, printable, truncate } from '../../text/printable.ts';
import { checkFormToken } from '../guard/guard-requests.ts';
import { PageError } from '../guard/page-error.ts';
import { CSRF_FIELD } from '../pages/post-form.ts';

/** Larger files are better read from an address or a folder. */
export const UPLOAD_LIMIT_BYTES = 64_000_000;

/** The number of uploads that are kept until they are sent; the oldest are removed. */
const MAX_UPLOADS = 10;

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

/** The corrections that a visitor has typed so far, on all pages of a run: by line, then by column. */
export interface CorrectionDraft {
  readonly run: string;
  readonly edits: Map<string, Map<number, string>>;
}

/** Uploaded files on the disk of the dashboard, readable only for its user. */
export type Uploads = ReturnType<typeof openUploads>;

/** Uploads in a folder of this process, which is asked for with the first upload. */
export function openUploads(folder: () => Promise<string>) {
  const kept = new Map<string, Upload>();
  const drafts = new Map<string, CorrectionDraft>();
  const drop = async ({ id }: Upload) => {
    const known = kept.get(id);
    kept.delete(id);
    if (known !== undefined) await removeFolder(known);
  };
  return {
    /** Writes the whole stream or nothing. */
    async keep(run: string, name: string, content: Readable, draft?: string): Promise<Upload> {
      const id = randomUUID();
      const own = join(await folder(), id);
      const path = join(own, fileNameOf(name));
      await mkdir(own, { mode: 0o700 });
      try {
        await pipeline(content, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
      } catch (error) {
        await rm(own, { recursive: true, force: true });
        throw error;
      }
      const upload = {
        id,
        run,
        name: truncate(printable(name), NAME_LENGTH),
        path,
        draft,
        read: async () => (await open(path)).createReadStream(),
      };
      const oldest = keepNewest(kept, MAX_UPLOADS, id, upload);
      if (oldest !== undefined) await removeFolder(oldest);
      return upload;
    },
    find(id: string | undefined, run: string): Upload | undefined {
      const upload = id === undefined ? undefined : kept.get(id);
      return upload?.run === run ? upload : undefined;
    },
    drop,
    /** In memory until they are sent. */
    drafts,
    /** Removes all of them, and what was typed. */
    async clear(): Promise<void> {
      drafts.clear();
      for (const upload of [...kept.values()]) await drop(upload);
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

/** What a map keeps of this id, else what `read` gives, which is kept likewise; a failure is forgotten, so that the next page reads again. */
export function keptReading<T>(
  kept: Map<string, Promise<T>>,
  most: number,
  id: string,
  read: () => Promise<T>,
): Promise<T> {
  const known = kept.get(id);
  if (known !== undefined) return known;
  const reading = read();
  keepNewest(kept, most, id, reading);
  reading.catch(() => {
    if (kept.get(id) === reading) kept.delete(id);
  });
  return reading;
}

async function removeFolder({ path }: Upload) {
  await rm(dirname(path), { recursive: true, force: true });
}

/** A message about an upload, which names it as its visitor does. */
export function withoutFolder(text: string, { path }: Upload): string {
  return text.replaceAll(`${dirname(path)}${sep}`, '');
}

/** A name for a file in the workspace: no folder, nothing hidden, and no sign that a glob would read. */
function fileNameOf(name: string) {
  const plain = name.replaceAll(/^.*[/\\]/gs, '').replaceAll(/[^\p{L}\p{M}\p{N}._-]+/gu, '-');
  const kept = [...plain].slice(-NAME_LENGTH);
  while (Buffer.byteLength(kept.join('')) > NAME_BYTES) kept.shift();
  return kept.join('').replace(/^[.-]+/, '') || 'file';
}

const NAME_LENGTH = 80;
/** A file system takes 255; the temporary name of a copy is longer. */
const NAME_BYTES = 200;

/** The run or the purpose that a file is for, and what to do with a larger one. */
interface UploadPurpose {
  readonly run: string;
  readonly hint: string;
}

/**
 * Streams the file of a form to disk, after its token has proved that the form is ours. PageError for no file, or a larger one.
 */
export async function receiveUpload(
  request: FastifyRequest,
  uploads: Uploads,
  purpose: UploadPurpose,
): Promise<Upload> {
  if (!request.isMultipart()) throw noFile();
  try {
    return await receiveParts(request, uploads, purpose);
  } catch (error) {
    // The parser throws plain errors for what no browser sends; all other errors have a type or a code.
    const isPlain = error instanceof Error && error.constructor === Error && !('code' in error);
    if (!isPlain) throw error;
    throw new PageError(
      400,
      'The form is damaged',
      'The upload arrived incomplete or malformed. Send it again.',
    );
  }
}

async function receiveParts(request: FastifyRequest, uploads: Uploads, { run, hint }: UploadPurpose) {
  const limits = { fileSize: UPLOAD_LIMIT_BYTES, files: 1, fields: 5, parts: 6, headerPairs: 20 };
  let checked = false;
  for await (const part of request.parts({ limits })) {
    if (part.type === 'field') {
      if (part.fieldname !== CSRF_FIELD) continue;
      checkFormToken(request, part.value);
      checked = true;
    } else {
      if (!checked) checkFormToken(request, undefined);
      // Browsers send a quotation mark in a file name as %22.
      const name = part.filename === '' ? 'the uploaded file' : part.filename.replaceAll('%22', '"');
      const upload = await uploads.keep(run, name, part.file);
      if (!part.file.truncated) return upload;
      await uploads.drop(upload);
      const most = `At most ${formatBytes(UPLOAD_LIMIT_BYTES)} can be uploaded.`;
      throw new PageError(413, 'The file is too large', `${most} ${hint}`);
    }
  }
  throw noFile();
}

function noFile() {
  return new PageError(400, 'No file', 'Go back and choose the file.');
}
