import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { codeOf } from './file-errors.ts';

/** A temporary file that was not changed for so long has no writer any more, on any machine. */
const ABANDONED_AFTER_MS = 60 * 60 * 1_000;

/** Writes all of the bytes, at the given position or after what was written before: the system may take fewer at a time. */
export async function writeAll(file: FileHandle, bytes: Uint8Array, position?: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const at = position === undefined ? null : position + written;
    written += (await file.write(bytes, written, bytes.length - written, at)).bytesWritten;
  }
}

/** Makes a new name in the folder survive a power cut; some shared folders cannot, and need not. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync().catch((error: unknown) => {
      if (!['EINVAL', 'EISDIR', 'ENOTSUP', 'EPERM'].includes(codeOf(error) ?? '')) throw error;
    });
  } finally {
    await folder.close();
  }
}

/** Whether the temporary file has no writer any more; false when it is gone. */
export async function isAbandoned(path: string): Promise<boolean> {
  const modified = (await stat(path).catch(() => undefined))?.mtimeMs ?? Date.now();
  return Date.now() - modified > ABANDONED_AFTER_MS;
}
