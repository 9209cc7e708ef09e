import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Attributes, FileEntry, SFTPWrapper } from 'ssh2';
import { rejectOnAbort } from '../model/clock.ts';
import { filesAt, type Listed, matchesPattern, refuseEndlessListing, splitPath } from './matches-pattern.ts';
import {
  CHANGING_FILE_HINT,
  changedByOther,
  connectionFailure,
  connectionLost,
  permanentFailure,
  type RemoteClient,
  RemoteFailure,
  transientFailure,
  type Upload,
} from './remote-client.ts';
import { connectSsh, type SftpAddress, type SshConnection } from './ssh-connection.ts';

/** Reads and writes files over SFTP, on one connection until it is lost. */
export function sftpClient(at: SftpAddress): RemoteClient {
  let connection: SshConnection | undefined;

  /** Runs an action on the connection; its errors become RemoteFailures. */
  async function use<T>(signal: AbortSignal, action: (calls: SftpCalls) => Promise<T>) {
    if (connection === undefined || connection.closed.aborted) connection = await connectSsh(at, signal);
    const { sftp, closed } = connection;
    try {
      return await action(sftpCalls(sftp, AbortSignal.any([signal, closed])));
    } catch (error) {
      // A connection with an unanswered request is not reused.
      if (signal.aborted) connection.drop();
      signal.throwIfAborted();
      if (closed.aborted) throw connectionLost(error);
      throw sftpFailure(error);
    }
  }

  const { folder, name } = splitPath(at.path);
  return {
    find: (signal) => filesAt(at, () => use(signal, (calls) => listFiles(calls, folder, name))),
    get: ({ path }, { signal }) =>
      use(signal, async (calls) => {
        const attributes = await calls.stat(path);
        if (!isFile(attributes)) throw permanentFailure('it is not a regular file');
        // Aborted reading leaves unanswered requests, so the connection is closed.
        const drop = () => connection?.drop();
        signal.addEventListener('abort', drop, { once: true });
        const content = calls.content(path, attributes);
        content.once('close', () => signal.removeEventListener('abort', drop));
        return { kind: 'content', content, size: attributes.size, version: versionOf(attributes) };
      }),
    put: (upload, { signal, ifVersion }) =>
      use(signal, async (calls) => {
        await removeLeftovers(calls, folder, name);
        const old = await statOrAbsent(calls, at.path);
        refuseChanged(ifVersion, old);
        await replaceFile(calls, at.path, {
          upload,
          mode: old === undefined ? undefined : old.mode & 0o777,
          beforeReplacing: async () => {
            if (ifVersion !== undefined) refuseChanged(ifVersion, await statOrAbsent(calls, at.path));
          },
        });
      }),
    inFolder: {
      sizeOf: (file, signal) =>
        use(signal, async (calls) => (await statOrAbsent(calls, `${at.path}/${file}`))?.size ?? null),
      sweep: (signal) => use(signal, (calls) => removeAbandoned(calls, at.path)),
      put: (file, upload, { signal }) =>
        use(signal, (calls) => replaceFile(calls, `${at.path}/${file}`, { upload })),
    },
    async [Symbol.asyncDispose]() {
      connection?.close();
    },
  };
}

const FILE_TYPE_BITS = 0o170000;
const REGULAR_FILE = 0o100000;

const SYMBOLIC_LINK = 0o120000;

function isFile({ mode }: Attributes) {
  return (mode & FILE_TYPE_BITS) === REGULAR_FILE;
}

/** The files that a pattern matches, links to files included, as on this machine. */
async function listFiles(calls: SftpCalls, folder: string, pattern: string) {
  const files: Listed[] = [];
  for (const { filename, attrs } of await calls.list(folder === '' ? '.' : folder)) {
    if (!matchesPattern(filename, pattern)) continue;
    const path = folder + filename;
    // Some servers list no types.
    const isFinal = ![0, SYMBOLIC_LINK].includes(attrs.mode & FILE_TYPE_BITS);
    const found = isFinal ? attrs : await statOrAbsent(calls, path);
    if (found !== undefined && isFile(found)) files.push({ path, writtenAt: found.mtime * 1000 });
  }
  return files;
}

/** Detects another writer. It cannot prove unchanged content, because SFTP times count seconds. */
function versionOf({ size, mtime }: Attributes) {
  return `${size} ${mtime}`;
}

function refuseChanged(ifVersion: string | null | undefined, now: Attributes | undefined) {
  if (ifVersion === undefined) return;
  if ((now === undefined ? null : versionOf(now)) === ifVersion) return;
  throw changedByOther();
}

