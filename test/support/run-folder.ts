import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endAll, endWithTest } from './processes.ts';

/** Of vitest's `globalSetup`: what tests write to temporary folders stands in one folder, which ends with the run. */
export default function setup(): () => Promise<void> {
  // A short name: sockets are made in it, whose paths may not be long.
  const folder = mkdtempSync(join(tmpdir(), 'sf-'));
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
