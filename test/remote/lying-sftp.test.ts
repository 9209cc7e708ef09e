import type { Attributes, FileEntry, SFTPWrapper } from 'ssh2';
import { describe, expect, it } from 'vitest';
import { openPublicFolder } from '../../src/export/open-destination.ts';
import { serveSftp } from './serve-sftp.ts';
import { failureOf, fetchAll, put } from './trials.ts';

const OK = 0;
const END = 1;
const PERMISSION_DENIED = 3;
const FAILURE = 4;
const FILE = { mode: 0o100644, uid: 0, gid: 0, atime: 1, mtime: 1 };

/** What the server says of its one file, and what it sends of it. */
interface Lies {
  /** It lists no folder. */
  readonly isHidden?: boolean;
  readonly names?: readonly string[];
  readonly size?: number;
  /** The bytes at an offset; null: the end. */
  readonly read?: (offset: number, length: number) => Buffer | null;
  readonly attributes?: (asked: number) => Partial<Attributes>;
  /** The attributes of its folder have no types. */
  readonly isUntyped?: boolean;
  /** Where its quota shows: it closes no file. */
  readonly isFull?: boolean;
}

/** An SFTP server that says what it likes. */
async function serveLies({
  isHidden = false,
  names = ['a.csv'],
  size = 5,
  read = () => null,
  attributes = () => ({}),
  isUntyped = false,
  isFull = false,
}: Lies) {
  const opened: string[] = [];
  const removed: string[] = [];
  const renamed: string[] = [];
  let asked = 0;
  const serve = (sftp: SFTPWrapper) => {
    let isListed = false;
    sftp.on('OPENDIR', (id) => {
      isListed = false;
      if (isHidden) sftp.status(id, PERMISSION_DENIED);
      else sftp.handle(id, Buffer.from('folder'));
    });
    sftp.on('CLOSE', (id, handle) => sftp.status(id, isFull && String(handle) === 'file' ? FAILURE : OK));
    sftp.on('READDIR', (id) => {
      const entries = names.map(
        (filename): FileEntry => ({
          filename,
          longname: '',
          attrs: { ...FILE, size, ...(isUntyped && { mode: 0 }) },
        }),
      );
      if (isListed) sftp.status(id, END);
      else sftp.name(id, entries);
      isListed = true;
    });
    sftp.on('STAT', (id) => {
      asked += 1;
      sftp.attrs(id, { ...FILE, size, ...attributes(asked) });
    });
    sftp.on('OPEN', (id, name) => {
      opened.push(name);
      sftp.handle(id, Buffer.from('file'));
    });
    sftp.on('WRITE', (id) => sftp.status(id, OK));
    sftp.on('RENAME', (id, name) => {
      renamed.push(name);
      sftp.status(id, OK);
    });
    sftp.on('EXTENDED', (id) => sftp.status(id, OK));
    sftp.on('REMOVE', (id, name) => {
      removed.push(name);
      sftp.status(id, OK);
    });
    sftp.on('READ', (id, _handle, offset, length) => {
      const bytes = read(offset, length);
      if (bytes === null) sftp.status(id, END);
      else sftp.data(id, bytes);
    });
  };
  return { opened, removed, renamed, ...(await serveSftp(serve)) };
}

/** As a file with this content answers. */
function contentOf(text: string): NonNullable<Lies['read']> {
  return (offset, length) =>
    offset >= text.length ? null : Buffer.from(text).subarray(offset, offset + length);
}

