import { once } from 'node:events';
import { existsSync } from 'node:fs';
import {
  glob,
  mkdir,
  mkdtemp,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  allowedPath,
  findFiles,
  hostTag,
  makeFolders,
  openAllowed,
  openProcessFolder,
} from '../../src/state/file-access.ts';
import { makePipe } from '../support/make-pipe.ts';
import { startProcess } from '../support/processes.ts';

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
    workspaceDir,
    lookInWorkspace: (path: string) =>
      allowedPath(path.replace('ROOT', root), {
        ...{ workspaceDir, allowedFolders: [join(root, 'outside')], workspaceOnly: true },
      }),
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

describe('an absolute path outside the workspace', () => {
  it('may be in no hidden folder, unless that folder is allowed', async () => {
    await using at = await scene({ 'outside/keys': '.ssh' });
    for (const path of ['ROOT/outside/.ssh/id', 'ROOT/outside/.ssh/new', 'ROOT/outside/keys/id'])
      expect(await at.look(path)).toMatchObject(HIDDEN);
    expect(await at.look('ROOT/outside/.ssh/id', 'outside/.ssh')).toMatchObject({ real: expect.anything() });
  });
});

describe('a path from a browser', () => {
  it('leads nowhere but into the workspace, by itself and by links', async () => {
    await using at = await scene({ 'shop/link': '../outside', 'shop/own': 'inbox', 'shop/secret': '.env' });
    for (const path of ['inbox/a.csv', 'own/a.csv', 'ROOT/shop/inbox/a.csv'])
      expect(await at.lookInWorkspace(path)).toEqual({ real: join(at.workspaceDir, 'inbox/a.csv') });
    for (const path of ['link/b.csv', 'ROOT/outside/b.csv', 'ROOT/outside/*', '../outside/b.csv', '/'])
      expect(await at.lookInWorkspace(path)).toMatchObject(OUTSIDE);
    for (const path of ['.env', 'secret', 'ROOT/shop/.env'])
      expect(await at.lookInWorkspace(path)).toMatchObject(HIDDEN);
  });
});

