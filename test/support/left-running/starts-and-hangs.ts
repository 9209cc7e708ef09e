import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { CHROMIUM, openBrowser } from '../browser.ts';
import { catalogWorkspace } from '../catalog.ts';
import { markedProcesses } from '../marked-processes.ts';
import { startProcess, succeeds } from '../processes.ts';
import { startAtTerminal } from '../pseudo-terminal.ts';
import { startRedis } from '../redis.ts';
import { startS3 } from '../s3-server.ts';
import { mountSmallDisk } from '../small-disk.ts';
import { SSHD, startSshd } from '../sshd.ts';
import { startStore } from '../store.ts';
import { until } from '../until.ts';
import { makeWorkspace } from '../workspace.ts';

const { STARTED_FILE: startedFile = '', HANGS: hangs = '' } = process.env;

/** What runs for this file besides itself and vitest: all has the folder of the run in its environment or words. */
const running = () => markedProcesses(basename(tmpdir())).filter((line) => !/vitest|reaper\.sh/.test(line));
let endpoint = '';

async function startAll(): Promise<void> {
  const redis = await startRedis();
  const store = await startStore({ seed: 1 });
  const workspace = await makeWorkspace(catalogWorkspace(store.baseUrl, ''), {
    STORE_API_KEY: store.apiKey,
    REDIS_URL: redis.url,
  });
  await workspace.start('worker').printed('"ready"');
  startAtTerminal(['init'], { cwd: workspace.dir });
  // One that does not hear SIGTERM, one that is stopped, and a child that its parent has left.
  startProcess('sh', ['-c', 'trap "" TERM HUP; while :; do sleep 1; done'], { stdio: 'ignore' });
  startProcess('sleep', ['1000'], { stdio: 'ignore' }).kill('SIGSTOP');
  startProcess('sh', ['-c', 'sleep 1001 &'], { stdio: 'ignore' });
  ({ endpoint } = await startS3());
  await mountSmallDisk(1);
  if (succeeds(CHROMIUM, '--version')) await openBrowser();
  if (succeeds('test', '-x', SSHD)) await startSshd();
}

beforeEach(async ({ task }) => {
  if (!task.name.startsWith('starts')) return;
  await startAll();
  writeFileSync(startedFile, running().join('\n'));
});

it('starts all kinds of processes and hangs', { timeout: hangs === '' ? 100 : 600_000 }, async () => {
  await until(() => false, { withinMs: 600_000 });
});

it('finds nothing of them left', { timeout: 60_000 }, async () => {
  // What a browser has started ends by itself soon after it.
  await until(() => running().length === 0, { withinMs: 30_000 });
  expect(succeeds('grep', basename(tmpdir()), '/proc/mounts')).toBe(false);
  await expect(fetch(endpoint)).rejects.toThrow();
});
