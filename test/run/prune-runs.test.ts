import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { RUN_STATUSES } from '../../src/model/run.ts';
import { pruneRuns, RUNS_KEPT, runsToPrune } from '../../src/run/end-run.ts';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';
import { openState } from '../../src/state/open-state.ts';
import { range, sampleRun } from '../state/samples.ts';

const root = mkdtempSync(join(tmpdir(), 'storeferry-prune-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

describe('the runs to prune', () => {
  it('are those behind the newest 20, never one under way, nor the last that was completed', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...RUN_STATUSES), { maxLength: 40 }), (statuses) => {
        const runs = statuses.map((status, index) => sampleRun({ id: `run-${index}`, status, digest: null }));
        const pruned = new Set(runsToPrune(runs).map(({ id }) => id));
        const completed = statuses.findIndex((status) => status === 'done' || status === 'done-with-rejects');
        for (const [index, { id, status }] of runs.entries()) {
          expect(pruned.has(id)).toBe(index >= RUNS_KEPT && index !== completed && status !== 'running');
        }
      }),
    );
  });

  it('are none that the next run continues or is compared with, however many plans were made since', () => {
    const old = [
      sampleRun({ id: 'failed', status: 'failed', digest: 'd' }),
      sampleRun({ id: 'interrupted', kind: 'retry', status: 'interrupted', digest: 'd' }),
      sampleRun({ id: 'unread', status: 'failed', digest: null }),
      sampleRun({ id: 'plan', kind: 'plan', status: 'failed', digest: 'd' }),
      sampleRun({ id: 'done', status: 'done', digest: 'd' }),
      sampleRun({ id: 'earlier', status: 'done', digest: 'd' }),
    ];
    const plans = range(RUNS_KEPT).map((n) =>
      sampleRun({ id: `plan-${n}`, kind: 'plan', status: 'planned' }),
    );
    expect(runsToPrune([...plans, ...old]).map(({ id }) => id)).toEqual(['unread', 'plan', 'earlier']);
  });

  it('are removed with their files, those of other jobs excepted, whatever their clock said', async () => {
    await using state = await openState({ redisUrl: '', dir: join(root, '.storeferry') });
    const artifacts = folderArtifacts(join(root, 'artifacts'));
    for (const index of range(5)) {
      for (const job of ['nightly', 'weekly']) {
        const run = sampleRun({ id: `${job}-${index}`, job, startedAt: 9_000 - index, status: 'done' });
        await state.runs.create(run);
        await artifacts.run(run.id).write('summary.json', ['{}']);
      }
    }
    expect((await pruneRuns(state, artifacts, 'nightly', 3)).sort()).toEqual(['nightly-0', 'nightly-1']);
    const left = (await state.runs.list({ limit: 50 })).map(({ id }) => id);
    expect(left).toHaveLength(8);
    expect(left).not.toContain('nightly-0');
    expect(await artifacts.run('nightly-1').exists('summary.json')).toBe(false);
    expect(await artifacts.run('nightly-2').exists('summary.json')).toBe(true);
    expect(await pruneRuns(state, artifacts, 'nightly', 3)).toEqual([]);
  });
});
