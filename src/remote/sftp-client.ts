import { randomBytes } from 'node:crypto';
import type { Attributes } from 'ssh2';
import { chosen, isPattern, matchesPattern, splitPath } from './matches-pattern.ts';
import { changedMeanwhile, connectionLost, type RemoteClient, RemoteFailure } from './remote-client.ts';
import { ASIDE, isAbsent, type SftpCalls, sftpCalls, sftpFailure } from './sftp-calls.ts';
import { connectSsh, type SftpAddress, type SshConnection } from './ssh-connection.ts';

/** Reads and writes files over SFTP, on one connection until it is lost. */
export function sftpClient(at: SftpAddress): RemoteClient {
  let connection: SshConnection | undefined;

  /** Runs an action on the connection; its errors become RemoteFailures. */
  async function use<T>(signal: AbortSignal, action: (calls: SftpCalls) => Promise<T>): Promise<T> {
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
  const locationOf = (file: string) => at.location.slice(0, at.location.lastIndexOf('/') + 1) + file;
  return {
    async find(signal) {
      if (!isPattern(at.path)) return [{ location: at.location, path: at.path }];
      const entries = await use(signal, (calls) => calls.list(folder === '' ? '.' : folder));
      const files = entries.filter(({ filename, attrs }) => isFile(attrs) && matchesPattern(filename, name));
      const listed = files.map(({ filename, attrs }) => ({
        path: folder + filename,
        writtenAt: attrs.mtime * 1000,
      }));
      return chosen(listed, at.newest).map(({ path }) => ({
        location: locationOf(splitPath(path).name),
        path,
      }));
    },
    get: ({ path }, { signal }) =>
      use(signal, async (calls) => {
        const attributes = await calls.stat(path);
        if (!isFile(attributes)) throw new RemoteFailure('final', 'it is not a regular file');
        // Aborted reading leaves unanswered requests, so the connection is closed.
        signal.addEventListener('abort', () => connection?.drop(), { once: true });
        const content = calls.content(path, attributes);
        return { kind: 'content', content, size: attributes.size, version: versionOf(attributes) };
      }),
    put: (upload, { signal, ifVersion }) =>
      use(signal, async (calls) => {
        await removeLeftovers(calls, folder, name);
        const old = await statOrAbsent(calls, at.path);
        refuseChanged(ifVersion, old);
        const temporary = `${folder}${temporaryStart(name)}${randomBytes(6).toString('hex')}.tmp`;
        try {
          await calls.writeNew(temporary, upload, old === undefined ? undefined : old.mode & 0o777);
          if (ifVersion !== undefined) refuseChanged(ifVersion, await statOrAbsent(calls, at.path));
          await calls.replace(temporary, at.path);
        } catch (error) {
          await calls.remove(temporary).catch(() => undefined);
          throw error;
        }
      }),
    async [Symbol.asyncDispose]() {
      connection?.close();
    },
  };
}

const FILE_TYPE_BITS = 0o170000;
const REGULAR_FILE = 0o100000;

function isFile({ mode }: Attributes): boolean {
  return (mode & FILE_TYPE_BITS) === REGULAR_FILE;
}

/** Detects another writer. It cannot prove unchanged content, because SFTP times count seconds. */
function versionOf({ size, mtime }: Attributes): string {
  return `${size} ${mtime}`;
}

function refuseChanged(ifVersion: string | null | undefined, now: Attributes | undefined): void {
  if (ifVersion === undefined) return;
  if ((now === undefined ? null : versionOf(now)) === ifVersion) return;
  throw changedMeanwhile();
}

async function statOrAbsent(calls: SftpCalls, path: string): Promise<Attributes | undefined> {
  try {
    return await calls.stat(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
}

function temporaryStart(name: string): string {
  return `.${name}.storeferry-`;
}

/**
 * Removes leftovers of a killed process; the caller holds the lock of the destination. A file that was moved aside
 * and not yet replaced is moved back, because it is the only copy.
 */
async function removeLeftovers(calls: SftpCalls, folder: string, name: string): Promise<void> {
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
