import { once } from 'node:events';
import {
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { openDestination, openPublicFolder } from '../../src/export/open-destination.ts';
import { hostTag } from '../../src/state/file-access.ts';
import { makePipe } from '../support/make-pipe.ts';
import { startProcess } from '../support/processes.ts';

/** Absolute paths say themselves where they may be. */
const ANYWHERE = { workspaceDir: '/nowhere' };

const { signal } = new AbortController();

async function setup() {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-export-'));
  return {
    dir,
    path: join(dir, 'file.csv'),
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
}

async function* content(...parts: readonly string[]): AsyncGenerator<string> {
  yield* parts;
}

describe('a file that is written', () => {
  it('is there whole, in folders made for it, with nothing beside it', async () => {
    await using at = await setup();
    const destination = await openDestination({ path: join(at.dir, 'a', 'b', 'file.csv') }, ANYWHERE);
    expect(await destination.read(signal)).toBeUndefined();
    expect(await destination.write(content('one\n', 'zwö\n'), { signal })).toBe(9);
    expect(await readFile(join(at.dir, 'a', 'b', 'file.csv'), 'utf8')).toBe('one\nzwö\n');
    expect(await readdir(join(at.dir, 'a', 'b'))).toEqual(['file.csv']);
  });

  it('is refused, and not waited for, when it is a pipe', async () => {
    await using at = await setup();
    await makePipe(at.path);
    const destination = await openDestination({ path: at.path }, ANYWHERE);
    await expect(destination.read(signal)).rejects.toThrow('is not a regular file');
    await expect(destination.write(content('x'), { signal })).rejects.toThrow('is not a regular file');
  });

  it('is neither read nor written through a folder that became a link since', async () => {
    await using at = await setup();
    for (const folder of ['out', 'elsewhere']) {
      await mkdir(join(at.dir, folder));
      await writeFile(join(at.dir, folder, 'file.csv'), 'old\n');
    }
    const destination = await openDestination({ path: join(at.dir, 'out', 'file.csv') }, ANYWHERE);
    await rename(join(at.dir, 'out'), join(at.dir, 'before'));
    await symlink('elsewhere', join(at.dir, 'out'));
    await expect(destination.read(signal)).rejects.toThrow('was moved or replaced');
    await expect(destination.write(content('new\n'), { signal })).rejects.toThrow('was moved or replaced');
    expect(await readdir(join(at.dir, 'elsewhere'))).toEqual(['file.csv']);
    expect(await readFile(join(at.dir, 'elsewhere', 'file.csv'), 'utf8')).toBe('old\n');
  });

  it('stays as it was when what comes fails, or when it is called off', async () => {
    await using at = await setup();
    await writeFile(at.path, 'old\n');
    const destination = await openDestination({ path: at.path }, ANYWHERE);
    const failing = async function* () {
      yield 'half';
      throw new Error('no more');
    };
    await expect(destination.write(failing(), { signal })).rejects.toThrow('no more');
    const off = new AbortController();
    const calledOff = async function* () {
      yield 'half';
      off.abort(new Error('stop'));
      yield 'more';
    };
    await expect(destination.write(calledOff(), { signal: off.signal })).rejects.toThrow('stop');
    expect(await readFile(at.path, 'utf8')).toBe('old\n');
    expect(await readdir(at.dir)).toEqual(['file.csv']);
  });

  it('is the one that a symbolic link leads to, with the rights it had', async () => {
    await using at = await setup();
    await writeFile(at.path, 'old\n');
    await chmod(at.path, 0o640);
    await symlink('file.csv', join(at.dir, 'link.csv'));
    const destination = await openDestination({ path: join(at.dir, 'link.csv') }, ANYWHERE);
    const direct = await openDestination({ path: at.path }, ANYWHERE);
    expect(destination.location).toBe(direct.location);
    await destination.write(content('new\n'), { signal });
    expect(await readFile(at.path, 'utf8')).toBe('new\n');
    expect((await stat(at.path)).mode & 0o777).toBe(0o640);
  });

  it('is refused over another version than was read', async () => {
    await using at = await setup();
    const destination = await openDestination({ path: at.path }, ANYWHERE);
    await destination.write(content('one\n'), { signal, ifVersion: null });
    const read = await destination.read(signal);
    if (read === undefined) throw new Error('nothing there');
    expect(await text(read.content)).toBe('one\n');
    const ifVersion = read.version ?? '';
    await writeFile(at.path, 'somebody else\n');
    const changed = { code: 'destination-changed' };
    await expect(destination.write(content('two\n'), { signal, ifVersion })).rejects.toMatchObject(changed);
    await expect(destination.write(content('two\n'), { signal, ifVersion: null })).rejects.toMatchObject(
      changed,
    );
    expect(await readFile(at.path, 'utf8')).toBe('somebody else\n');
    expect(await readdir(at.dir)).toEqual(['file.csv']);
  });

  it('is no folder, and lies in none that is a file', async () => {
    await using at = await setup();
    await mkdir(at.path);
    const folder = await openDestination({ path: at.path }, ANYWHERE);
    await expect(folder.write(content('x'), { signal })).rejects.toMatchObject({ code: 'destination' });
    await writeFile(join(at.dir, 'plain'), '');
    await expect(openDestination({ path: join(at.dir, 'plain', 'x.csv') }, ANYWHERE)).rejects.toMatchObject({
      message: expect.stringContaining('a part of its path is a file, not a folder'),
    });
  });

  it('is whole after its writer was killed, and what that left is swept by the next', async () => {
    await using at = await setup();
    await writeFile(at.path, 'old and whole\n');
    const writer = startProcess(process.execPath, [join(import.meta.dirname, 'endless-writer.ts'), at.path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(writer.stdout, 'data');
    const destination = await openDestination({ path: at.path }, ANYWHERE);
    await destination.write(content('by another\n'), { signal });
    expect(await readdir(at.dir)).toHaveLength(2);
    writer.kill('SIGKILL');
    await once(writer, 'exit');
    expect(await readFile(at.path, 'utf8')).toBe('by another\n');
    await destination.write(content('new\n'), { signal });
    expect(await readdir(at.dir)).toEqual(['file.csv']);
  });

  it('is no device', async () => {
    const destination = await openDestination({ path: '/dev/null' }, ANYWHERE);
    await expect(destination.write(content('x'), { signal })).rejects.toMatchObject({
      message: expect.stringContaining('not a regular file'),
    });
  });
});

it('a public folder is swept as a whole, and not listed for each file', async () => {
  await using at = await setup();
  const folder = await openPublicFolder({ path: at.dir }, ANYWHERE);
  const left = `.red.jpg.${hostTag()}-4194400-0123abcd.tmp`;
  for (const name of [left, '.other.tmp']) await writeFile(join(at.dir, name), 'half');
  await folder.put('red.jpg', Buffer.from('red'), 'image/jpeg', signal);
  expect((await readdir(at.dir)).sort()).toEqual(['.other.tmp', left, 'red.jpg'].sort());
  await folder.sweep(signal);
  expect((await readdir(at.dir)).sort()).toEqual(['.other.tmp', 'red.jpg']);
});
