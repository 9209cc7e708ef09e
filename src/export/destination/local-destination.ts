import type { BigIntStats } from 'node:fs';
import { open, rename, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DestinationError } from '../../model/errors.ts';
import {
  allowedPath,
  type FileAccess,
  found,
  makeFolders,
  openAllowed,
  refusedPlace,
  syncFolder,
  writeAll,
} from '../../state/file-access.ts';
import { asDestinationError, changedMeanwhile } from './as-destination-error.ts';
import type { Destination, DestinationWriteOptions } from './destination.ts';
import { discardTemporary, sweepTemporaries, temporaryBeside } from './temporary-file.ts';

const CHUNK_BYTES = 256 * 1_024;
const RIGHTS = 0o7777n;

/**
 * A file of this machine, as a job writes its path; symbolic links are followed, so that the file they lead to is the one
 * that is replaced and locked. A new file, and folders made for it, are for their owner only. DestinationError where jobs may not
 * write it.
 */
export async function localDestination(path: string, access: FileAccess): Promise<Destination> {
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
      if (before !== undefined && !before.isFile()) throw noFile(location, before);
      await asDestinationError(location, 'written', makeFolders(dirname(location), 0o700));
      await sweepTemporaries(location);
      const temporary = temporaryBeside(location);
      try {
        const size = await writeNew(temporary, location, content, before, options.signal);
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

function refusal(
  what: string,
  { refused, hint }: { readonly refused: string; readonly hint: string },
): DestinationError {
  return new DestinationError(`${what} ${refused}.`, { hint });
}

function versionOf({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs].join('-');
}

function noFile(path: string, status: BigIntStats): DestinationError {
  return new DestinationError(`${path} is ${status.isDirectory() ? 'a folder' : 'no regular file'}.`, {
    hint: 'Give destination the path of a file.',
  });
}

async function refuseOtherVersion(path: string, { ifVersion }: DestinationWriteOptions): Promise<void> {
  if (ifVersion === undefined) return;
  const status = await asDestinationError(path, 'written', found(stat(path, { bigint: true })));
  if ((status === undefined ? null : versionOf(status)) === ifVersion) return;
  throw changedMeanwhile(path);
}

async function writeNew(
  temporary: string,
  path: string,
  content: AsyncIterable<Uint8Array | string>,
  before: BigIntStats | undefined,
  signal: AbortSignal,
): Promise<number> {
  const file = await asDestinationError(path, 'written', open(temporary, 'wx', 0o600));
  try {
    // Where a folder above was replaced, the rename would fail: the file is not there under this name.
    const moved = await refusedPlace(file, temporary);
    if (moved !== null) throw refusal(path, moved);
    // The new file keeps the permissions of the old one.
    if (before !== undefined)
      await asDestinationError(path, 'written', file.chmod(Number(before.mode & RIGHTS)));
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
