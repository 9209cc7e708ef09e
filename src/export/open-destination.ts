import { randomUUID } from 'node:crypto';
import type { BigIntStats } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import type { FilePlace, RemoteAddress } from '../model/remote-address.ts';
import { codeOf, DestinationChangedError, DestinationError } from '../model/storeferry-error.ts';
import { fetchFile, openSpool } from '../remote/fetch-file.ts';
import {
  type RemoteClient,
  RemoteFailure,
  type RetryPolicy,
  retryTransient,
  UNKNOWN_VERSION,
} from '../remote/remote-client.ts';
import { openRemote } from '../remote/remote-kinds.ts';
import {
  allowedPath,
  type FileAccess,
  fileErrorText,
  found,
  hostTag,
  isAbandoned,
  isAlive,
  makeFolders,
  openAllowed,
  refusedPlace,
  syncFolder,
  writeAll,
} from '../state/file-access.ts';

interface DestinationContent {
  readonly content: Readable;
  /** Changes with the content; null if the destination has no versions. */
  readonly version: string | null;
}

interface DestinationWriteOptions {
  /** Aborted before the file is replaced: nothing has changed. */
  readonly signal: AbortSignal;
  /** Write only over this version; null: only if there is no file; omitted: always. */
  readonly ifVersion?: string | null;
}

/**
 * One destination file of an export. Every call rejects with DestinationError or the signal's reason; `write` with
 * DestinationChangedError if there is another version than requested.
 */
export interface Destination {
  /** For people. Equal for every way to name the same file, because locks use it. */
  readonly location: string;
  /** Undefined if there is no file yet. */
  read(signal: AbortSignal): Promise<DestinationContent | undefined>;
  /** Replaces the file completely, or leaves it unchanged. Returns the number of bytes written. */
  write(content: AsyncIterable<Uint8Array | string>, options: DestinationWriteOptions): Promise<number>;
}

/** Awaits a call of the file system; its error becomes a DestinationError with path, reason and advice. */
async function asDestinationError<Value>(path: string, done: 'read' | 'written', asked: Promise<Value>) {
  try {
    return await asked;
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new DestinationError(`${path} cannot be ${done}: ${fileErrorText(code)}.`, {
      hint: adviceOn(code),
      cause: error,
    });
  }
}

/** Another process wrote the destination between reading and writing it. */
export function changedMeanwhile(location: string): DestinationChangedError {
  return new DestinationChangedError(`Another process changed ${location} while Storeferry added to it.`, {
    hint: 'Run again: nothing was written.',
  });
}

function adviceOn(code: string): string {
  const unchanged = 'The previous content is unchanged.';
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return `Make room, then run again. ${unchanged}`;
    case 'EFBIG':
      return `Choose another disk. ${unchanged}`;
    case 'EIO':
      return `Check the disk. ${unchanged}`;
    case 'EACCES':
    case 'EPERM':
      return `Let this user write the file and its folder (a new file is written beside it), or change destination in the job. ${unchanged}`;
    case 'EISDIR':
      return 'Give destination the path of a file.';
    case 'ENAMETOOLONG':
      return 'Give destination a shorter path.';
    case 'EROFS':
    case 'ENOTDIR':
    case 'EEXIST':
    case 'ELOOP':
      return 'Change destination in the job.';
    default:
      return 'Change destination in the job, or check the disk.';
  }
}

const CHUNK_BYTES = 256 * 1_024;
const RIGHTS = 0o7777n;

/** Who may read a new file, and a new folder. */
interface Rights {
  readonly mode: number;
  readonly folder: number;
}

const OWN: Rights = { mode: 0o600, folder: 0o700 };
/** A web server shows what is published. */
const PUBLIC: Rights = { mode: 0o644, folder: 0o755 };

/**
 * A file of this machine, with the path of the job. Symbolic links are followed, so that their target is replaced and
 * locked. A new file, and folders created for it, are for their owner only. DestinationError if jobs may not write
 * it.
 */
