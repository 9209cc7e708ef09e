import { hash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { normalize, relative, resolve } from 'node:path';
import { DEFAULT_LIMITS, fileLimitError, type InputLimits } from '../model/input-limits.ts';
import type { RemoteAddress } from '../model/remote-address.ts';
import { SourceError } from '../model/storeferry-error.ts';
import { bytesOf, type Fetched, fetchFile, TooLarge } from '../remote/fetch-file.ts';
import {
  CHANGING_FILE_HINT,
  type FoundFile,
  RemoteFailure,
  type RetryPolicy,
  retryTransient,
} from '../remote/remote-client.ts';
import { hasExactVersions, hostKeyOf, openRemote, remoteIdentity } from '../remote/remote-kinds.ts';
import { type FileAccess, findFiles, openFound } from '../state/file-access.ts';
import { recognise } from './recognise.ts';
import { openZip, refuseTooMuch, type SourceLimits } from './unpack.ts';

interface FetchSourceOptions {
  readonly signal: AbortSignal;
  /** Skip the source if it still has this version as a whole. */
  readonly unless: string | null;
  readonly limits: SourceLimits;
  readonly retryPolicy?: RetryPolicy | undefined;
  readonly onProgress: (file: string, bytes: number) => void;
}

/** Takes the copy of one file, which is deleted afterwards. */
type TakeFile = (name: string, fetched: Fetched) => Promise<void>;

/**
 * Downloads the files of an address one by one and passes each to `take`. Returns the version of all of them, null if
 * unknown, or undefined if nothing has changed since `unless`: then nothing was taken.
 */
export async function fetchSource(
  remote: RemoteAddress,
  options: FetchSourceOptions,
  take: TakeFile,
): Promise<string | null | undefined> {
  await using client = await openRemote(remote);
  const found = await withSourceErrors(remote.location, options, () =>
    retryTransient(() => client.find(options.signal), options.signal, options.retryPolicy),
  );
  if (found.length === 0) {
    throw new SourceError(`No file matches the source \`${remote.location}\`.`, {
      hint: 'Check whether the files are there, and whether the pattern matches their names.',
    });
  }
  const versions = versionsOf(remote, found);
  const fetch = (file: FoundFile, unless: string | null) =>
    withSourceErrors(file.location, options, () =>
      fetchFile(client, file, {
        ...options,
        limitBytes: options.limits.bytes,
        unless,
        onProgress: (bytes) => options.onProgress(file.location, bytes),
      }),
    );

  const changed = await firstChanged(found, versions.knownIn(options.unless), fetch);
  if (changed === undefined) return undefined;
  await using _ = changed.fetched;
  const seen: (string | null)[] = [];
  for (const file of found) {
    const fetched = file === changed.file ? changed.fetched : await fetch(file, null);
    if (fetched === undefined) throw new TypeError('an unconditional request returned no file');
    try {
      await take(file.location, fetched);
    } finally {
      await fetched[Symbol.asyncDispose]();
    }
    seen.push(fetched.version);
  }
  // As of files: a row may have moved to a part that was read before, or from one that was new already to the last.
  for (const [index, file] of (found.length > 1 ? found : []).entries()) {
    const version = seen[index] ?? null;
    const now = await withSourceErrors(file.location, options, () => {
      const get = () => client.get(file, { signal: options.signal, unless: version });
      return retryTransient(get, options.signal, options.retryPolicy).catch(unlessAbsent);
    });
    if (now === undefined || now.kind === 'unchanged') continue;
    // Its content is not needed, so errors of the ended stream are ignored.
    now.content.on('error', () => {}).destroy();
    if (now.version !== version) throw changedError(file.location);
  }
  return versions.together(seen);
}

/** A part that was taken away after it was read is no other version. */
function unlessAbsent(error: unknown): undefined {
  if (!(error instanceof RemoteFailure) || error.kind !== 'absent') throw error;
}

/** The error for a source of which two versions would be mixed. */
export function changedError(path: string): SourceError {
  return new SourceError(`The source ${path} changed while Storeferry read it.`, {
    place: { file: path },
    hint: CHANGING_FILE_HINT,
  });
}

type Fetch = (file: FoundFile, unless: string | null) => Promise<Fetched | undefined>;

/** The first changed file, downloaded; undefined if none has changed. */
async function firstChanged(
  found: readonly FoundFile[],
  known: readonly string[] | undefined,
  fetch: Fetch,
): Promise<{ readonly file: FoundFile; readonly fetched: Fetched } | undefined> {
  for (const [index, file] of found.entries()) {
    const fetched = await fetch(file, known?.[index] ?? null);
    if (fetched !== undefined) return { file, fetched };
  }
  return undefined;
}

/**
 * The versions of all files as one text, bound to their address: an entity tag of one address has no meaning for
 * another.
 */
function versionsOf(remote: RemoteAddress, found: readonly FoundFile[]) {
  const paths = found.map(({ path }) => path);
  const where = hash('sha256', JSON.stringify([remoteIdentity(remote), paths])).slice(0, 16);
  return {
    /** The version of each file; undefined if the text belongs to other files. */
    knownIn(text: string | null): readonly string[] | undefined {
      if (text === null || !text.startsWith(`${where} `)) return undefined;
      const versions: unknown = JSON.parse(text.slice(where.length + 1));
      return Array.isArray(versions) ? versions.map(String) : undefined;
    },
    together(versions: readonly (string | null)[]): string | null {
      const known = versions.filter((version) => version !== null);
      if (!hasExactVersions(remote) || known.length < versions.length) return null;
      return `${where} ${JSON.stringify(known)}`;
    },
  };
}

/** The key of an SSH server, as `SHA256:…`, to be confirmed by who knows it. SourceError where none answers. */
export async function fetchHostKey(server: RemoteAddress, signal: AbortSignal): Promise<string> {
  try {
    return await hostKeyOf(server, signal);
  } catch (error) {
    throw signal.aborted ? error : asSourceError(server.location, error);
  }
}

async function withSourceErrors<T>(
  location: string,
  { limits, signal }: FetchSourceOptions,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof TooLarge) throw fileLimitError(SourceError, limits, 'bytes', { file: location });
    throw signal.aborted ? error : asSourceError(location, error);
  }
}

/** What a failure to read a remote file is for the run; any other error as it is. */
function asSourceError(location: string, error: unknown): unknown {
  if (!(error instanceof RemoteFailure)) return error;
  const hint = error.hint ?? hintOf(error);
  return new SourceError(`The source ${location} cannot be read: ${error.message}.`, { hint, cause: error });
}

function hintOf({ kind }: RemoteFailure): string {
  return kind === 'transient'
    ? 'Several attempts failed. Run the job again later, or ask the operator of the server.'
    : 'Ask the operator of the server, or correct the source of the job.';
}

/** The picture files of a folder or a zip. */
interface PictureFiles extends AsyncDisposable {
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
