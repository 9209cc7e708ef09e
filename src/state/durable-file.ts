import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { codeOf } from './artifact-error.ts';

/** Writes all of the bytes, at the position given or behind what was written before: the system may take fewer at a time. */
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
