import type { Attributes, FileEntry, SFTPWrapper } from 'ssh2';
import { connectionFailure, RemoteFailure, type Upload } from './remote-client.ts';

const WRITE_BYTES = 32 * 1024;
/** Pieces on their way at once: the distance to a server costs once, not for every piece. */
const IN_FLIGHT = 16;

/** What the name of a file ends in that was put aside, for as long as another takes its place. */
export const ASIDE = '.old';

/** The requests to an SFTP server that are needed here. They reject with the client's errors, or when `ended` aborts. */
export interface SftpCalls {
  stat(path: string): Promise<Attributes>;
  list(folder: string): Promise<FileEntry[]>;
  remove(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  open(path: string): Promise<Buffer>;
  /** The bytes at a position; fewer than asked for at the end, none behind it. */
  read(handle: Buffer, position: number, length: number): Promise<Buffer>;
  close(handle: Buffer): Promise<void>;
  /** Writes a file that is not there yet, down to the disk where the server knows how. */
  writeNew(path: string, upload: Upload, mode: number | undefined): Promise<void>;
  /** Puts a file in the place of another, in one step where the server knows how. */
  replace(from: string, to: string): Promise<void>;
}

type Callback<T> = (error: Error | null | undefined, value: T) => void;

export function sftpCalls(sftp: SFTPWrapper, ended: AbortSignal): SftpCalls {
  /** A request of a lost connection is never answered. */
  function call<T>(request: (done: Callback<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(new RemoteFailure('passing', 'the connection was lost'));
      if (ended.aborted) {
        giveUp();
        return;
      }
      ended.addEventListener('abort', giveUp, { once: true });
      request((error, value) => {
        ended.removeEventListener('abort', giveUp);
        if (error === undefined || error === null) resolve(value);
        else reject(error);
      });
    });
  }

  const remove = (path: string) => call<void>((done) => sftp.unlink(path, (error) => done(error)));
  const rename = (from: string, to: string) =>
    call<void>((done) => sftp.rename(from, to, (error) => done(error)));

  async function writePieces(handle: Buffer, upload: Upload): Promise<void> {
    const flying = new Set<Promise<void>>();
    let failure: unknown;
    let position = 0;
    for await (const chunk of upload.open()) {
      const bytes = Buffer.from(chunk);
      for (let from = 0; from < bytes.length; from += WRITE_BYTES) {
        const length = Math.min(WRITE_BYTES, bytes.length - from);
        const at = position + from;
        const written = call<void>((done) =>
          sftp.write(handle, bytes, from, length, at, (error) => done(error)),
        )
          .catch((error: unknown) => {
            failure ??= error;
          })
          .finally(() => flying.delete(written));
        flying.add(written);
        if (flying.size >= IN_FLIGHT) await Promise.race(flying);
        if (failure !== undefined) throw failure;
      }
      position += bytes.length;
    }
    await Promise.all(flying);
    if (failure !== undefined) throw failure;
  }

  /** For servers that cannot rename over a file: never half a file, though for a moment none. */
  async function replaceInSteps(from: string, to: string): Promise<void> {
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
    stat: (path) => call<Attributes>((done) => sftp.stat(path, done)),
    list: (folder) => call<FileEntry[]>((done) => sftp.readdir(folder, done)),
    remove,
    rename,
    open: (path) => call<Buffer>((done) => sftp.open(path, 'r', done)),
    read: (handle, position, length) =>
      call<Buffer>((done) =>
        sftp.read(handle, Buffer.allocUnsafe(length), 0, length, position, (error, bytesRead, buffer) =>
          isEnd(error) ? done(null, Buffer.alloc(0)) : done(error, buffer?.subarray(0, bytesRead)),
        ),
      ),
    close: (handle) => call<void>((done) => sftp.close(handle, (error) => done(error))),
    async writeNew(path, upload, mode) {
      const handle = await call<Buffer>((done) =>
        sftp.open(path, 'wx', mode === undefined ? {} : { mode }, done),
      );
      try {
        await writePieces(handle, upload);
        await call<unknown>((done) => sftp.ext_openssh_fsync(handle, done)).catch(unlessUnsupported);
      } finally {
        await call<void>((done) => sftp.close(handle, (error) => done(error))).catch(() => undefined);
      }
    },
    async replace(from, to) {
      try {
        await call<void>((done) => sftp.ext_openssh_rename(from, to, (error) => done(error)));
      } catch (error) {
        if (!isUnsupported(error)) throw error;
        await replaceInSteps(from, to);
      }
    },
  };
}

const END_OF_FILE = 1;

function isEnd(error: Error | null | undefined): boolean {
  return error instanceof Error && 'code' in error && error.code === END_OF_FILE;
}

function unlessUnsupported(error: unknown): void {
  if (!isUnsupported(error)) throw error;
}

/** Status codes of SFTP version 3. */
const NO_SUCH_FILE = 2;
const PERMISSION_DENIED = 3;
const NO_CONNECTION = 6;
const CONNECTION_LOST = 7;
const UNSUPPORTED = 8;

function statusOf(error: unknown): number | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'number' ? code : undefined;
}

export function isAbsent(error: unknown): boolean {
  return statusOf(error) === NO_SUCH_FILE;
}

/** Whether the server does not know what it was asked to do. */
function isUnsupported(error: unknown): boolean {
  return (
    statusOf(error) === UNSUPPORTED || (error instanceof Error && /does not support/i.test(error.message))
  );
}

/** The failure of a request to an SFTP server. */
export function sftpFailure(error: unknown): RemoteFailure {
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
      return new RemoteFailure('final', 'the server denies access to it', {
        hint: 'Check the permissions of the user on the server.',
      });
    case NO_CONNECTION:
    case CONNECTION_LOST:
      return new RemoteFailure('passing', 'the connection was lost');
    default:
      return new RemoteFailure('final', `the server fails (SFTP status ${status})`, {
        hint: 'Its disk may be full or damaged: ask its operator.',
      });
  }
}
