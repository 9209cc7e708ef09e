import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';
import { figure, skipFault } from '../support/figure.ts';
import { atLeast, none } from '../support/measure.ts';
import { startProcess, succeeds } from '../support/processes.ts';
import { seedOf } from '../support/seed.ts';
import { mountSmallDisk, NO_SMALL_DISK } from '../support/small-disk.ts';
import { seededRandom } from '../support/store/random.ts';
import { SCALE } from './scale.ts';

const WRITER = join(import.meta.dirname, 'write-artifacts.ts');
const ENDLESS = 1_000_000;
const DIGEST_LENGTH = 64;

async function temporaryRoot() {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-whole-'));
  return { dir, [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }) };
}

/** Starts a process that writes artifacts; `said` counts the words it prints. */
function startWriter(root: string, rounds: number, through: readonly string[] = []) {
  const [command = '', ...args] = [...through, process.execPath, WRITER, root, String(rounds)];
  const child = startProcess(command, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const said: Record<string, number> = {};
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    for (const word of text.trim().split('\n')) said[word] = (said[word] ?? 0) + 1;
  });
  return { child, said, ended: once(child, 'close') };
}

/** Visible files that do not end with the digest of their content: partly written. */
async function partialFiles(root: string): Promise<string[]> {
  const folder = folderArtifacts(root).run('run-1');
  const partial: string[] = [];
  for (const name of await folder.list()) {
    const text = await readFile(join(folder.location, name), 'utf8');
    const digest = createHash('sha256').update(text.slice(0, -DIGEST_LENGTH)).digest('hex');
    if (text.slice(-DIGEST_LENGTH) !== digest) partial.push(name);
  }
  return partial;
}

describe('an artifact is whole or absent', () => {
  it.concurrent('when its writer is killed at random moments', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    const seed = seedOf(context);
    const random = seededRandom(seed);
    await using root = await temporaryRoot();
    let partial = 0;
    let written = 0;
    for (let kills = 0; kills < SCALE.kills; kills++) {
      const { child, said, ended } = startWriter(root.dir, ENDLESS);
      await once(child.stdout, 'data');
      await sleep(random() * 120);
      child.kill('SIGKILL');
      await ended;
      written += said['written'] ?? 0;
      partial += (await partialFiles(root.dir)).length;
    }
    figure(context, {
      invariant: 19,
      seed,
      fired: { 'SIGKILL while writing': SCALE.kills },
      measured: [none('partial files', partial), atLeast(SCALE.kills, 'files written', written)],
    });
  });

  it.concurrent('when the disk is full', { timeout: SCALE.patienceMs }, async (context) => {
    await using disk = await mountSmallDisk(2);
    if (disk === undefined) {
      skipFault(context, { invariant: 19, reason: NO_SMALL_DISK });
      return;
    }
    const before = startWriter(disk.dir, 3);
    await before.ended;
    await disk.fill();
    const { said, ended } = startWriter(disk.dir, 40);
    await ended;
    const partial = await partialFiles(disk.dir);
    await disk.free();
    const after = startWriter(disk.dir, 5);
    await after.ended;
    const leftovers = (await readdir(join(disk.dir, 'run-1'))).filter((name) => name.endsWith('.tmp'));
    figure(context, {
      invariant: 19,
      seed: null,
      fired: { ENOSPC: said['refused'] ?? 0 },
      measured: [
        none('partial files', partial.length),
        none('leftovers of failed writes', leftovers.length),
        none('errors that are none of ours', said['bug'] ?? 0),
        atLeast(5, 'files written once there is room', after.said['written'] ?? 0),
      ],
    });
  });

  it.concurrent('when the disk fails', { timeout: SCALE.patienceMs }, async (context) => {
    const every = '-e inject=fsync,rename:error=EIO:when=3+4';
    const strace = ['strace', '-f', '-qq', '-o', '/dev/null', ...every.split(' ')];
    const [command = '', ...args] = [...strace, 'true'];
    if (!succeeds(command, ...args)) {
      skipFault(context, {
        invariant: 19,
        reason: 'a disk that fails takes strace, to answer system calls with EIO',
      });
      return;
    }
    await using root = await temporaryRoot();
    const { said, ended } = startWriter(root.dir, 60, strace);
    await ended;
    figure(context, {
      invariant: 19,
      seed: null,
      fired: { 'EIO on fsync or rename': said['refused'] ?? 0 },
      measured: [
        none('partial files', (await partialFiles(root.dir)).length),
        none('errors that are none of ours', said['bug'] ?? 0),
      ],
    });
    expect(said['written']).toBeGreaterThan(0);
  });
});
