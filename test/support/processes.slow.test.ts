import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { markedProcesses } from './marked-processes.ts';
import { runProcess, startProcess } from './processes.ts';
import { hasRedisServer } from './redis.ts';
import { until } from './until.ts';

const VITEST = join(import.meta.dirname, '..', '..', 'node_modules', 'vitest', 'vitest.mjs');
const CONFIG = join(import.meta.dirname, 'left-running', 'vitest.config.ts');

/** A run of its own, of tests that hang when they have started one of each; its temporary files are in `dir`. */
function hangingRun(env: Readonly<Record<string, string>> = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'h-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const started = join(dir, 'started');
  return {
    args: [VITEST, 'run', '--config', CONFIG],
    options: {
      env: {
        PATH: process.env['PATH'],
        NO_COLOR: '1',
        HOME: dir,
        TMPDIR: dir,
        STARTED_FILE: started,
        ...env,
      },
    },
    /** What ran when all was started. */
    started: () => (existsSync(started) ? readFileSync(started, 'utf8').split('\n') : []),
    running: () => markedProcesses(basename(dir)),
    mounted: () => readFileSync('/proc/mounts', 'utf8').includes(basename(dir)),
    folders: () => readdirSync(dir).filter((name) => name.startsWith('sf-')),
  };
}

describe.runIf(process.platform === 'linux' && hasRedisServer())('what a test has started', () => {
  it('ends with it when it times out, before the next one begins', async () => {
    const run = hangingRun();
    const { code, stdout, stderr } = await runProcess(process.execPath, run.args, run.options);
    expect(run.started().length, `${stdout}${stderr}`).toBeGreaterThan(5);
    expect(code, stdout).toBe(1);
    expect(stderr).toContain('Test timed out in 100ms');
    expect(stdout).toMatch(/1 failed \| 1 passed/);
    await until(() => run.running().length === 0);
    expect(run.folders()).toEqual([]);
  });

  it.each(['SIGTERM', 'SIGKILL'] as const)('ends with vitest after %s', async (signal) => {
    const run = hangingRun({ HANGS: 'yes' });
    const vitest = startProcess(process.execPath, run.args, { ...run.options, stdio: 'ignore' });
    await until(() => run.started().length > 5, { everyMs: 50 });
    expect(vitest.kill(signal)).toBe(true);
    await until(() => run.running().length === 0, { everyMs: 50 });
    expect(run.mounted()).toBe(false);
    await until(() => run.folders().length === 0);
  });

  it('ends with the process of a test file that is killed', async () => {
    const run = hangingRun({ HANGS: 'yes' });
    const vitest = startProcess(process.execPath, run.args, { ...run.options, stdio: 'ignore' });
    await until(() => run.started().length > 5, { everyMs: 50 });
    const [worker = ''] = run.running().filter((line) => line.includes('workers/forks'));
    process.kill(Number.parseInt(worker, 10), 'SIGKILL');
    await until(() => run.running().every((line) => line.includes('vitest')), { everyMs: 50 });
    vitest.kill('SIGKILL');
    await until(() => run.running().length === 0, { everyMs: 50 });
  });
});