async function statOrAbsent(calls: SftpCalls, path: string) {
  try {
    return await calls.stat(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

function temporaryStart(name: string) {
  return `.${name}.storeferry-`;
}

interface Replacement {
  readonly upload: Upload;
  /** The rights of the new file; undefined: those that the server gives. */
  readonly mode?: number | undefined;
  /** May refuse, once the content has been written. */
  readonly beforeReplacing?: () => Promise<void>;
}

/** Writes a file beside the path, then puts it in its place. */
async function replaceFile(calls: SftpCalls, path: string, { upload, mode, beforeReplacing }: Replacement) {
  const { folder, name } = splitPath(path);
  const temporary = `${folder}${temporaryStart(name)}${randomBytes(6).toString('hex')}.tmp`;
  try {
    await calls.writeNew(temporary, upload, mode);
    await beforeReplacing?.();
    await calls.replace(temporary, path);
  } catch (error) {
    await calls.remove(temporary).catch(() => undefined);
    throw error;
  }
}

/**
 * Removes leftovers of a killed process; the caller holds the lock of the destination. A file that was moved aside
 * and not yet replaced is moved back, because it is the only copy.
 */
async function removeLeftovers(calls: SftpCalls, folder: string, name: string) {
  const entries = await calls.list(folder === '' ? '.' : folder);
  let isThere = entries.some(({ filename }) => filename === name);
  for (const { filename } of entries) {
    if (!filename.startsWith(temporaryStart(name))) continue;
    if (filename.endsWith(`.tmp${ASIDE}`) && !isThere) {
      await calls.rename(folder + filename, folder + name);
      isThere = true;
    } else if (filename.endsWith('.tmp') || filename.endsWith(`.tmp${ASIDE}`)) {
      await calls.remove(folder + filename).catch(() => undefined);
    }
  }
}

const ABANDONED_AFTER_S = 86_400;

/** Removes what killed processes have left in a folder that several may write at once: only what is old has no writer. */
async function removeAbandoned(calls: SftpCalls, folder: string) {
  for (const { filename, attrs } of await calls.list(folder)) {
    const isOurs = /^\..+\.storeferry-[0-9a-f]{12}\.tmp$/.test(filename);
    if (isOurs && attrs.mtime < Date.now() / 1000 - ABANDONED_AFTER_S)
      await calls.remove(`${folder}/${filename}`).catch(() => undefined);
  }
}

/** A file is read and written in pieces of this size. */
const PIECE_BYTES = 32 * 1024;
/** Requests in flight per file, so that latency is not paid for every piece. */
const PIECES_AT_ONCE = 16;

/** The suffix of a file that was moved aside while its replacement is put in place. */
const ASIDE = '.old';

/** The SFTP requests that are used here. They reject with errors of ssh2, or when `ended` aborts. */
type SftpCalls = ReturnType<typeof sftpCalls>;

type Callback<T> = (error: Error | null | undefined, value: T) => void;

function sftpCalls(sftp: SFTPWrapper, ended: AbortSignal) {
  /** ssh2 never answers a request whose connection was lost. */
  function call<T>(request: (done: Callback<T>) => void) {
    const answer = new Promise<T>((resolve, reject) => {
      if (!ended.aborted)
        request((error, value) => (error === undefined || error === null ? resolve(value) : reject(error)));
    });
    return rejectOnAbort(answer, ended);
  }
  const act = (request: (done: (error?: Error | null) => void) => void) =>
    call<void>((done) => request((error) => done(error)));

  const stat = (path: string) => call<Attributes>((done) => sftp.stat(path, done));
  const close = (handle: Buffer) => act((done) => sftp.close(handle, done));
  const remove = (path: string) => act((done) => sftp.unlink(path, done));
  const rename = (from: string, to: string) => act((done) => sftp.rename(from, to, done));

  async function writePieces(handle: Buffer, upload: Upload) {
    const flying = new Set<Promise<void>>();
    let failure: unknown;
    let position = 0;
    for await (const chunk of upload.open()) {
      const bytes = Buffer.from(chunk);
      for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
        const length = Math.min(PIECE_BYTES, bytes.length - from);
        const at = position + from;
        const written = act((done) => sftp.write(handle, bytes, from, length, at, done))
          .catch((error: unknown) => {
            failure ??= error;
          })
          .finally(() => flying.delete(written));
        flying.add(written);
        if (flying.size >= PIECES_AT_ONCE) await Promise.race(flying);
        if (failure !== undefined) throw failure;
      }
      position += bytes.length;
    }
    await Promise.all(flying);
    if (failure !== undefined) throw failure;
  }

  async function* contentOf(path: string, before: Attributes): AsyncGenerator<Buffer> {
    try {
      const handle = await call<Buffer>((done) => sftp.open(path, 'r', done));
      try {
        yield* pieces(handle, before.size);
        if ((await readPiece(handle, before.size, 1)).length > 0)
          throw transientFailure('its size is not what the server says', CHANGING_FILE_HINT);
      } finally {
        await close(handle).catch(() => undefined);
      }
      const after = await stat(path);
      if (after.size !== before.size || after.mtime !== before.mtime) {
        throw transientFailure('it changed during reading', CHANGING_FILE_HINT);
      }
    } catch (error) {
      throw sftpFailure(error);
    }
  }

  async function* pieces(handle: Buffer, size: number): AsyncGenerator<Buffer> {
    const flying: Promise<Buffer>[] = [];
    let asked = 0;
    for (;;) {
      while (asked < size && flying.length < PIECES_AT_ONCE) {
        const piece = readPiece(handle, asked, Math.min(PIECE_BYTES, size - asked));
        piece.catch(() => undefined);
        flying.push(piece);
        asked += PIECE_BYTES;
      }
      const bytes = await flying.shift();
      if (bytes === undefined || bytes.length === 0) return;
      yield bytes;
    }
  }

  /** A server may return fewer bytes than requested, and none at the end of the file. */
  async function readPiece(handle: Buffer, from: number, length: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    let got = 0;
    while (got < length) {
      const [at, rest] = [from + got, length - got];
      const part = await call<Buffer>((done) =>
        sftp.read(handle, Buffer.allocUnsafe(rest), 0, rest, at, (error, bytesRead, buffer) =>
          isEnd(error) ? done(null, Buffer.alloc(0)) : done(error, buffer?.subarray(0, bytesRead)),
        ),
      );
      if (part.length === 0) break;
      parts.push(part);
      got += part.length;
    }
    return Buffer.concat(parts);
  }

  /** For servers that cannot rename over a file: there is never half a file, but for a moment none. */
  async function replaceInSteps(from: string, to: string) {
    const aside = `${from}${ASIDE}`;
    try {
      await rename(to, aside);
    } catch (error) {
      if (!isAbsent(error)) throw error;
    }
    try {
      await rename(from, to);
    } catch (error) {
      await rename(aside, to).catch(() => undefined);
      throw error;
    }
    await remove(aside).catch(() => undefined);
  }

  return {
    stat,
    async list(folder: string): Promise<readonly FileEntry[]> {
      const handle = await call<Buffer>((done) => sftp.opendir(folder, done));
      try {
        const entries: FileEntry[] = [];
        for (let batches = 0; ; batches += 1) {
          const batch = await call<readonly FileEntry[] | null>((done) =>
            sftp.readdir(handle, (error, listed) => (isEnd(error) ? done(null, null) : done(error, listed))),
          );
          if (batch === null) return entries;
          // A name is no path: no server leads out of its folder.
          entries.push(...batch.filter(({ filename }) => !/[/\0]/.test(filename)));
          refuseEndlessListing(entries.length, batches);
        }
      } finally {
        await close(handle).catch(() => undefined);
      }
    },
    remove,
    rename,
    /**
     * The content of a file, read on demand. Ends with a transient RemoteFailure if the file has changed since `before`.
     */
    content: (path: string, before: Attributes): Readable =>
      Readable.from(contentOf(path, before), { objectMode: false }),
    /** Creates a file, and flushes it to disk if the server supports that. */
    async writeNew(path: string, upload: Upload, mode: number | undefined): Promise<void> {
      const handle = await call<Buffer>((done) =>
        sftp.open(path, 'wx', mode === undefined ? {} : { mode }, done),
      );
      try {
        await writePieces(handle, upload);
        await call<unknown>((done) => sftp.ext_openssh_fsync(handle, done)).catch(unlessUnsupported);
      } catch (error) {
        await close(handle).catch(() => undefined);
        throw error;
      }
      // Without fsync a full disk may show only here.
      await close(handle);
    },
    /** Renames a file over another, atomically if the server supports that. */
    async replace(from: string, to: string): Promise<void> {
      try {
        await act((done) => sftp.ext_openssh_rename(from, to, done));
      } catch (error) {
        if (!isUnsupported(error)) throw error;
        await replaceInSteps(from, to);
      }
    },
  };
}

const END_OF_FILE = 1;

function isEnd(error: Error | null | undefined) {
  return error instanceof Error && 'code' in error && error.code === END_OF_FILE;
}

function unlessUnsupported(error: unknown) {
  if (!isUnsupported(error)) throw error;
}

/** Status codes of SFTP version 3. */
const NO_SUCH_FILE = 2;
const PERMISSION_DENIED = 3;
const NO_CONNECTION = 6;
const CONNECTION_LOST = 7;
const UNSUPPORTED = 8;

function statusOf(error: unknown) {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'number' ? code : undefined;
}

function isAbsent(error: unknown) {
  return statusOf(error) === NO_SUCH_FILE;
}

/** Whether the server does not support a request. */
function isUnsupported(error: unknown) {
  return (
    statusOf(error) === UNSUPPORTED || (error instanceof Error && /does not support/i.test(error.message))
  );
}

/** The failure of a request to an SFTP server. */
function sftpFailure(error: unknown) {
  if (error instanceof RemoteFailure) return error;
  const status = statusOf(error);
  switch (status) {
    case undefined:
      return connectionFailure(error);
    case NO_SUCH_FILE:
      return new RemoteFailure('absent', 'there is no such file or folder', {
        hint: 'Check the path: it begins at the root of the server; /~/ begins at the home folder of the user.',
      });
    case PERMISSION_DENIED:
      return permanentFailure(
        'the server denies access to it',
        'Check the permissions of the user on the server.',
      );
    case NO_CONNECTION:
    case CONNECTION_LOST:
      return connectionLost();
    default:
      return permanentFailure(
        `the server fails (SFTP status ${status})`,
        'Its disk may be full or damaged: ask its operator.',
      );
  }
}
