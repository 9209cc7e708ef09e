import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import { StateError } from '../../src/model/errors.ts';
import { folderArtifacts } from '../../src/state/artifacts-folder.ts';
import { openArtifacts } from '../../src/state/open-artifacts.ts';

const root = mkdtempSync(join(tmpdir(), 'storeferry-artifacts-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let made = 0;
const freshRoot = () => join(root, String(++made));

describe('artifacts in a folder', () => {
  it('come back as they were written, with their size', async () => {
    const folder = folderArtifacts(freshRoot()).run('run-1');
    const bytes = await folder.write('shard-00001.jsonl', ['{"a":1}\n', Buffer.from('käse\n'), '']);
    expect(bytes).toBe(Buffer.byteLength('{"a":1}\nkäse\n'));
    expect(await text(await folder.read('shard-00001.jsonl'))).toBe('{"a":1}\nkäse\n');
    expect(await folder.exists('shard-00001.jsonl')).toBe(true);
    expect(await folder.exists('shard-00002.jsonl')).toBe(false);
  });

  it('may be empty, large, and written again', async () => {
    const folder = folderArtifacts(freshRoot()).run('run-1');
    expect(await folder.write('empty', [])).toBe(0);
    expect(await text(await folder.read('empty'))).toBe('');
    const lines = Array.from({ length: 50_000 }, (_, line) => `line ${line}\n`);
    await folder.write('large', lines);
    expect(await text(await folder.read('large'))).toBe(lines.join(''));
    await folder.write('large', ['small now']);
    expect(await text(await folder.read('large'))).toBe('small now');
  });

  it('are listed by name, removed one by one, and with their run', async () => {
    const artifacts = folderArtifacts(freshRoot());
    const folder = artifacts.run('run-1');
    expect(await folder.list()).toEqual([]);
    for (const name of ['b', 'a.jsonl', 'c-1']) await folder.write(name, [name]);
    expect(await folder.list()).toEqual(['a.jsonl', 'b', 'c-1']);
    await folder.remove(['b', 'absent']);
    expect(await folder.list()).toEqual(['a.jsonl', 'c-1']);
    await artifacts.remove('run-1');
    await artifacts.remove('run-1');
    expect(existsSync(folder.location)).toBe(false);
  });

  it('belong to their user alone', async () => {
    const folder = folderArtifacts(freshRoot()).run('run-1');
    await folder.write('rejects.csv', ['personal data']);
    expect(statSync(folder.location).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder.location, 'rejects.csv')).mode & 0o777).toBe(0o600);
  });

  it('are absent while they are being written, and stay so when their content fails', async () => {
    const folder = folderArtifacts(freshRoot()).run('run-1');
    let seen: readonly string[] | undefined;
    const failing = async function* () {
      yield 'x'.repeat(1_000_000);
      seen = await folder.list();
      throw new RangeError('content fails');
    };
    await expect(folder.write('shard', failing())).rejects.toThrow(RangeError);
    expect(seen).toEqual([]);
    expect(readdirSync(folder.location)).toEqual([]);
  });

  it('keep what they were when writing them again fails', async () => {
    const folder = folderArtifacts(freshRoot()).run('run-1');
    await folder.write('plan', ['first']);
    const failing = function* () {
      yield 'second';
      throw new Error('stop');
    };
    await expect(folder.write('plan', failing())).rejects.toThrow('stop');
    expect(await text(await folder.read('plan'))).toBe('first');
  });

  it('leave nothing behind on a full disk, and say what to do', async () => {
    const folder = freshRoot();
    const script = join(import.meta.dirname, 'fill-artifact.ts');
    const command = `trap '' XFSZ; ulimit -f 100; exec "$@"`;
    const child = spawn('bash', ['-c', command, 'bash', process.execPath, script, folder]);
    const [output] = await Promise.all([text(child.stdout), once(child, 'close')]);
    expect(JSON.parse(output)).toMatchObject({
      error: 'StateError',
      hint: expect.stringContaining('Make room'),
    });
    expect(readdirSync(join(folder, 'run-1'))).toEqual(['before']);
  });

  it('ignore and sweep what a dead writer left, and spare what another is writing', async () => {
    const artifacts = freshRoot();
    const location = join(artifacts, 'run-1');
    mkdirSync(location, { recursive: true });
    const [abandoned, recent] = ['.shard.old.tmp', '.shard.new.tmp'];
    for (const name of [abandoned, recent]) writeFileSync(join(location, name), 'half');
    const twoHoursAgo = Date.now() / 1_000 - 7_200;
    utimesSync(join(location, abandoned), twoHoursAgo, twoHoursAgo);
    const folder = folderArtifacts(artifacts).run('run-1');
    expect(await folder.list()).toEqual([]);
    await folder.write('shard', ['whole']);
    expect(await folder.list()).toEqual(['shard']);
    expect(readdirSync(location).sort()).toEqual([recent, 'shard']);
  });

  it.each(['', '.', '..', '../run-2', 'a/b', '/etc/passwd', 'a\\b', 'a\0b', '.hidden', 'ä', 'x'.repeat(300)])(
    'refuse the name %j, which may lead elsewhere',
    async (name) => {
      const artifacts = folderArtifacts(freshRoot());
      expect(() => artifacts.run(name)).toThrow(StateError);
      await expect(artifacts.remove(name)).rejects.toThrow(StateError);
      const folder = artifacts.run('run-1');
      await expect(folder.write(name, ['x'])).rejects.toThrow(StateError);
      await expect(folder.read(name)).rejects.toThrow(StateError);
      await expect(folder.exists(name)).rejects.toThrow(StateError);
      await expect(folder.remove([name])).rejects.toThrow(StateError);
    },
  );

  it('refuse to read what is absent or leads elsewhere by a link', async () => {
    const folder = folderArtifacts(freshRoot()).run('run-1');
    await folder.write('here', ['x']);
    await expect(folder.read('absent')).rejects.toThrow(/absent cannot be read: it does not exist/);
    symlinkSync('/etc/hostname', join(folder.location, 'link'));
    await expect(folder.read('link')).rejects.toThrow(StateError);
  });

  it('cannot be written where a file is in the way', async () => {
    const place = freshRoot();
    writeFileSync(place, '');
    await expect(folderArtifacts(place).run('run-1').write('shard', ['x'])).rejects.toThrow(StateError);
  });
});

describe('ARTIFACTS_URL', () => {
  const locationOf = (url: string | undefined) => openArtifacts(url, '/workspace').run('run-1').location;

  it('is a folder of the workspace unless it names another one', () => {
    expect(locationOf(undefined)).toBe('/workspace/.storeferry/artifacts/run-1');
    expect(locationOf('')).toBe('/workspace/.storeferry/artifacts/run-1');
    expect(locationOf('shared')).toBe('/workspace/shared/run-1');
    expect(locationOf('/mnt/shared')).toBe('/mnt/shared/run-1');
    expect(locationOf(pathToFileURL('/mnt/sha red').href)).toBe('/mnt/sha red/run-1');
  });

  it('may not be what this version cannot use, and is not shown', () => {
    for (const url of ['s3://key:secret-1@bucket/prefix', 'https://host/secret-1', 'file://host/secret-1']) {
      expect(() => locationOf(url)).toThrow(StateError);
      expect(() => locationOf(url)).not.toThrow(/secret-1/);
    }
  });
});