describe('an SFTP server that lies', () => {
  it('leads to no file that its folder does not have: a name is no path', async () => {
    const names = ['../../etc/a.csv', '/etc/b.csv', '.', '..', 'c\0.csv', 'd.csv', 'e\u001b[2J\n.csv'];
    await using server = await serveLies({ names, read: contentOf('12345') });
    const found = await fetchAll(server.client('*'));
    expect(server.opened).toEqual(['/in/d.csv', '/in/e\u001b[2J\n.csv']);
    expect(Object.values(found).map((held) => held?.content)).toEqual(['12345', '12345']);
  });

  it('makes a destination remove nothing outside its folder', async () => {
    const names = ['.a.csv.storeferry-/../../b.tmp', '.a.csv.storeferry-0123456789ab.tmp'];
    await using server = await serveLies({ names });
    await put(server.client('a.csv'), 'x');
    expect(server.removed[0]).toBe('/in/.a.csv.storeferry-0123456789ab.tmp');
    expect(server.removed.filter((name) => !/^\/in\/[^/]+$/.test(name))).toEqual([]);
  });

  it('finds the files of a folder whose listing has no types', async () => {
    await using server = await serveLies({
      isUntyped: true,
      names: ['a.csv', 'b.csv'],
      attributes: (asked) => (asked === 1 ? { mode: 0o040755 } : {}),
      read: contentOf('12345'),
    });
    expect(Object.keys(await fetchAll(server.client('*.csv')))).toEqual(['sftp://test/in/b.csv']);
  });

  it('replaces no file by one that it could not close', async () => {
    await using server = await serveLies({ isFull: true });
    expect((await failureOf(put(server.client('a.csv'), 'x'))).message).toContain('SFTP status 4');
    expect(server.renamed).toEqual([]);
  });

  it.each([
    ['less than it has', 3],
    ['more than it has', 9],
  ])('is found out where it announces %s', async (_, size) => {
    await using server = await serveLies({ size, read: contentOf('12345') });
    const failure = await failureOf(fetchAll(server.client('a.csv')));
    expect(failure.message).toMatch(/its size is not what the server says|5 bytes arrived, 9 were announced/);
  });

  it('that leaves out the middle of a file is found out', async () => {
    const size = 100_000;
    await using server = await serveLies({
      size,
      read: (offset, length) =>
        offset === 10_000
          ? Buffer.alloc(0)
          : offset < size
            ? Buffer.alloc(Math.min(length, 10_000), 'x')
            : null,
    });
    const failure = await failureOf(fetchAll(server.client('a.csv')));
    expect(failure.message).toMatch(/were announced/);
  });

  it('sends more than was asked for, and the connection ends', async () => {
    await using server = await serveLies({ read: (_, length) => Buffer.alloc(length + 100_000, 'x') });
    const failure = await failureOf(fetchAll(server.client('a.csv')));
    expect(failure.message).not.toBe('');
  });

  it('whose file never ends stops at the limit of bytes', async () => {
    const size = 2 ** 52;
    await using server = await serveLies({ size, read: (_, length) => Buffer.alloc(length, 'x') });
    await expect(fetchAll(server.client('a.csv'), { limitBytes: 1_000_000 })).rejects.toThrow();
  });

  it('whose file changes with every look is given up', async () => {
    await using server = await serveLies({
      read: contentOf('12345'),
      attributes: (asked) => ({ mtime: asked }),
    });
    const failure = await failureOf(fetchAll(server.client('a.csv')));
    expect(failure.message).toContain('it changed during reading');
  });

  it('with another key than that of the job gets no password', async () => {
    await using server = await serveLies({});
    const failure = await failureOf(
      fetchAll(server.client('a.csv', ['SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU'])),
    );
    expect(failure.message).toContain('is not the one that `hostKey` names');
    expect(server.opened).toEqual([]);
  });
});

const ABANDONED = '.blue.jpg.storeferry-0123456789ab.tmp';

it.each([
  ['is swept', { names: [ABANDONED, 'blue.jpg'] }, [`/in/shop/${ABANDONED}`]],
  ['may not be listed', { isHidden: true }, []],
  ['has too many files to list', { names: Array.from({ length: 100_001 }, (_, n) => `${n}.jpg`) }, []],
])('a public folder that %s is written', async (_, lies, removed) => {
  await using server = await serveLies(lies);
  const { signal } = new AbortController();
  await using folder = await openPublicFolder({ remote: server.at('shop') }, { workspaceDir: '/nowhere' });
  await folder.sweep(signal);
  expect(server.removed).toEqual(removed);
  await folder.put('red.jpg', Buffer.from('red'), 'image/jpeg', signal);
  expect(server.opened).toHaveLength(1);
});
