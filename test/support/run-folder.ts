import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endAll, endWithTest, succeeds } from './processes.ts';

/** Linux's folder in memory. Tests wait long for a disk: each database, and each Redis, writes its changes through. */
const IN_MEMORY = '/dev/shm';
/** More than the tests of several runs at once were seen to hold, 4 GiB; a container often gives it 64 MiB. */
const ENOUGH_BYTES = 6 * 1024 ** 3;

/** Of vitest's `globalSetup`: what tests write to temporary folders stands in one folder, which ends with the run. */
export default function setup(): () => Promise<void> {
  // A short name: sockets are made in it, whose paths may not be long.
  const folder = folderInMemory() ?? mkdtempSync(join(tmpdir(), 'sf-'));
  const { TMPDIR: before } = process.env;
  // The thread of a database that a test opens starts from it: otherwise the types of its modules are stripped each time.
  process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'node-compile-cache');
  process.env['TMPDIR'] = folder;
  const end = () => {
    if (before === undefined) delete process.env['TMPDIR'];
    else process.env['TMPDIR'] = before;
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  };
  // Where vitest was killed, those that write to it are killed at the same time.
  endWithTest(end, `for again in 1 2 3 4 5; do rm -rf '${folder}' && break; sleep 1; done`);
  return endAll;
}

/** A folder in memory; undefined where there is none with enough room whose files may be executed. */
function folderInMemory(): string | undefined {
  let folder: string | undefined;
  try {
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    if (bavail * bsize < ENOUGH_BYTES) return undefined;
    folder = mkdtempSync(join(IN_MEMORY, 'sf-'));
    const script = join(folder, 'script');
    writeFileSync(script, '#!/bin/sh\n', { mode: 0o700 });
    if (succeeds(script)) return folder;
  } catch {
    // As on systems without it.
  }
  if (folder !== undefined) rmSync(folder, { recursive: true });
  return undefined;
}
