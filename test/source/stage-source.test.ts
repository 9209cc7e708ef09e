import { createHash } from 'node:crypto';
import { existsSync, globSync } from 'node:fs';
import { appendFile, mkdir, readFile, rename, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { SourceError, StateError } from '../../src/model/storeferry-error.ts';
import {
  loadSnapshot,
  type StageOptions,
  saveSnapshot,
  stageContents,
  stageSource,
} from '../../src/source/snapshot.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { workspaceWith } from './folder-on-disk.ts';
import { makeZip } from './make-zip.ts';

const CSV = 'sku,price\nA,1\nB,2\n';

async function stage(
  files: Readonly<Record<string, string | Uint8Array>>,
  path: string,
  options: Partial<StageOptions> & { readonly files?: number } = {},
) {
  await using workspace = await workspaceWith(files);
  const { files: expected, ...rest } = options;
  const snapshot = await stageSource(
    { path, ...(expected === undefined ? {} : { files: expected }) },
    { ...workspace, ...rest },
  );
  const contents = await Promise.all(
    snapshot.files.map(({ stored }) => readFile(join(workspace.folder.location, stored), 'utf8')),
  );
  await saveSnapshot(workspace.folder, snapshot);
  expect(await loadSnapshot(workspace.folder)).toEqual(snapshot);
  return { snapshot, contents, names: snapshot.files.map(({ name }) => name) };
}

async function refusal(
  files: Readonly<Record<string, string | Uint8Array>>,
  path: string,
  options: Partial<StageOptions> & { readonly files?: number } = {},
) {
  await using workspace = await workspaceWith(files);
  const { files: expected, ...rest } = options;
  const error: unknown = await stageSource(
    { path, ...(expected === undefined ? {} : { files: expected }) },
    { ...workspace, ...rest },
  ).then(
    () => 'staged',
    (reason: unknown) => reason,
  );
  if (!(error instanceof SourceError)) throw new Error(`expected a SourceError, got ${String(error)}`);
  expect(await workspace.folder.list()).toEqual([]);
  expect(error.hint).toBeTruthy();
  return error;
}

describe('a snapshot', () => {
  it('holds a file byte for byte, with its size and digest', async () => {
    const bytes = Buffer.from('name\ncaf\xe9\n', 'latin1');
    await using workspace = await workspaceWith({ 'in/a.csv': bytes });
    const snapshot = await stageSource({ path: 'in/a.csv' }, workspace);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    expect(snapshot.files).toEqual([
      { name: 'in/a.csv', stored: 'source-0001', bytes: bytes.length, sha256 },
    ]);
    expect(await readFile(join(workspace.folder.location, 'source-0001'))).toEqual(bytes);
  });

  it('has the files of a glob sorted by name, and a digest that depends on the order', async () => {
    const { names, contents, snapshot } = await stage(
      { 'b.csv': 'b\n', 'a.csv': 'a\n', 'c.txt': 'c\n' },
      '*.csv',
    );
    expect(names).toEqual(['a.csv', 'b.csv']);
    expect(contents).toEqual(['a\n', 'b\n']);
    const turned = await stage({ 'b.csv': 'a\n', 'a.csv': 'b\n' }, '*.csv');
    expect(turned.snapshot.sha256).not.toBe(snapshot.sha256);
    const renamed = await stage({ '1.csv': 'a\n', '2.csv': 'b\n' }, '*.csv');
    expect(renamed.snapshot.sha256).toBe(snapshot.sha256);
  });

  it('takes a path literally when there is such a file, whatever its characters', async () => {
    expect((await stage({ 'export [2024].csv': CSV }, 'export [2024].csv')).contents).toEqual([CSV]);
  });

  it('is absent until it is saved, and refused when damaged', async () => {
    await using workspace = await workspaceWith({ 'a.csv': CSV });
    expect(await loadSnapshot(workspace.folder)).toBeUndefined();
    await workspace.folder.write('snapshot.json', ['{"files":[']);
    await expect(loadSnapshot(workspace.folder)).rejects.toThrow(StateError);
  });

  it('reports progress, and leaves nothing when it is aborted', async () => {
    const seen: number[] = [];
    await stage({ 'a.csv': CSV, 'b.csv': CSV }, '*.csv', { onProgress: ({ bytes }) => seen.push(bytes) });
    expect(seen).toEqual([CSV.length, 2 * CSV.length]);

    await using workspace = await workspaceWith({ 'a.csv': CSV });
    const signal = AbortSignal.abort(new Error('asked to stop'));
    await expect(stageSource({ path: 'a.csv' }, { ...workspace, signal })).rejects.toThrow('asked to stop');
    expect(await workspace.folder.list()).toEqual([]);
  });
});

describe('a snapshot of texts', () => {
  it('records how to read it', async () => {
    await using workspace = await workspaceWith({});
    const content = async function* () {
      yield '\ufeffa;b\n';
      yield '1;2\n';
    };
    const snapshot = await stageContents(
      [{ name: 'rejects.csv', content }],
      { encoding: 'utf-8', delimiter: ';' },
      workspace.folder,
    );
    await saveSnapshot(workspace.folder, snapshot);
    expect(await loadSnapshot(workspace.folder)).toMatchObject({
      files: [{ name: 'rejects.csv', stored: 'source-0001', bytes: 11 }],
      readAs: { encoding: 'utf-8', delimiter: ';' },
    });
  });
});

describe('a source that is not there', () => {
  it('is named, with what is there instead', async () => {
    const error = await refusal({ 'in/catalog.csv': CSV, 'in/other.csv': CSV }, 'in/catalogue.csv');
    expect(error.message).toContain('`in/catalogue.csv`. In in there are: catalog.csv, other.csv');
    expect(error.hint).toContain('catalog.csv');
    expect((await refusal({ 'a.txt': CSV }, 'exports/*.csv')).message).toContain(
      'In the workspace there are: a.txt',
    );
  });

  it('names no file of a folder that jobs may not read', async () => {
    await using elsewhere = await workspaceWith({ 'salaries.csv': CSV });
    await using workspace = await workspaceWith({ '.storeferry/state.csv': CSV });
    await symlink(elsewhere.workspaceDir, join(workspace.workspaceDir, 'inbox'));
    for (const path of [
      'inbox/none.csv',
      'inbox/*.tsv',
      'inbox/deeper/none.csv',
      '.storeferry/none.csv',
      '../none.csv',
    ]) {
      const error: unknown = await stageSource({ path }, workspace).catch((reason: unknown) => reason);
      if (!(error instanceof SourceError)) throw new Error(`expected a SourceError, got ${String(error)}`);
      expect(error.message).toBe(`No file matches the source \`${path}\`.`);
      expect(error.hint).toBe('Correct `path` in the source of the job.');
    }
  });

  it('is reported as a folder if it is one', async () => {
    expect((await refusal({ 'in/catalog.csv': CSV }, 'in')).hint).toContain('`in/*.csv`');
  });

  it('is refused when the job expects another number of files', async () => {
    const files = { 'a.csv': CSV, 'b.csv': CSV };
    expect((await refusal(files, '*.csv', { files: 3 })).message).toContain(
      'gives 2 file(s) where the job says `files: 3`',
    );
    expect((await stage(files, '*.csv', { files: 2 })).names).toHaveLength(2);
  });

  it('does not count folders that match', async () => {
    await using workspace = await workspaceWith({ 'a.csv': CSV });
    await mkdir(join(workspace.workspaceDir, 'b.csv'));
    expect((await stageSource({ path: '*.csv' }, workspace)).files).toHaveLength(1);
  });
});

describe('gzip', () => {
  it('is opened whatever its name, also in several members', async () => {
    const two = Buffer.concat([gzipSync('sku,price\nA,1\n'), gzipSync('B,2\n')]);
    expect((await stage({ 'a.csv': gzipSync(CSV), 'b.csv.gz': two }, '*')).contents).toEqual([CSV, CSV]);
  });

  it.each([
    ['cut off', gzipSync(CSV.repeat(1000)).subarray(0, 60)],
    ['followed by other bytes', Buffer.concat([gzipSync(CSV), Buffer.from('more')])],
    [
      'followed by a member whose first byte is lost',
      Buffer.concat([gzipSync(CSV), Buffer.from([0]), gzipSync(CSV)]),
    ],
    ['of wrong checksum', Buffer.concat([gzipSync(CSV).subarray(0, -8), Buffer.alloc(8, 1)])],
  ])('is refused when %s', async (_what, bytes) => {
    expect((await refusal({ 'a.csv.gz': bytes }, 'a.csv.gz')).message).toContain('a.csv.gz is damaged');
  });

  it('is refused when packed twice, or when no CSV is in it', async () => {
    expect((await refusal({ 'a.gz': gzipSync(gzipSync(CSV)) }, 'a.gz')).message).toContain('packed twice');
    const workbook = makeZip([{ name: '[Content_Types].xml', content: 'x' }]);
    const { message, hint } = await refusal({ 'a.xlsx.gz': gzipSync(workbook) }, 'a.xlsx.gz');
    expect([message, hint]).toEqual([
      'The source a.xlsx.gz is a zip file or a workbook that is packed again.',
      'Unpack it once, and name what comes out.',
    ]);
    expect((await refusal({ 'a.gz': gzipSync('%PDF-1.7') }, 'a.gz')).message).toContain('PDF');
    expect((await refusal({ 'a.gz': gzipSync('') }, 'a.gz')).message).toContain('empty');
  });

  it('is refused when it unpacks to too much, long before all is unpacked', async () => {
    const bomb = gzipSync(Buffer.alloc(96 * 1024 * 1024, 'a,b\n'), { level: 9 });
    const { message, hint } = await refusal({ 'a.gz': bomb }, 'a.gz');
    expect(message).toContain('limit ratio (200)');
    expect(hint).toContain('ratio');
    expect((await refusal({ 'a.gz': bomb }, 'a.gz', { limits: { bytes: 1000 } })).message).toContain(
      'limit bytes (1000)',
    );
    expect((await refusal({ 'a.csv': CSV, 'b.csv': CSV }, '*', { limits: { bytes: 20 } })).message).toContain(
      'limit bytes',
    );
  });

  it('is let through at exactly its limits', async () => {
    const packed = gzipSync(Buffer.alloc(96 * 1024 * 1024, 'a,b\n'), { level: 9 });
    const ratio = (96 * 1024 * 1024) / packed.length;
    const within = { 'a.gz': packed };
    await stage(within, 'a.gz', { limits: { ratio, bytes: 96 * 1024 * 1024 } });
    await refusal(within, 'a.gz', { limits: { ratio: ratio - 0.01 } });
    await refusal(within, 'a.gz', { limits: { ratio, bytes: 96 * 1024 * 1024 - 1 } });

    const zip = makeZip(['b.csv', 'folder/é.csv'].map((name) => ({ name, content: CSV })));
    const limits = { fileCount: 2, pathBytes: 13, bytes: CSV.length * 2 };
    const { names } = await stage({ 'a.zip': zip }, 'a.zip', { limits });
    expect(names).toEqual(['a.zip/b.csv', 'a.zip/folder/é.csv']);
    const long = await refusal({ 'a.zip': zip }, 'a.zip', { limits: { ...limits, pathBytes: 12 } });
    expect(long.message).toBe(
      'The file is beyond the limit pathBytes (12): the path of entry 2 has 13 bytes.',
    );
    expect(long.place).toEqual({ file: 'a.zip' });
    await refusal({ 'a.zip': zip }, 'a.zip', { limits: { ...limits, fileCount: 1 } });
    const twice = { 'a.csv': CSV, 'b.csv': CSV };
    await stage(twice, '*.csv', { limits: { fileCount: 2, bytes: CSV.length * 2 } });
    await refusal(twice, '*.csv', { limits: { fileCount: 1 } });
  });

  it('is refused when a zip lists far more entries than allowed files', async () => {
    const entries = Array.from({ length: 21 }, (_, index) => ({ name: `f${index}/`, content: '' }));
    const { message } = await refusal({ 'a.zip': makeZip(entries) }, 'a.zip', { limits: { fileCount: 2 } });
    expect(message).toContain('limit fileCount (2)');
  });

  it('is refused when the list of a zip would fill memory, however few files it names', async () => {
    const comment = Buffer.alloc(60_000, 'a');
    const entries = Array.from({ length: 400 }, (_, index) => ({
      name: `${index}.csv`,
      content: CSV,
      comment,
    }));
    const { message, hint } = await refusal({ 'a.zip': makeZip(entries) }, 'a.zip');
    expect(message).toBe(
      'The zip a.zip cannot be read: its list of files takes more than 16 MiB, most of it comments or extra fields.',
    );
    expect(hint).toBe('Create the zip again, without comments.');
  });
});

describe('a zip', () => {
  it('gives its files sorted by name, without folders and system files', async () => {
    const zip = makeZip([
      { name: 'shop/', content: '' },
      { name: 'shop/b.csv', content: 'b\n' },
      { name: '__MACOSX/shop/._b.csv', content: 'junk' },
      { name: 'shop/.DS_Store', content: 'junk' },
      { name: 'shop/a.csv', content: 'a\n', stored: true },
      { name: 'shop/c.csv', content: gzipSync('c\n') },
    ]);
    const { names, contents } = await stage({ 'export.dat': zip }, 'export.dat');
    expect(names).toEqual(['export.dat/shop/a.csv', 'export.dat/shop/b.csv', 'export.dat/shop/c.csv']);
    expect(contents).toEqual(['a\n', 'b\n', 'c\n']);
  });

  it('writes only into the folder, whatever its names are', async (context) => {
    const names = [
      '../../escape.csv',
      '/tmp/escape.csv',
      'C:\\escape.csv',
      '..\\escape.csv',
      'a\u0000\u001b[2J.csv',
    ];
    await using workspace = await workspaceWith({
      'a.zip': makeZip(names.map((name) => ({ name, content: CSV }))),
    });
    const snapshot = await stageSource({ path: 'a.zip' }, workspace);
    expect(snapshot.files.map(({ stored }) => stored)).toEqual(
      names.map((_, index) => `source-000${index + 1}`),
    );
    expect(snapshot.files.map(({ name }) => name).join(' ')).not.toMatch(/\.\.|\/\/|\\|\p{Cc}/u);
    expect(new Set(snapshot.files.map(({ name }) => name)).size).toBe(names.length);
    expect(await workspace.folder.list()).toHaveLength(names.length);
    const { workspaceDir, folder } = workspace;
    const targets = names.flatMap((name) => [resolve(workspaceDir, name), resolve(folder.location, name)]);
    const there = globSync('**/*', { cwd: workspaceDir, withFileTypes: true }).filter((file) =>
      file.isFile(),
    );
    const beside = there.filter(
      ({ parentPath }) => parentPath !== folder.location && parentPath !== workspaceDir,
    );
    figure(context, {
      invariant: 25,
      seed: null,
      fired: { 'names in a zip that lead out': names.length },
      measured: [
        none('escapes', targets.filter((target) => !target.includes('\0') && existsSync(target)).length),
        none('files beside the run', beside.length),
      ],
    });
  });

  it.each([
    ['encrypted', [{ name: 'a.csv', content: CSV, encrypted: true }], /a\.csv is encrypted/],
    ['a link', [{ name: 'a.csv', content: '/etc/passwd', unixMode: 0o120777 }], /is a link/],
    ['packed by an unknown method', [{ name: 'a.csv', content: CSV, method: 14 }], /method 14/],
    ['of wrong checksum', [{ name: 'a.csv', content: CSV, checksum: 1 }], /checksum/],
    ['longer than it says', [{ name: 'a.csv', content: CSV, size: 3 }], /too many bytes/],
    ['nothing', [{ name: 'shop/', content: '' }], /no files/],
    ['a zip again', [{ name: 'a.zip', content: makeZip([{ name: 'a.csv', content: CSV }]) }], /packed again/],
    [
      'an image',
      [{ name: 'a.png', content: Buffer.from('89504e470d0a1a0a', 'hex') }],
      /a\.png is a PNG image/,
    ],
    [
      'a Word document',
      [
        { name: '[Content_Types].xml', content: 'x' },
        { name: 'word/document.xml', content: 'x' },
      ],
      /Word document \(\.docx\)/,
    ],
    [
      'half a workbook',
      [
        { name: '[Content_Types].xml', content: 'x' },
        { name: 'xl/workbook.xml', content: 'x' },
      ],
      /The workbook has no part _rels\/\.rels/,
    ],
    [
      'a broken LibreOffice workbook',
      [
        { name: 'mimetype', content: 'x' },
        { name: 'content.xml', content: 'x' },
      ],
      /The XML is broken in line 1/,
    ],
  ])('is refused when in it is %s', async (_what, entries, message) => {
    expect((await refusal({ 'a.zip': makeZip(entries) }, 'a.zip')).message).toMatch(message);
  });

  it('is refused when it is cut off, or has too many files', async () => {
    const zip = makeZip([
      { name: 'a.csv', content: CSV },
      { name: 'b.csv', content: CSV },
    ]);
    expect((await refusal({ 'a.zip': zip.subarray(0, -30) }, 'a.zip')).message).toContain('cannot be read');
    expect((await refusal({ 'a.zip': zip }, 'a.zip', { limits: { fileCount: 1 } })).message).toContain(
      'limit fileCount (1)',
    );
  });
});

describe('a file of another kind', () => {
  it.each([
    ['an old Excel workbook (.xls) or one with a password', Buffer.from('d0cf11e0a1b11ae1', 'hex')],
    ['a PDF document', Buffer.from('%PDF-1.7\n')],
    ['an HTML page', Buffer.from('\ufeff\n<!DOCTYPE html>\n<html>')],
    ['an HTML page', Buffer.from('<table><tr><td>sku')],
    ['a tar archive', Buffer.concat([Buffer.alloc(257, 'a'), Buffer.from('ustar')])],
    ['a 7z archive', Buffer.from('377abcaf271c', 'hex')],
    ['an HTML page', Buffer.from('\ufeff<html>', 'utf16le')],
  ])('is refused by its kind: %s', async (what, content) => {
    const { message, hint } = await refusal({ 'catalog.csv': content }, 'catalog.csv');
    expect(message).toBe(`The source catalog.csv is ${what}, not a CSV file.`);
    expect(hint).toBeTruthy();
  });

  it('is refused when it is empty', async () => {
    expect((await refusal({ 'catalog.csv': '' }, 'catalog.csv')).message).toContain('is empty');
  });

  it.each(['[Id],name\n1,a\n', '{sku},name\n', '<none>,b\n', '<b>,<i>\n', 'PK,name\n1,2\n', 'BZ,h\n'])(
    'is not every file that begins oddly: %j',
    async (content) => {
      expect((await stage({ 'a.csv': content }, 'a.csv')).contents).toEqual([content]);
    },
  );
});

describe('a file that changes while it is read', () => {
  it('is refused', async () => {
    await using workspace = await workspaceWith({ 'a.csv': CSV });
    let changed: Promise<void> | undefined;
    const staging = stageSource(
      { path: 'a.csv' },
      {
        ...workspace,
        folder: {
          ...workspace.folder,
          async write(name, content) {
            changed ??= appendFile(join(workspace.workspaceDir, 'a.csv'), 'C,3\n');
            await changed;
            return workspace.folder.write(name, content);
          },
        },
      },
    );
    await expect(staging).rejects.toThrow(/a\.csv changed while Storeferry read it/);
    expect(await workspace.folder.list()).toEqual([]);
  });

  const partsWith = (parts: readonly string[]) =>
    workspaceWith(Object.fromEntries(parts.map((rows, at) => [`part-${at + 1}.csv`, `A,B\n${rows}`])));

  /** Stages the parts; calls `then` whenever one has been copied, before its file is compared and closed. */
  const stageParts = (
    workspace: Awaited<ReturnType<typeof partsWith>>,
    then: (copies: number) => unknown,
  ) => {
    let copies = 0;
    const { folder } = workspace;
    const write: typeof folder.write = async (name, content) => {
      const bytes = await folder.write(name, content);
      copies += 1;
      await then(copies);
      return bytes;
    };
    return stageSource({ path: 'part-*.csv' }, { ...workspace, folder: { ...folder, write } });
  };

  const replace = async (path: string, content: string, time?: Date) => {
    await writeFile(`${path}.new`, content);
    if (time !== undefined) await utimes(`${path}.new`, time, time);
    await rename(`${path}.new`, path);
  };

  it('is refused also where it is a part that was read before: a row may have moved from the next one', async () => {
    await using workspace = await partsWith(['1,a\n2,b\n', '3,c\n4,d\n']);
    const staging = stageParts(workspace, async (copies) => {
      if (copies > 1) return;
      await replace(join(workspace.workspaceDir, 'part-1.csv'), 'A,B\n2,b\n3,c\n');
      await replace(join(workspace.workspaceDir, 'part-2.csv'), 'A,B\n4,d\n');
    });
    await expect(staging).rejects.toThrow(/part-1\.csv changed while Storeferry read it/);
    expect(await workspace.folder.list()).toEqual([]);
  });

  it('is refused also where it is the last part: a row may have moved to it from a part that was new', async () => {
    // The first part is the new one, from which the row 2 has moved to the second.
    await using workspace = await partsWith(['1,a\n', '3,c\n4,d\n']);
    const staging = stageParts(workspace, async (copies) => {
      if (copies < 2) return;
      await replace(join(workspace.workspaceDir, 'part-2.csv'), 'A,B\n2,b\n3,c\n4,d\n');
    });
    await expect(staging).rejects.toThrow(/part-2\.csv changed while Storeferry read it/);
    expect(await workspace.folder.list()).toEqual([]);
  });

  it('is read where only its number in the file system is another: some network file systems number anew', async () => {
    await using workspace = await partsWith(['1,a\n', '2,b\n']);
    const path = join(workspace.workspaceDir, 'part-1.csv');
    const written = new Date('2026-01-02T03:04:05Z');
    await utimes(path, written, written);
    const { ino } = await stat(path);
    const snapshot = await stageParts(workspace, async (copies) => {
      if (copies === 2) await replace(path, 'A,B\n1,a\n', written);
    });
    expect((await stat(path)).ino).not.toBe(ino);
    expect(snapshot.files).toHaveLength(2);
  });

  it('may be reached through a link', async () => {
    await using workspace = await workspaceWith({ 'real.csv': CSV });
    await symlink('real.csv', join(workspace.workspaceDir, 'latest.csv'));
    expect((await stageSource({ path: 'latest.csv' }, workspace)).files).toHaveLength(1);
  });

  it('is reported as a link to nothing if it is one', async () => {
    await using workspace = await workspaceWith({ 'real.csv': CSV });
    await symlink('gone.csv', join(workspace.workspaceDir, 'latest.csv'));
    await expect(stageSource({ path: 'latest.csv' }, workspace)).rejects.toMatchObject({
      message: 'The source latest.csv is a link to a file that is not there.',
    });
    // A file above the folders of a glob is no such link.
    await expect(stageSource({ path: '*/real.csv' }, workspace)).rejects.toMatchObject({
      message: 'No file matches the source `*/real.csv`. In the workspace there are: latest.csv, real.csv.',
    });
  });
});
