import { stat } from 'node:fs/promises';
import { normalize, relative, resolve } from 'node:path';
import { DEFAULT_LIMITS, type InputLimits } from '../model/input-limits.ts';
import type { RemoteAddress } from '../model/remote-address.ts';
import { SourceError } from '../model/storeferry-error.ts';
import { bytesOf, fetchFile } from '../remote/fetch-file.ts';
import { openRemote } from '../remote/remote-kinds.ts';
import { type FileAccess, findFiles, openFound } from '../state/file-access.ts';
import { recognise } from './recognise.ts';
import { openZip, refuseTooMuch } from './unpack.ts';

/** The picture files of a folder or a zip. */
export interface PictureFiles extends AsyncDisposable {
  /** Their names within the folder or the zip, sorted. */
  readonly names: readonly string[];
  /** The content of a file, and which format it has, or why no shop would show it. SourceError if it cannot be read. */
  read(name: string): Promise<Picture>;
}

type Picture =
  | { readonly content: Buffer; readonly type: PictureType }
  /** Completes a sentence that begins with the name of the file. */
  | { readonly problem: string };

type PictureType = 'jpg' | 'png' | 'gif' | 'webp' | 'avif';

/** More bytes are not suitable for a shop. */
const MAX_BYTES = 50_000_000;
const MAX_FILES = 50_000;

/** More bytes are not shown on a page. */
const MAX_SHOWN_BYTES = 8_000_000;
const ONCE = { retries: 0, firstWaitMs: 0 };

/** The picture at a web address, for a page: of at most 8 MB. RemoteFailure if it cannot be fetched. */
export async function fetchPicture(remote: RemoteAddress, signal: AbortSignal): Promise<Picture> {
  await using client = await openRemote(remote);
  const [file] = await client.find(signal);
  if (file === undefined) return { problem: 'is not there' };
  await using fetched = await fetchFile(client, file, {
    signal,
    limitBytes: MAX_SHOWN_BYTES,
    retryPolicy: ONCE,
  });
  return fetched === undefined ? { problem: 'is not there' } : await pictureOf(bytesOf(fetched.spool.handle));
}

/**
 * Opens the folder or the zip at a path. SourceError if it is neither, is damaged, or has names that lead out of it, links, or more
 * files than the limit.
 */
export async function openPictures(
  from: string,
  access: FileAccess,
  limits: Partial<InputLimits> = {},
): Promise<PictureFiles> {
  const status = await stat(resolve(access.workspaceDir, from)).catch(() => undefined);
  return status?.isDirectory() === true
    ? await openFolder(normalize(from).replace(/\/$/, ''), access)
    : await openArchive(from, access, { ...DEFAULT_LIMITS, ...limits }, status !== undefined);
}

async function openFolder(from: string, access: FileAccess): Promise<PictureFiles> {
  const found = await findFiles(`${from.replaceAll(/[\\*?[\]{},]/g, String.raw`\$&`)}/**`, access);
  refuseMany(from, found.length);
  const files = new Map(found.map((file) => [relative(from, file.path).normalize('NFC'), file]));
  return {
    names: [...files.keys()].sort(),
    async read(name) {
      const file = files.get(name);
      if (file === undefined) throw new TypeError(`there is no picture ${name}`);
      const handle = await openFound(file);
      try {
        return await pictureOf(bytesOf(handle));
      } finally {
        await handle.close();
      }
    },
    async [Symbol.asyncDispose]() {},
  };
}

async function openArchive(
  from: string,
  access: FileAccess,
  limits: InputLimits,
  isThere: boolean,
): Promise<PictureFiles> {
  const [file, ...more] = await findFiles(from, access).catch((cause: unknown) => {
    throw isThere || !(cause instanceof SourceError) ? cause : absent(from, cause);
  });
  if (file === undefined || more.length > 0) throw neither(from);
  const handle = await openFound(file);
  try {
    const { size } = await handle.stat();
    const zip = await openZip(handle, from, { ...limits, fileCount: MAX_FILES });
    if (zip.workbook !== undefined) throw neither(from);
    refuseMany(from, zip.files.length);
    const outside = zip.files.find(({ leavesFolder }) => leavesFolder);
    if (outside !== undefined) {
      throw new SourceError(`In the zip ${from}, ${outside.label} has a path that leads out of the zip.`, {
        place: { file: from },
        hint: 'Such a zip is made to overwrite files elsewhere. Pack the folder of the pictures again.',
      });
    }
    const files = new Map(zip.files.map(({ label, content }) => [label.normalize('NFC'), content]));
    const packedBytes = size;
    let unpackedBytes = 0;
    async function* counted(content: AsyncIterable<Uint8Array>) {
      for await (const chunk of content) {
        unpackedBytes += chunk.length;
        refuseTooMuch(from, { packedBytes, unpackedBytes, totalBytes: unpackedBytes }, limits);
        yield chunk;
      }
    }
    return {
      names: [...files.keys()].sort(),
      async read(name) {
        const content = files.get(name);
        if (content === undefined) throw new TypeError(`there is no picture ${name}`);
        return await pictureOf(counted(content()));
      },
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

function absent(from: string, cause: SourceError): SourceError {
  return new SourceError(`The pictures ${from} are not there.`, {
    place: { file: from },
    hint: 'Put the folder or the ZIP there, or correct `images.publish.from` in the job.',
    cause,
  });
}

function neither(from: string): SourceError {
  return new SourceError(`The pictures ${from} are neither a folder nor a zip.`, {
    place: { file: from },
    hint: 'Correct `images.publish.from` in the job.',
  });
}

function refuseMany(from: string, count: number): void {
  if (count <= MAX_FILES) return;
  throw new SourceError(`The pictures ${from} are ${count} files; at most ${MAX_FILES} are read.`, {
    place: { file: from },
    hint: 'Give the folder of the pictures of this source alone.',
  });
}

async function pictureOf(chunks: AsyncIterable<Uint8Array>): Promise<Picture> {
  const read: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > MAX_BYTES) return { problem: 'is larger than 50 MB' };
    // The reader uses its buffers again.
    read.push(Uint8Array.from(chunk));
  }
  const content = Buffer.concat(read);
  const type = typeOf(content);
  return type === undefined ? { problem: problemOf(content) } : { content, type };
}

/** The formats that browsers show, without SVG: it may hold programs. */
function typeOf(content: Buffer): PictureType | undefined {
  const start = content.toString('latin1', 0, 12);
  if (start.startsWith('\xff\xd8\xff')) return 'jpg';
  if (start.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
  if (/^GIF8[79]a/.test(start)) return 'gif';
  if (/^RIFF.{4}WEBP/s.test(start)) return 'webp';
  return /^.{4}ftypavi[fs]/s.test(start) ? 'avif' : undefined;
}

function problemOf(content: Buffer): string {
  if (content.length === 0) return 'is empty';
  const recognised = recognise(content);
  return recognised.kind === 'mistaken' ? `is ${recognised.what}` : 'is no JPEG, PNG, GIF, WebP or AVIF';
}
