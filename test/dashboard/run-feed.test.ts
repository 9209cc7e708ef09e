import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type LiveProgress, runFeed } from '../../src/dashboard/run-feed.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import { jobLockName } from '../../src/state/state.ts';
import { sampleRun } from '../state/samples.ts';
import { until } from '../support/until.ts';

it('says from its first figure on how long a run takes that was under way before anybody looked', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-feed-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await using state = await openSqliteState(folder);
  const run = sampleRun({ step: 'plan' });
  await state.runs.create(run);
  // As its process does: a run whose job nobody holds has died.
  const lock = await state.locks.tryAcquire(jobLockName(run.job), { run: run.id, job: run.job });
  expect(lock).not.toHaveProperty('heldBy');
  let now = 0;
  using feed = runFeed({ state }, { pollMs: 1, clock: () => now });
  const seen: LiveProgress[] = [];
  feed.watch(run.id, (_event, progress) => seen.push(progress));
  await until(() => seen.length > 0);

  const shown: LiveProgress['words'][] = [];
  for (let second = 0; second <= 15; second++) {
    now = second * 1_000;
    const done = 3_000 + Math.floor(2.5 * second);
    const progress = {
      step: 'apply',
      done,
      total: 3_500,
      unit: 'requests',
      applied: done,
      rejected: 0,
      at: now,
    } as const;
    await state.runs.update(run.id, { step: 'apply', progress });
    const from = seen.length;
    await until(() => seen.slice(from + 1).some((one) => one.done === done));
    const latest = seen.at(-1);
    if (latest !== undefined) shown.push(latest.words);
  }
  expect(shown[0]).toEqual({ percent: '85%', figures: '3,000 of 3,500 requests', rate: '', left: '' });
  for (const { rate, left } of shown.slice(1)) {
    expect(Number.parseFloat(rate)).toBeGreaterThanOrEqual(2);
    expect(Number.parseFloat(rate)).toBeLessThanOrEqual(3);
    expect(left).toMatch(/^[234] min( \d+ s)? left$/);
  }
});
