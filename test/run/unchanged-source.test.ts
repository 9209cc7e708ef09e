import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Run, RunTotals } from '../../src/model/run.ts';
import { runDigest, type SettledRun, settledRun, unchangedTotals } from '../../src/run/import/stage-step.ts';
import { openMapping } from '../../src/run/inputs/open-mapping.ts';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import type { State } from '../../src/state/state.ts';
import { JOB, MAPPING, workspace } from '../config/support.ts';
import { sampleRun } from '../state/samples.ts';

const TOTALS: RunTotals = {
  rows: 12,
  records: 10,
  new: 3,
  changed: 4,
  unchanged: 2,
  removed: 5,
  operations: 12,
  applied: 7,
  deleted: 5,
  rejected: 0,
  skipped: 1,
  unsent: 0,
  held: 0,
  requests: 13,
  fieldsChanged: { title: 4 },
  inRows: { applied: 8, unchanged: 2, rejected: 0, skipped: 2, unsent: 0, held: 0 },
};
const SOURCE = { version: 'v1', sha256: 'aa' };
const VERSION = '1.0.0';

interface Setup {
  /** Of the job file, instead of the usual one. */
  readonly job?: string;
  readonly mapping?: string;
  /** Of the last run. */
  readonly last?: Partial<Run>;
  /** Runs that had ended before the last one began. */
  readonly before?: readonly Partial<Run>[];
  /** Runs that ended after it had begun, whatever their clock said; `finishedAt` null: that are at work. */
  readonly others?: readonly Partial<Run>[];
  /** Of the run that asks. */
  readonly now?: Partial<Run>;
  readonly version?: string;
}

async function known({
  job,
  mapping,
  last = {},
  before = [],
  others = [],
  now = {},
  version = VERSION,
}: Setup = {}) {
  const usual = JOB.replace('path: in.csv', 'url: "https://x.example/a.csv"');
  const requestOf = async (text: string, spec: string) => {
    const found = workspace({ 'jobs/nightly.yaml': text, 'mappings/goods.yaml': spec });
    const read = found.job('nightly');
    if (read.kind !== 'import') throw new Error('no import');
    const opened = await openMapping(found.mapping(read.mapping), read, found.fileAccess());
    return { job: read, store: found.store('main'), mapping: opened, resend: false };
  };
  const usually = await requestOf(usual, mapping ?? MAPPING);
  const request = await requestOf(job ?? usual, mapping ?? MAPPING);
  const done = sampleRun({
    ...{ id: 'last', status: 'done', startedAt: 1_000, finishedAt: 2_000, totals: TOTALS, source: SOURCE },
    digest: runDigest(VERSION, usually, sampleRun(), SOURCE.sha256, null),
    ...last,
  });
  const run = sampleRun({ id: 'now', startedAt: 9_000, digest: null, ...now });
  const all = [
    ...before.map((other, index) => sampleRun({ id: `before-${index}`, ...other })),
    done,
    ...others.map((other, index) => sampleRun({ id: `other-${index}`, ...other })),
    run,
  ];
  for (const each of all) {
    await state.runs.create(each);
    if (each.finishedAt !== null) await state.runs.update(each.id, { finishedAt: each.finishedAt });
  }
  const artifacts = folderArtifacts(join(dir, 'artifacts'));
  const settled = await settledRun({ state, artifacts }, request, run);
  for (const { id } of all) await state.runs.remove(id);
  const digest = runDigest(version, request, run, (settled?.source ?? SOURCE).sha256, null);
  return settled?.digest === digest ? settled.id : undefined;
}

let dir: string;
let state: State;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'storeferry-unchanged-'));
  state = await openSqliteState(dir);
});
afterAll(async () => {
  await state[Symbol.asyncDispose]();
  await rm(dir, { recursive: true, force: true });
});

describe('the run that makes another one unnecessary', () => {
  it('is the last of its job, done, with the same bytes', async () => {
    expect(await known()).toBe('last');
  });

  it.each<[string, Setup]>([
    ['left rejects', { last: { status: 'done-with-rejects' } }],
    ['failed', { last: { status: 'failed' } }],
    ['is still running', { last: { status: 'running' } }],
    ['had another digest', { last: { digest: 'other' } }],
    ['was a retry', { last: { kind: 'retry' } }],
    ['read other bytes', { last: { source: { version: 'v1', sha256: 'bb' } } }],
  ])('is none where the last %s', async (_name, setup) => {
    expect(await known(setup)).toBeUndefined();
  });

  it.each<[string, Setup]>([
    ['a plan', { now: { kind: 'plan' } }],
    ['what is sent again', { now: { resend: true } }],
    ['another source', { job: JOB }],
    [
      'a job that looks at images',
      { job: `${JOB.replace('path: in.csv', 'url: "https://x.example/a.csv"')}images: { check: warn }\n` },
    ],
    [
      'another job file',
      { job: `${JOB.replace('path: in.csv', 'url: "https://x.example/a.csv"')}duplicates: last\n` },
    ],
    ['another address', { job: JOB.replace('path: in.csv', 'url: "https://x.example/b.csv"') }],
    ['another version of Storeferry', { version: '2.0.0' }],
    [
      'a mapping that looks at the clock',
      { mapping: MAPPING.replace('price: price }', 'regular: price, sale: price, from: name }') },
    ],
  ])('is none for %s', async (_name, setup) => {
    expect(await known(setup)).toBeUndefined();
  });

  it('is none when something else was sent since', async () => {
    const later = { startedAt: 3_000, finishedAt: 4_000, status: 'done' as const };
    expect(await known({ others: [{ ...later, job: 'another' }] })).toBeUndefined();
    expect(
      await known({ others: [{ ...later, job: 'another', status: 'running', finishedAt: null }] }),
    ).toBeUndefined();
    expect(await known({ others: [{ ...later, status: 'failed' }] })).toBeUndefined();
    // Elsewhere, before, only planned, or without having read its source.
    expect(await known({ others: [{ ...later, job: 'another', storeId: '//other.example' }] })).toBe('last');
    expect(await known({ before: [{ startedAt: 3_000, finishedAt: 4_000, job: 'another' }] })).toBe('last');
    expect(await known({ others: [{ ...later, kind: 'plan', status: 'planned' }] })).toBe('last');
    expect(await known({ others: [{ ...later, status: 'failed', digest: null }] })).toBe('last');
  });

  it('goes by the order in which runs began and ended, not by what their clock said', async () => {
    const early = { startedAt: 10, finishedAt: 20, job: 'another', status: 'done' as const };
    expect(await known({ others: [early] })).toBeUndefined();
    expect(await known({ last: { startedAt: 90_000 }, others: [{ ...early, job: 'nightly' }] })).toBe(
      undefined,
    );
    expect(await known({ last: { startedAt: 90_000, finishedAt: 80_000 } })).toBe('last');
  });

  it('is none where another began before the last one and ended after it', async () => {
    const other = { startedAt: 10, finishedAt: null, job: 'another' };
    expect(await known({ before: [other] })).toBeUndefined();
  });

  it('gives figures that add up: all that was applied is unchanged', () => {
    const settled: SettledRun = { ...sampleRun(), source: SOURCE, totals: TOTALS };
    const totals = unchangedTotals(settled);
    expect(totals).toMatchObject({
      rows: 12,
      records: 10,
      unchanged: 9,
      skipped: 1,
      applied: 0,
      requests: 0,
      removed: 0,
    });
    expect(totals.unchanged + totals.skipped).toBe(totals.records);
    expect(totals.inRows.unchanged + totals.inRows.skipped).toBe(totals.rows);
  });
});
