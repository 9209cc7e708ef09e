import { mkdtemp, rm, stat, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { temporaryFolderError } from '../../model/storeferry-error.ts';
import { formatBytes } from '../../text/printable.ts';
import { accessOf, type Facts, type OnlineCheck } from '../run-context.ts';
import { sourceFiles } from './source-check.ts';

/** A run stores a copy of its source, and its plan. */
const DISK_BYTES_PER_SOURCE_BYTE = 3;
/** The largest unpacked size of an archive. */
const UNPACKED_BYTES_PER_ARCHIVE_BYTE = 10;
const LITTLE_BYTES = 512 * 1024 ** 2;

/** Whether the disk for the files of runs has room for a run of the largest source. */
export const diskCheck: OnlineCheck = ({ settings, jobs, dir }) => {
  if (settings?.artifacts.kind !== 'folder') return [];
  const { path } = settings.artifacts;
  return [
    {
      subject: 'disk',
      async look() {
        const { bavail, bsize } = await statfs(await nearestFolder(path));
        const files = await sourceFiles(jobs, accessOf({ dir, settings }));
        const sizes = await Promise.all(files.map(unpackedSize));
        return [judgeDisk(bavail * bsize, Math.max(0, ...sizes), path)];
      },
    },
  ];
};

/** Whether the temporary folder can be written. Files of other machines are kept there while they are read. */
export const temporaryFolderCheck: OnlineCheck = () => [
  {
    subject: 'temporary folder',
    async look() {
      const folder = tmpdir();
      const own = await mkdtemp(join(folder, 'storeferry-')).catch((cause: unknown) => {
        throw temporaryFolderError(folder, cause);
      });
      await rm(own, { recursive: true, force: true });
      return [{ verdict: 'ok', message: `${folder} can be written` }];
    },
  },
];

/** Whether the free space is enough for the largest source, both in bytes. */
export function judgeDisk(free: number, largest: number, folder: string): Facts {
  const found = `${formatBytes(free)} free at ${folder}`;
  const needed = largest * DISK_BYTES_PER_SOURCE_BYTE;
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
      hint: `Free space is low: make room until ${formatBytes(LITTLE_BYTES)} are free.`,
    };
  }
  return {
    verdict: 'ok',
    message: largest === 0 ? found : `${found}; the largest source may take ${formatBytes(needed)}`,
  };
}

async function unpackedSize(path: string): Promise<number> {
  const size = (await stat(path).catch(() => undefined))?.size ?? 0;
  return /\.(gz|zip)$/i.test(path) ? size * UNPACKED_BYTES_PER_ARCHIVE_BYTE : size;
}

/** The folder itself (an absolute path), or its nearest existing parent, in which it will be created. */
export async function nearestFolder(folder: string): Promise<string> {
  let existing = folder;
  while ((await stat(existing).catch(() => undefined)) === undefined && existing !== dirname(existing)) {
    existing = dirname(existing);
  }
  return existing;
}
