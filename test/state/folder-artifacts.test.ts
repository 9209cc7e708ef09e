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
import { afterAll, describe, expect, it } from 'vitest';
import { StateError } from '../../src/model/storeferry-error.ts';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';
import { runProcess } from '../support/processes.ts';
import { describeArtifacts } from './artifacts-suite.ts';

const root = mkdtempSync(join(tmpdir(), 'storeferry-artifacts-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let made = 0;
const freshRoot = () => join(root, String(++made));

describe('artifacts in a folder', () => {
  describeArtifacts(() => folderArtifacts(freshRoot()));

  it('belong to their user alone', async () => {
    const folder = folderArtifacts(freshRoot()).run('run-1');
    await folder.write('rejects.csv', ['personal data']);
    expect(statSync(folder.location).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder.location, 'rejects.csv')).mode & 0o777).toBe(0o600);
  });

  it('leave no file behind when their content fails, or their run is removed', async () => {
    const artifacts = folderArtifacts(freshRoot());
    const folder = artifacts.run('run-1');
    const failing = function* () {
      yield 'x'.repeat(1_000_000);
      throw new RangeError('content fails');
    };
    await expect(folder.write('shard', failing())).rejects.toThrow(RangeError);
    expect(readdirSync(folder.location)).toEqual([]);
    await artifacts.remove('run-1');
    expect(existsSync(folder.location)).toBe(false);
  });

  it('leave nothing behind on a full disk, and say what to do', async () => {
    const folder = freshRoot();
    const script = join(import.meta.dirname, 'fill-artifact.ts');
    const command = `trap '' XFSZ; ulimit -f 100; exec "$@"`;
    const { stdout } = await runProcess('bash', ['-c', command, 'bash', process.execPath, script, folder]);
    expect(JSON.parse(stdout)).toMatchObject({
      error: 'StateUnavailableError',
      hint: expect.stringContaining('Free disk space'),
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

  it('refuse to read what leads elsewhere by a link', async () => {
    const folder = folderArtifacts(freshRoot()).run('run-1');
    await folder.write('here', ['x']);
    symlinkSync('/etc/hostname', join(folder.location, 'link'));
    await expect(folder.read('link')).rejects.toThrow(StateError);
  });

  it('cannot be written where a file is in the way', async () => {
    const place = freshRoot();
    writeFileSync(place, '');
    const folder = folderArtifacts(place).run('run-1');
    await expect(folder.write('shard', ['x'])).rejects.toThrow(StateError);
    // A worker keeps a folder for as long as it lives.
    rmSync(place);
    await folder.write('shard', ['x']);
    expect(await folder.list()).toEqual(['shard']);
  });
});
