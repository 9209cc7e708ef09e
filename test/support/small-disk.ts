import { mkdtemp, open, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endWithTest, succeeds } from './processes.ts';

/** A file system of our own that can be full. */
export interface SmallDisk extends AsyncDisposable {
  readonly dir: string;
  /** Takes all the room that is left, but so many bytes. */
  fill(leave?: number): Promise<void>;
  /** Gives it back. */
  free(): Promise<void>;
}

/** Why there may be none. */
export const NO_SMALL_DISK = 'a disk that is full takes a mount, which this user may not make here';

/** Mounts a file system of so many MiB; undefined where this user may not. */
export async function mountSmallDisk(mib: number): Promise<SmallDisk | undefined> {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-disk-'));
  if (!succeeds('mount', '-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', dir)) {
    await rm(dir, { recursive: true });
    return undefined;
  }
  const filler = join(dir, 'filler');
  const unmount = () => succeeds('umount', '-l', dir);
  const release = endWithTest(unmount, `umount -l '${dir}'`);
  return {
    dir,
    async fill(leave = 0) {
      const file = await open(filler, 'a');
      for (const size of [64 * 1024, 4 * 1024, 1]) {
        const bytes = Buffer.alloc(size);
        while (
          await file.write(bytes).then(
            ({ bytesWritten }) => bytesWritten > 0,
            () => false,
          )
        );
      }
      await file.close();
      if (leave > 0) await truncate(filler, Math.max(0, (await stat(filler)).size - leave));
    },
    free: () => rm(filler, { force: true }),
    async [Symbol.asyncDispose]() {
      unmount();
      release();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
