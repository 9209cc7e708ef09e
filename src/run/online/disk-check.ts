import { stat, statfs } from 'node:fs/promises';
import { formatBytes } from '../../report/printable.ts';
import type { Finding, OnlineCheck } from './finding.ts';
import { nearestFolder } from './nearest-folder.ts';

/** A run keeps a copy of its source, and its plan beside it. */
const TIMES_THE_SOURCE = 3;
/** What an archive may grow to when it is opened. */
const TIMES_AN_ARCHIVE = 10;
const LITTLE_BYTES = 512 * 1024 ** 2;

/** Whether the disk of a folder has room for a run of the largest source; `sources` are absolute paths. */
export function diskCheck(folder: string, sources: () => Promise<readonly string[]>): OnlineCheck {
  return {
    subject: 'disk',
    async look() {
      const { bavail, bsize } = await statfs(await nearestFolder(folder));
      const sizes = await Promise.all((await sources()).map(unpackedSize));
      return [judgeDisk(bavail * bsize, Math.max(0, ...sizes), folder)];
    },
  };
}

/** Whether so much free space is enough for a source of a size, both in bytes. */
export function judgeDisk(free: number, largest: number, folder: string): Omit<Finding, 'subject'> {
  const found = `${formatBytes(free)} free at ${folder}`;
  const needed = largest * TIMES_THE_SOURCE;
  if (free < needed) {
    return {
      verdict: 'error',
      message: `${found}, and the largest source may take ${formatBytes(needed)}`,
      hint: 'Make room, or let ARTIFACTS_URL name a larger disk.',
    };
  }
  if (free < LITTLE_BYTES) {
    return {
      verdict: 'warning',
      message: found,
      hint: `That is little: make room until ${formatBytes(LITTLE_BYTES)} are free.`,
    };
  }
  return {
    verdict: 'ok',
    message: largest === 0 ? found : `${found}; the largest source may take ${formatBytes(needed)}`,
  };
}

async function unpackedSize(path: string): Promise<number> {
  const size = (await stat(path).catch(() => undefined))?.size ?? 0;
  return /\.(gz|zip)$/i.test(path) ? size * TIMES_AN_ARCHIVE : size;
}