describe('a glob', () => {
  const files = ['a.csv', 'b.csv', 'deep/a.csv', 'deep/er/a.csv', 'x(1).csv', 'x[1].csv', 'deep/{a}.csv'];
  const folder = async () => {
    const dir = await freshFolder();
    for (const name of [...files, '.hidden/a.csv', 'deep/.a.csv']) {
      await mkdir(dirname(join(dir, name)), { recursive: true });
      await writeFile(join(dir, name), 'x');
    }
    return dir;
  };

  it('finds what the glob of Node finds, except hidden files', async () => {
    const dir = await folder();
    const part = fc.constantFrom(
      '*',
      '**',
      'a*',
      '*.csv',
      '?.csv',
      '[ab].csv',
      '[!a].csv',
      '{a,b}.csv',
      'deep',
    );
    const other = fc.constantFrom('x[[]1].csv', 'x*', 'd*p', '{deep,none}', '{deep/er,deep}', 'none', 'er');
    const pattern = fc
      .array(fc.oneof(part, other), { minLength: 1, maxLength: 4 })

      .filter((all) => all.at(-1) !== '**')
      .map((all) => all.join('/'));
    await fc.assert(
      fc.asyncProperty(pattern, async (path) => {
        const expected = new Set<string>();
        for await (const match of glob(path, { cwd: dir })) {
          const isFile = (await stat(join(dir, match))).isFile();
          if (isFile && !match.split('/').some((name) => name.startsWith('.'))) expected.add(match);
        }
        const found = await findFiles(path, { workspaceDir: dir }).catch(() => []);
        expect(found.map((file) => file.path)).toEqual([...expected].sort());
      }),
    );
  });

  it.each([
    ['a*b?', ['abb', 'a-b-', 'abbb'], ['ab', 'a', 'abc-']],
    ['[a-c!]x', ['ax', 'cx', '!x'], ['dx', 'x']],
    ['[!a-c]', ['d', '-'], ['a']],
    ['[]a]', [']', 'a'], ['b']],
    [String.raw`\*[?`, ['*[x'], ['x[x']],
    ['?', ['🙂', 'ü'], ['ab']],
    ['*.xlsx', ['prices.xlsx', '~prices.xlsx'], ['~$prices.xlsx', '.prices.xlsx']],
    ['~$prices.xlsx', ['~$prices.xlsx'], ['prices.xlsx']],
  ])('matches names: %s', async (pattern, names, others) => {
    const dir = await freshFolder();
    for (const name of [...names, ...others]) await writeFile(join(dir, name), 'x');
    const found = await findFiles(pattern, { workspaceDir: dir });
    expect(found.map(({ path }) => path)).toEqual(names.toSorted());
  });

  it('goes through a link to a folder only by its name', async () => {
    const dir = await folder();
    await symlink('deep', join(dir, 'link'));
    const find = async (path: string) =>
      (await findFiles(path, { workspaceDir: dir })).map((file) => file.path);
    for (const path of ['link/?.csv', '{link,none}/a.csv']) expect(await find(path)).toEqual(['link/a.csv']);
    expect(await find('*/a.csv')).toEqual(['deep/a.csv']);
    expect(await find('**/a.csv')).toEqual(['a.csv', 'deep/a.csv', 'deep/er/a.csv']);
  });

  it('takes few steps for braces and stars without end', async () => {
    const dir = await folder();
    await writeFile(join(dir, 'a'.repeat(200)), 'x');
    const find = (path: string) => findFiles(path, { workspaceDir: dir });
    await expect(find('{a,b}'.repeat(26))).rejects.toThrow('stands for more than 1000 paths');
    await expect(find('{1..99999999}.csv')).rejects.toThrow('stands for more than 1000 paths');
    await expect(find(`${'*a'.repeat(60)}b`)).rejects.toThrow('No file matches');
    await expect(find(`${'**/'.repeat(100)}none`)).rejects.toThrow('No file matches');
    await expect(find(`${'+(+(a)'.repeat(40)}b`)).rejects.toThrow('No file matches');
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

describe('a folder of a process', () => {
  it('is removed at its end, and by the next process if it was killed, while those of running ones stay', async () => {
    const parent = join(await freshFolder(), 'uploads');
    const ended = startProcess(process.execPath, ['--version'], { stdio: 'ignore' });
    await once(ended, 'exit');
    const own = hostTag();
    const leave = async (name: string, age = 0) => {
      await mkdir(join(parent, name), { recursive: true });
      await writeFile(join(parent, name, 'x.csv'), 'x');
      const time = new Date(Date.now() - age);
      await utimes(join(parent, name), time, time);
    };
    const old = 2 * 60 * 60 * 1_000;
    await leave(`${own}-${ended.pid}-00000001`);
    await leave(`${own}-${process.pid}-00000002`);
    await leave(`${own}-${process.ppid}-00000003`);
    await leave(`${own}-${process.ppid}-00000004`, old);
    await leave('elsewhere-1-00000005');
    await leave('elsewhere-1-00000006', old);
    await leave('other', old);
    const kept = ['elsewhere-1-00000005', `${own}-${process.ppid}-00000003`, 'other'].toSorted();
    {
      await using folder = await openProcessFolder(parent);
      expect((await readdir(parent)).toSorted()).toEqual(kept);
      const path = await folder.path();
      expect(await folder.path()).toBe(path);
      expect((await stat(path)).mode & 0o777).toBe(0o700);
      await using other = await openProcessFolder(`${parent}2`);
      expect(existsSync(`${parent}2`)).toBe(false);
      await other.path();
    }
    expect((await readdir(parent)).toSorted()).toEqual(kept);
  });
});

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
