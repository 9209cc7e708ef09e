import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Run } from '../../src/model/run.ts';
import {
  keepReport,
  readKeptReport,
  readRunReport,
  readStoredReport,
} from '../../src/run/report/read-stored-report.ts';
import type { RunContext } from '../../src/run/run-context.ts';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import { aRun } from '../report/run-facts.ts';

const REFUSED = 100_000;
const A_SHARD = 500;
const ENDED = aRun({ status: 'done-with-rejects', finishedAt: 2_000 });

let dir: string;
let stack: AsyncDisposableStack;
let context: RunContext;

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'storeferry-kept-'));
  stack = new AsyncDisposableStack();
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const state = stack.use(await openSqliteState(join(dir, 'state')));
  const artifacts = folderArtifacts(join(dir, 'artifacts'));
  context = {
    ...{ state, artifacts, workspaceDir: dir, version: '1', clock: () => 3_000, newRunId: () => 'id' },
    ...{ redact: String, onEvent: () => {}, signal: new AbortController().signal },
    openStorefront: () => Promise.reject(new Error('nothing is sent')),
  };
  await state.runs.create(ENDED);
});
afterEach(async () => {
  await stack.disposeAsync();
});

async function refuse(run: Run, shard: number, count: number): Promise<void> {
  const results = Array.from({ length: count }, (_, index) => ({
    operation: {
      kind: 'upsert-product' as const,
      index,
      key: `p${shard}-${index}`,
      rows: 1,
      spans: [{ file: 0, from: shard * A_SHARD + index + 2, to: shard * A_SHARD + index + 2 }],
      body: '{}',
      fingerprint: 'f',
      knownId: null,
    },
    outcome: { kind: 'rejected' as const, reason: { code: 'store-422', message: 'Not today' } },
  }));
  await context.state.runs.record(run, shard, results, count);
}

describe('the report of a run that has ended', () => {
  it('is collected once: a hundred thousand refusals are not read again for each page', async () => {
    for (let shard = 1; shard <= REFUSED / A_SHARD; shard++) await refuse(ENDED, shard, A_SHARD);
    const collected = await readRunReport(context, ENDED, null);
    expect(collected.refusals[0]?.records).toBe(REFUSED);
    expect(await keepReport(context.artifacts.run(ENDED.id), 2_000, collected)).toBe(true);

    const asked: PropertyKey[] = [];
    const runs = new Proxy(context.state.runs, {
      get(target, name) {
        asked.push(name);
        return Reflect.get(target, name);
      },
    });
    const state = { ...context.state, runs };
    expect(await readStoredReport({ ...context, state }, ENDED)).toEqual(collected);
    expect(asked).toEqual([]);
    await readRunReport({ ...context, state }, ENDED, null);
    expect(asked).not.toEqual([]);
  });

  it('is collected again when it was continued since, when it is under way, and when what was kept is damaged', async () => {
    await refuse(ENDED, 1, 3);
    const folder = context.artifacts.run(ENDED.id);
    const collected = await readRunReport(context, ENDED, null);
    await keepReport(folder, 2_000, { ...collected, refusals: [] });
    expect((await readStoredReport(context, ENDED)).refusals).toEqual([]);

    for (const run of [
      { ...ENDED, finishedAt: 2_500 },
      { ...ENDED, status: 'running' as const },
      { ...ENDED, finishedAt: null },
    ]) {
      expect((await readStoredReport(context, run)).refusals).toEqual(collected.refusals);
    }
    await folder.write('report.json', ['{"version":1']);
    expect(await readKeptReport(folder, 2_000)).toBeUndefined();
    expect((await readStoredReport(context, ENDED)).refusals).toEqual(collected.refusals);
  });
});