async function localDestination(
  path: string,
  access: FileAccess,
  rights: Rights = OWN,
): Promise<Destination> {
  const allowed = await asDestinationError(path, 'read', allowedPath(path, access));
  if ('refused' in allowed) throw refusal(`The destination ${path}`, allowed);
  const location = allowed.real;
  return {
    location,
    async read(signal) {
      signal.throwIfAborted();
      const opened = await asDestinationError(location, 'read', found(openAllowed(location)));
      if (opened === undefined) return undefined;
      if ('refused' in opened) throw refusal(location, opened);
      const { file } = opened;
      const status = await asDestinationError(location, 'read', file.stat({ bigint: true }));
      return {
        content: file.createReadStream({ highWaterMark: CHUNK_BYTES }),
        version: versionOf(status),
      };
    },
    async write(content, options) {
      const before = await asDestinationError(location, 'written', found(stat(location, { bigint: true })));
      if (before !== undefined && !before.isFile()) throw notRegularFile(location, before);
      await asDestinationError(location, 'written', makeFolders(dirname(location), rights.folder));
      // A public folder of thousands of files is swept once, and not for each of them.
      if (rights !== PUBLIC) await sweepTemporaries(dirname(location), basename(location));
      const temporary = temporaryBeside(location);
      try {
        const size = await writeNew(temporary, location, content, before ?? rights, options.signal);
        await refuseOtherVersion(location, options);
        options.signal.throwIfAborted();
        await asDestinationError(location, 'written', rename(temporary, location));
        await asDestinationError(location, 'written', syncFolder(dirname(location)));
        return size;
      } finally {
        await discardTemporary(temporary);
      }
    },
  };
}

/** The error of a place that jobs may not use. */
export function refusal(
  what: string,
  { refused, hint }: { readonly refused: string; readonly hint: string },
): DestinationError {
  return new DestinationError(`${what} ${refused}.`, { hint });
}

function versionOf({ dev, ino, size, mtimeNs }: BigIntStats) {
  return [dev, ino, size, mtimeNs].join('-');
}

function notRegularFile(path: string, status: BigIntStats) {
  return new DestinationError(`${path} is ${status.isDirectory() ? 'a folder' : 'not a regular file'}.`, {
    hint: 'Give destination the path of a file.',
  });
}

async function refuseOtherVersion(path: string, { ifVersion }: DestinationWriteOptions) {
  if (ifVersion === undefined) return;
  const status = await asDestinationError(path, 'written', found(stat(path, { bigint: true })));
  if ((status === undefined ? null : versionOf(status)) === ifVersion) return;
  throw changedMeanwhile(path);
}

async function writeNew(
  temporary: string,
  path: string,
  content: AsyncIterable<Uint8Array | string>,
  { mode }: Pick<BigIntStats | Rights, 'mode'>,
  signal: AbortSignal,
) {
  const file = await asDestinationError(path, 'written', open(temporary, 'wx', 0o600));
  try {
    // If a parent folder was replaced, the rename fails, because the temporary file is not in the new folder.
    const moved = await refusedPlace(file, temporary);
    if (moved !== null) throw refusal(path, moved);
    // The new file keeps the permissions of the old one.
    await asDestinationError(path, 'written', file.chmod(Number(BigInt(mode) & RIGHTS)));
    let size = 0;
    for await (const chunk of content) {
      signal.throwIfAborted();
      const bytes = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      await asDestinationError(path, 'written', writeAll(file, bytes));
      size += bytes.length;
    }
    await asDestinationError(path, 'written', file.sync());
    return size;
  } finally {
    await file.close().catch(() => {});
  }
}

/** The temporary files that this process is writing. */
const incomplete = new Set<string>();

/** The name of the incomplete file beside the destination; it contains the process that writes it. */
function temporaryBeside(path: string) {
  const temporary = join(
    dirname(path),
    `.${basename(path)}.${hostTag()}-${process.pid}-${randomUUID().slice(0, 8)}.tmp`,
  );
  incomplete.add(temporary);
  return temporary;
}

/** Removes a temporary file, if it still exists. */
async function discardTemporary(temporary: string) {
  incomplete.delete(temporary);
  await rm(temporary, { force: true }).catch(() => {});
}

const TEMPORARY = /^\.(.+)\.([^.-]+)-(\d+)-[0-9a-f]{8}\.tmp$/;

/** Removes the temporary files of dead processes, of one destination or of all; those of running processes stay. */
async function sweepTemporaries(folder: string, of?: string) {
  for (const name of await readdir(folder).catch(() => [])) {
    const [, destination, host, pid] = TEMPORARY.exec(name) ?? [];
    if (host === undefined || (of !== undefined && destination !== of)) continue;
    const temporary = join(folder, name);
    if (incomplete.has(temporary)) continue;
    const abandoned = host === hostTag() ? !isAlive(Number(pid)) : await isAbandoned(temporary);
    if (abandoned) await rm(temporary, { force: true }).catch(() => {});
  }
}

/**
 * The destination at a place; nothing is written or connected yet. DestinationError if it can never be written. `retryPolicy`:
 * shorter in tests.
 */
export async function openDestination(
  place: FilePlace,
  access: FileAccess,
  retryPolicy?: RetryPolicy,
): Promise<Destination> {
  return place.remote === undefined
    ? await localDestination(place.path, access)
    : remoteDestination(place.remote, retryPolicy);
}

