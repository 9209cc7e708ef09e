import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { makeFolders } from '../../src/state/make-folders.ts';

async function setup(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

describe('making folders', () => {
  it('makes those above as well, with the rights asked for, and is content with what is there', async () => {
    const dir = await setup();
    await makeFolders(join(dir, 'a', 'b'), 0o700);
    await makeFolders(join(dir, 'a', 'b'), 0o700);
    expect((await stat(join(dir, 'a'))).mode & 0o777).toBe(0o700);
    expect(await readdir(join(dir, 'a'))).toEqual(['b']);
  });

  it('is made by several at once', async () => {
    const dir = await setup();
    await Promise.all(Array.from({ length: 20 }, () => makeFolders(join(dir, 'a', 'b', 'c'))));
    expect(await readdir(join(dir, 'a', 'b'))).toEqual(['c']);
  });

  it('refuses a file in the way', async () => {
    const dir = await setup();
    await writeFile(join(dir, 'a'), '');
    await expect(makeFolders(join(dir, 'a'))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(makeFolders(join(dir, 'a', 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  it.skipIf(!existsSync('/proc/self'))(
    `gives up where no folder can be made${existsSync('/proc/self') ? '' : ': skipped, no /proc'}`,
    async () => {
      await expect(makeFolders('/proc/nowhere/exports')).rejects.toMatchObject({ code: 'ENOENT' });
    },
  );
});
