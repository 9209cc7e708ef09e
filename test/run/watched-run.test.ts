import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import type { RunContext } from '../../src/run/run-context.ts';
import { watchedRun } from '../../src/run/run-pipeline.ts';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import { sampleRun } from '../state/samples.ts';

const LOOK_MS = 1_000;

afterEach(() => vi.useRealTimers());

it('writes no progress once its watch has ended, not even what was on its way', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'storeferry-watched-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await using state = await openSqliteState(folder);
  const run = sampleRun();
  await state.runs.create(run);
  const { promise: mayGo, resolve: letGo } = Promise.withResolvers<void>();
  let writes = 0;
  const context: RunContext = {
    workspaceDir: folder,
    state: {
      ...state,
      runs: {
        ...state.runs,
        async update(...args) {
          writes += 1;
          await mayGo;
          return await state.runs.update(...args);
        },
      },
    },
    artifacts: folderArtifacts(folder),
    version: '1.0.0',
    clock: Date.now,
    redact: (text) => text,
    newRunId: () => 'run-2',
    openStorefront: () => {
      throw new Error('no store is asked');
    },
    onEvent: () => {},
    signal: new AbortController().signal,
  };
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  using watched = watchedRun(context, run);
  const progress = (done: number) =>
    watched.context.onEvent({ type: 'progress', step: 'apply', done, total: 10, unit: 'requests' });

  progress(4);
  await vi.advanceTimersByTimeAsync(LOOK_MS);
  expect(writes).toBe(1);

  let ended = false;
  const end = watched.end().then(() => {
    ended = true;
  });
  progress(5);
  await vi.advanceTimersByTimeAsync(3 * LOOK_MS);
  expect(ended).toBe(false);
  letGo();
  await end;
  expect((await state.runs.get(run.id))?.progress).toMatchObject({ done: 4 });

  await state.runs.update(run.id, { status: 'done', progress: null });
  progress(6);
  await vi.advanceTimersByTimeAsync(3 * LOOK_MS);
  expect(writes).toBe(1);
  expect((await state.runs.get(run.id))?.progress).toBeNull();
});
