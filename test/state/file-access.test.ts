import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, realpath, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { allowedPath, makeFolders, openAllowed } from '../../src/state/file-access.ts';
import { makePipe } from '../support/make-pipe.ts';

/** A folder `shop`, which is the workspace, and a folder `outside` beside it. */
async function scene(links: Readonly<Record<string, string>> = {}) {
  const root = await realpath(await mkdtemp(join(tmpdir(), 'storeferry-paths-')));
  const put = async (name: string) => {
    await mkdir(dirname(join(root, name)), { recursive: true });
    await writeFile(join(root, name), 'x');
  };
  for (const name of ['shop/inbox/a.csv', 'shop/.env', 'shop/.storeferry/x.csv', 'outside/b.csv'])
    await put(name);
  await put('outside/.ssh/id');
  for (const [name, target] of Object.entries(links)) await symlink(target, join(root, name));
  const workspaceDir = join(root, 'shop');
  return {
    root,
    look: (path: string, ...allowedFolders: readonly string[]) =>
      allowedPath(path.replace('ROOT', root), {
        workspaceDir,
        allowedFolders: allowedFolders.map((folder) => join(root, folder)),
      }),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  };
}

const OUTSIDE = { refused: 'leads outside the workspace' };
const HIDDEN = { refused: expect.stringContaining('is hidden') };

describe('a path of a job', () => {
  it('is taken as what its links lead to within the workspace, also where nothing is yet', async () => {
    await using at = await scene({ 'shop/latest.csv': 'inbox/a.csv', 'shop/box': 'inbox' });
    const real = join(at.root, 'shop/inbox/a.csv');
    for (const path of ['inbox/a.csv', 'latest.csv', 'box/a.csv', './box/../inbox/a.csv'])
      expect(await at.look(path)).toEqual({ real });
    expect(await at.look('box/new/c.csv')).toEqual({ real: join(at.root, 'shop/inbox/new/c.csv') });
  });

  it.each([
    ['a file', '../outside/b.csv', 'link'],
    ['a folder', '../outside', 'link/b.csv'],
    ['a file that is yet to be written', '../outside/new.csv', 'link'],
    ['a folder that is not there', '../gone', 'link/new.csv'],
    ['another link', 'second', 'link'],
    ['the folder above', '..', 'link/outside/b.csv'],
  ])('is refused where a link leads out of the workspace to %s', async (_, target, path) => {
    await using at = await scene({ 'shop/link': target, 'shop/second': '../outside/b.csv' });
    expect(await at.look(path)).toMatchObject(OUTSIDE);
    expect(await at.look(path, 'inbox')).toMatchObject(OUTSIDE);
  });

  it('is refused where links lead in a circle', async () => {
    await using at = await scene({ 'shop/one': 'two', 'shop/two': 'one' });
    await expect(at.look('one')).rejects.toMatchObject({ code: 'ELOOP' });
  });

  it.each([
    '.env',
    '.storeferry/x.csv',
    'link',
    'folder/x.csv',
    'ROOT/shop/.env',
    'ROOT/shop/.storeferry/x.csv',
  ])('is refused where it is, or leads to, a hidden file: %s', async (path) => {
    await using at = await scene({ 'shop/link': '.env', 'shop/folder': '.storeferry' });
    expect(await at.look(path)).toMatchObject(HIDDEN);
    expect(await at.look(path, 'shop', 'outside')).toMatchObject(HIDDEN);
  });

  it('may be absolute: its folder is allowed then, and not where its links lead', async () => {
    await using at = await scene({
      'outside/in.csv': 'b.csv',
      'outside/out.csv': '../shop/../elsewhere.csv',
    });
    expect(await at.look('ROOT/outside/in.csv')).toEqual({ real: join(at.root, 'outside/b.csv') });
    expect(await at.look('ROOT/outside/out.csv')).toMatchObject(OUTSIDE);
  });

  it('may lead into a folder that is allowed, a hidden one too, and to no hidden file there', async () => {
    await using at = await scene({ 'shop/b.csv': '../outside/b.csv', 'shop/id': '../outside/.ssh/id' });
    expect(await at.look('b.csv', 'outside')).toEqual({ real: join(at.root, 'outside/b.csv') });
    expect(await at.look('id', 'outside')).toMatchObject(HIDDEN);
    expect(await at.look('id', 'outside/.ssh')).toEqual({ real: join(at.root, 'outside/.ssh/id') });
    expect(await at.look('b.csv', 'out')).toMatchObject(OUTSIDE);
  });
});

describe('a file that is opened', () => {
  it('is the one that was found', async () => {
    await using at = await scene();
    const opened = await openAllowed(join(at.root, 'shop/inbox/a.csv'));
    if (!('file' in opened)) throw new Error(opened.refused);
    expect(await opened.file.readFile('utf8')).toBe('x');
    await opened.file.close();
  });

  it('is refused when a folder above it became a link since', async () => {
    await using at = await scene();
    const found = await at.look('inbox/a.csv');
    if (!('real' in found)) throw new Error(found.refused);
    await writeFile(join(at.root, 'outside/a.csv'), 'secret');
    await rename(join(at.root, 'shop/inbox'), join(at.root, 'shop/old'));
    await symlink('../outside', join(at.root, 'shop/inbox'));
    expect(await openAllowed(found.real)).toMatchObject({
      refused: 'was moved or replaced while Storeferry opened it',
    });
  });

  it('is refused, and not waited for, when it is a pipe or a folder', async () => {
    await using at = await scene();
    await makePipe(join(at.root, 'shop/pipe.csv'));
    expect(await openAllowed(join(at.root, 'shop/pipe.csv'))).toMatchObject({
      refused: 'is not a regular file',
    });
    expect(await openAllowed(join(at.root, 'shop/inbox'))).toMatchObject({ refused: 'is a folder' });
  });
});

async function freshFolder(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}

describe('creating folders', () => {
  it('creates those above as well, with the rights given, and accepts folders that exist', async () => {
    const dir = await freshFolder();
    await makeFolders(join(dir, 'a', 'b'), 0o700);
    await makeFolders(join(dir, 'a', 'b'), 0o700);
    expect((await stat(join(dir, 'a'))).mode & 0o777).toBe(0o700);
    expect(await readdir(join(dir, 'a'))).toEqual(['b']);
  });

  it('works for several at once', async () => {
    const dir = await freshFolder();
    await Promise.all(Array.from({ length: 20 }, () => makeFolders(join(dir, 'a', 'b', 'c'))));
    expect(await readdir(join(dir, 'a', 'b'))).toEqual(['c']);
  });

  it('refuses a file in the way', async () => {
    const dir = await freshFolder();
    await writeFile(join(dir, 'a'), '');
    await expect(makeFolders(join(dir, 'a'))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(makeFolders(join(dir, 'a', 'b'))).rejects.toMatchObject({ code: 'ENOTDIR' });
  });

  it.skipIf(!existsSync('/proc/self'))(
    `gives up where no folder can be created${existsSync('/proc/self') ? '' : ': skipped, no /proc'}`,
    async () => {
      await expect(makeFolders('/proc/nowhere/exports')).rejects.toMatchObject({ code: 'ENOENT' });
    },
  );
});
