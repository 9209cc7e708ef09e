import { join } from 'node:path';
import type { TestUserConfig } from 'vitest/config';
import LongestFirst from './longest-first.ts';
import { runProcess } from './processes.ts';

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'cli', 'main.ts');

/** What two commands that start at once take on a quiet machine with two cores: the limits of tests hold for it. */
const QUIET_MS = 400;
const ROUNDS = 3;

/** A machine that is slower than this has another problem, which a limit should show. */
const MOST = 20;

/** A test that hangs ends by them; no test is meant to come near, however busy the machine becomes after it was measured. */
const TEST_MS = 300_000;
const POLL_MS = 120_000;

/** How many times slower this machine is now than a quiet one, at least 1. */
async function measureSlowness(): Promise<number> {
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now();
    await Promise.all([0, 1].map(() => runProcess(process.execPath, [MAIN, '--version'])));
    rounds.push(performance.now() - startedAt);
  }
  const median = rounds.sort((one, other) => one - other)[ROUNDS >> 1] ?? QUIET_MS;
  return Math.min(MOST, Math.max(1, median / QUIET_MS));
}

/** The options that every run of tests shares; its limits are scaled to the machine (`patience` in pace.ts). */
export async function runOptions(): Promise<TestUserConfig> {
  const slowness = await measureSlowness();
  return {
    // Tests mostly wait for processes they have started: on two cores vitest's own choice of one worker would idle.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    globalSetup: [join(import.meta.dirname, 'run-folder.ts')],
    setupFiles: ['end-with-tests.ts', 'fixed-seed.ts'].map((file) => join(import.meta.dirname, file)),
    env: { STOREFERRY_TEST_SLOWNESS: slowness.toFixed(2) },
    testTimeout: TEST_MS * slowness,
    hookTimeout: TEST_MS * slowness,
    expect: { poll: { timeout: POLL_MS * slowness, interval: 20 } },
  };
}
