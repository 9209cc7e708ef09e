import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Mapped } from '../../src/model/mapped-record.ts';
import type { Plan } from '../../src/model/plan.ts';
import { readShard } from '../../src/plan/plan-file.ts';
import { planImport } from '../../src/plan/plan-import.ts';
import type { RunFolder } from '../../src/state/artifacts.ts';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import type { State } from '../../src/state/state.ts';
import { aRun } from '../report/run-facts.ts';
import { NO_LIMITS, product, record } from './plan-of.ts';

const TARGET = { storeId: '//localhost:3999', resource: 'products' } as const;

let home: string;
let state: State;

beforeEach(async () => {
  home = await mkdtemp(join(tmpdir(), 'plan-'));
  state = await openSqliteState(join(home, 'state'));
});

afterEach(async () => {
  await state[Symbol.asyncDispose]();
  await rm(home, { recursive: true });
});

function catalog(from: number, to: number, changed: readonly number[] = []): Mapped[] {
  return Array.from({ length: to - from }, (_, index) => from + index).map((number) => {
    const changes = changed.includes(number) ? { title: 'Changed' } : {};
    return record(`p${number}`, product(`p${number}`, changes), { line: number + 2 });
  });
}

async function planned(id: string, mapped: readonly Mapped[]): Promise<{ plan: Plan; folder: RunFolder }> {
  const folder = folderArtifacts(join(home, 'artifacts')).run(id);
  const plan = await planImport({
    run: id,
    job: {
      name: 'nightly-catalog',
      import: 'products',
      mode: 'mirror',
      duplicates: 'reject',
      safety: NO_LIMITS,
    },
    async *openMapped() {
      yield mapped;
    },
    describeSource: () => ({ files: [], columnsNotUsed: [], dates: null }),
    ledger: state.ledger(TARGET),
    folder,
    origin: { kind: 'source' },
    resend: false,
    keyDigest: null,
    previous: { rows: null, keyDigest: null },
    signal: new AbortController().signal,
    onProgress: () => {},
  });
  return { plan, folder };
}

/** Records every operation as applied, as if a store had answered. */
async function acknowledge(id: string, { plan, folder }: { plan: Plan; folder: RunFolder }): Promise<void> {
  const run = aRun({ id, status: 'running', ...TARGET });
  await state.runs.create(run);
  for (const shard of plan.shards) {
    const { number } = shard;
    const results = (await readShard(folder, shard)).map((operation) => ({
      operation,
      outcome: {
        kind: 'applied',
        id: operation.kind === 'delete-product' ? null : 1000 + operation.index,
      } as const,
    }));
    await state.runs.record(run, number, results, results.length);
  }
}

describe('with the ledger in SQLite and the folder on disk', () => {
  it('the next run plans only what is different', async () => {
    const first = await planned('run-1', catalog(0, 500));
    expect(first.plan.counts).toMatchObject({ new: { records: 500 }, removed: 0 });
    await acknowledge('run-1', first);

    expect((await planned('run-2', catalog(0, 500))).plan.shards).toEqual([]);

    const third = await planned('run-3', catalog(3, 510, [10, 11]));
    expect(third.plan.counts).toMatchObject({
      new: { records: 10 },
      changed: { records: 2 },
      unchanged: { records: 495 },
      removed: 3,
      deletes: 3,
    });
    expect(third.plan.fieldsChanged).toMatchObject([{ field: 'title', records: 2 }]);
    expect(third.plan.shards.reduce((sum, { operations }) => sum + operations, 0)).toBe(15);
    await acknowledge('run-3', third);
    expect((await planned('run-4', catalog(3, 510, [10, 11]))).plan.shards).toEqual([]);
  });

  it('writes one line per operation: what is known of it, a tab, and the body as it is sent', async () => {
    const { plan, folder } = await planned('run-1', catalog(0, 2));
    const shard = await readFile(join(folder.location, plan.shards[0]?.name ?? ''), 'utf8');
    const [meta = '', body = ''] = (shard.split('\n')[1] ?? '').split('\t');
    expect(JSON.parse(meta)).toMatchObject({
      kind: 'upsert-product',
      key: 'p1',
      rows: 1,
      spans: [[0, 3, 3]],
    });
    expect(body).toBe(JSON.stringify(product('p1')));
  });
});