/** A folder of files whose names say their content. Calls reject with DestinationError or the signal's reason. */
export interface PublicFolder extends AsyncDisposable {
  /** For people. */
  readonly location: string;
  /** Whether there is a file of this name and size. */
  has(name: string, size: number, signal: AbortSignal): Promise<boolean>;
  /** Removes what killed processes have left; a folder that cannot be listed stays as it is. */
  sweep(signal: AbortSignal): Promise<void>;
  /** Writes the file completely or not at all; everybody may read it. `type`: its media type. */
  put(name: string, content: Buffer, type: string, signal: AbortSignal): Promise<void>;
}

/** The folder at a place; nothing is written or connected yet. One call at a time. DestinationError. */
export async function openPublicFolder(place: FilePlace, access: FileAccess): Promise<PublicFolder> {
  return place.remote === undefined
    ? await localFolder(place.path, access)
    : await remoteFolder(place.remote);
}

async function localFolder(path: string, access: FileAccess): Promise<PublicFolder> {
  const { location } = await localDestination(path, access);
  return {
    location,
    async has(name, size) {
      const there = await asDestinationError(location, 'read', found(stat(join(location, name))));
      return there?.isFile() === true && there.size === size;
    },
    sweep: () => sweepTemporaries(location),
    async put(name, content, _, signal) {
      const file = await localDestination(join(path, name), access, PUBLIC);
      await file.write(Readable.from([content]), { signal });
    },
    async [Symbol.asyncDispose]() {},
  };
}

async function remoteFolder(remote: RemoteAddress): Promise<PublicFolder> {
  const { location } = remote;
  const client = await openRemote(remote);
  const { inFolder } = client;
  if (inFolder === undefined) throw new TypeError(`${remote.kind} has no folders`);
  return {
    location,
    has: (name, size, signal) =>
      withDestinationErrors(location, 'read', signal, async () => {
        const there = await retryTransient(() => inFolder.sizeOf(name, signal), signal);
        return there === size;
      }),
    sweep: async (signal) => {
      await inFolder.sweep(signal).catch(() => signal.throwIfAborted());
    },
    put: (name, content, type, signal) =>
      withDestinationErrors(`${location}/${name}`, 'written', signal, async () => {
        const upload = { size: content.length, open: () => Readable.from([content], { objectMode: false }) };
        await retryTransient(() => inFolder.put(name, upload, { signal, type }), signal);
      }),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/**
 * A file on another machine. The content is first written to a temporary file, so that only complete content is sent
 * and a retry can send it again.
 */
function remoteDestination(remote: RemoteAddress, retryPolicy: RetryPolicy | undefined): Destination {
  const { location } = remote;
  return {
    location,
    read: (signal) =>
      withDestinationErrors(location, 'read', signal, async () => {
        await using client = await openRemote(remote);
        const fetched = await fetchIfThere(client, signal, retryPolicy);
        if (fetched === undefined) return undefined;
        const content = fetched.spool.open();
        content.once('close', () => void fetched[Symbol.asyncDispose]());
        // Never null: without a condition, adding to the file could undo the changes of another process.
        return { content, version: fetched.version ?? UNKNOWN_VERSION };
      }),
    write: (content, { signal, ifVersion }) =>
      withDestinationErrors(location, 'written', signal, async () => {
        await using spool = await openSpool();
        await spool.fill(content, () => signal.throwIfAborted());
        signal.throwIfAborted();
        await using client = await openRemote(remote);
        await retryTransient(() => client.put(spool, { signal, ifVersion }), signal, retryPolicy);
        return spool.size;
      }),
  };
}

async function fetchIfThere(client: RemoteClient, signal: AbortSignal, retryPolicy: RetryPolicy | undefined) {
  const [file] = await retryTransient(() => client.find(signal), signal, retryPolicy);
  if (file === undefined) return undefined;
  try {
    return await fetchFile(client, file, { signal, retryPolicy });
  } catch (error) {
    if (error instanceof RemoteFailure && error.kind === 'absent') return undefined;
    throw error;
  }
}

/** Awaits a call of another machine; its failure becomes a DestinationError with place, reason and advice. */
export async function withDestinationErrors<T>(
  location: string,
  done: 'read' | 'written',
  signal: AbortSignal,
  action: () => Promise<T>,
): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof RemoteFailure) || signal.aborted) throw error;
    if (error.kind === 'changed') {
      throw new DestinationChangedError(`${location} cannot be written: ${error.message}.`, {
        hint: 'Run again: nothing was written.',
        cause: error,
      });
    }
    throw new DestinationError(`${location} cannot be ${done}: ${error.message}.`, {
      hint:
        error.hint ??
        'Run again later, or ask the operator of the server. The previous content is unchanged.',
      cause: error,
    });
  }
}
