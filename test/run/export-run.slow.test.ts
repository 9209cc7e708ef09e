import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ExportJob } from '../../src/config/job/job.ts';
import type { StoreConfig } from '../../src/config/store-config.ts';
import { LockedError, StateError } from '../../src/model/storeferry-error.ts';
import type { S3Address } from '../../src/remote/s3-client.ts';
import { RUNS_KEPT } from '../../src/run/end-run.ts';
import { exportDigest, exportRun } from '../../src/run/export/export-run.ts';
import type { ExportRequest, RunContext } from '../../src/run/run-context.ts';
import { folderArtifacts } from '../../src/state/folder-artifacts.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import { createStorefront } from '../../src/storefront/storefront.ts';
import { aList } from '../support/exports.ts';
import { startStore } from '../support/store.ts';

const MINUTE = 60_000;
const cleanUps: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** A store with two lists, and a history of them; `now` may be moved. */
async function setup() {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-export-run-'));
  const store = await startStore({ seed: 1 });
  const state = await openSqliteState(join(dir, 'state'));
  const storefront = createStorefront({
    baseUrl: store.baseUrl,
    apiKey: store.apiKey,
    userAgent: 'test/1',
    limits: { concurrency: 8 },
    attemptMs: 40_000,
  });
  cleanUps.push(
    () => rm(dir, { recursive: true, force: true }),
    () => store.close(),
    async () => state[Symbol.asyncDispose](),
    () => storefront.close(),
  );
  store.shop.lists.push(aList(1, 'News'), aList(2, 'Trade'));
  const time = { now: Date.UTC(2030, 0, 2, 6) };
  let runs = 0;
  const context: RunContext = {
    workspaceDir: dir,
    state,
    artifacts: folderArtifacts(join(dir, 'artifacts')),
    version: 'test',
    clock: () => time.now,
    redact: (text) => text,
    newRunId: () => `run-${++runs}`,
    openStorefront: () => storefront,
    onEvent: () => {},
    signal: new AbortController().signal,
  };
  const config: StoreConfig = {
    name: 'main',
    baseUrl: store.baseUrl,
    apiKey: store.apiKey,
    weightUnit: 'kg',
    history: { keep: 400 },
    limits: { concurrency: 8, timeoutSeconds: 40 },
  };
  const requestTo = (path: string, mode: 'append' | 'replace'): ExportRequest => {
    const destination: ExportJob['destination'] = { path, mode, format: 'csv' };
    const job: ExportJob = {
      kind: 'export',
      name: 'stats',
      export: 'subscriber-lists',
      store: 'main',
      destination,
    };
    return { job, store: config };
  };
  const request = requestTo('lists.csv', 'append');
  const path = join(dir, 'lists.csv');
  const lines = async () => (await readFile(path, 'utf8')).trimEnd().split('\n').slice(1);
  return { context, request, requestTo, time, store, path, lines };
}

/** The same process, but it dies before it can write down that its run has ended. */
function dying(context: RunContext): RunContext {
  const { state } = context;
  const runs: typeof state.runs = Object.create(state.runs, {
    update: {
      value: (id: string, changes: Parameters<typeof state.runs.update>[1]) =>
        changes.status === undefined
          ? state.runs.update(id, changes)
          : Promise.reject(new StateError('killed here')),
    },
  });
  return { ...context, state: Object.create(state, { runs: { value: runs } }) };
}

describe('a run that keeps history', () => {
  it('that died between writing and saying so adds nothing twice when it is continued', async () => {
    const { context, request, time, store, lines } = await setup();
    await expect(exportRun(dying(context), request)).rejects.toThrow('killed here');
    expect(await lines()).toHaveLength(2);
    time.now += MINUTE;
    const { run, totals, exported } = await exportRun(context, request);
    expect(run).toMatchObject({ id: 'run-1', status: 'done' });
    expect(totals).toMatchObject({ records: 2, rows: 0, requests: 1 });
    expect(exported?.notes.join()).toContain('2 lines were already in the file');
    expect(await lines()).toHaveLength(2);
    expect(store.figures().requests).toBe(1);
    time.now += MINUTE;
    expect((await exportRun(context, request)).run.id).not.toBe('run-1');
    expect(await lines()).toHaveLength(4);
  });

  it('that died long ago is completed under its own moment, and a new one is taken', async () => {
    const { context, request, time, path, lines } = await setup();
    await writeFile(path, 'id,read_at\n1,20');
    expect((await exportRun(context, request)).run).toMatchObject({ id: 'run-1', status: 'failed' });
    time.now += 24 * 60 * MINUTE;
    expect((await exportRun(context, request)).run).toMatchObject({ id: 'run-2', status: 'failed' });
    await writeFile(path, 'id,read_at\n');
    time.now += 24 * 60 * MINUTE;
    expect((await exportRun(context, request)).run.status).toBe('done');
    const moments = (await lines()).map((line) => line.split(',')[1]?.slice(0, 10));
    expect(moments).toEqual([
      '2030-01-02',
      '2030-01-02',
      '2030-01-03',
      '2030-01-03',
      '2030-01-04',
      '2030-01-04',
    ]);
    const runs = await context.state.runs.list({ job: 'stats', limit: 10 });
    expect(runs.filter(({ status }) => status !== 'done')).toEqual([]);
  });

  it('is left out when it was damaged, and keeps no later one from being written', async () => {
    const { context, request, time, path, lines } = await setup();
    await writeFile(path, 'id,read_at\n1,20');
    for (let times = 0; times < 2; times++) {
      expect((await exportRun(context, request)).run).toMatchObject({ status: 'failed' });
      time.now += 24 * 60 * MINUTE;
    }
    const reading = join(context.artifacts.run('run-1').location, 'reading.jsonl');
    await writeFile(reading, (await readFile(reading, 'utf8')).replace('1', '7'));
    await writeFile(path, 'id,read_at\n');
    for (let times = 0; times < 2; times++) {
      expect((await exportRun(context, request)).run.status).toBe('done');
      time.now += 24 * 60 * MINUTE;
    }
    const moments = (await lines()).map((line) => line.split(',')[1]?.slice(0, 10));
    expect([...new Set(moments)]).toEqual(['2030-01-03', '2030-01-04', '2030-01-05']);
    expect(moments).toHaveLength(6);
  });

  it('that was taken while the clock was ahead is completed, and a new one is taken', async () => {
    const { context, request, time, path, lines } = await setup();
    await writeFile(path, 'id,read_at\n1,20');
    time.now += 40 * 24 * 60 * MINUTE;
    expect((await exportRun(context, request)).run).toMatchObject({ id: 'run-1', status: 'failed' });
    await writeFile(path, 'id,read_at\n');
    time.now -= 40 * 24 * 60 * MINUTE;
    expect((await exportRun(context, request)).run).toMatchObject({ id: 'run-2', status: 'done' });
    const moments = (await lines()).map((line) => line.split(',')[1]?.slice(0, 10));
    expect(moments).toEqual(['2030-02-11', '2030-02-11', '2030-01-02', '2030-01-02']);
  });

  it('loses none of its readings, however many runs could not write them', async () => {
    const { context, request, time, path, lines } = await setup();
    const unwritten = 24;
    await writeFile(path, 'id,read_at\n1,20');
    for (let times = 0; times < unwritten; times++) {
      expect((await exportRun(context, request)).run.status).toBe('failed');
      time.now += 24 * 60 * MINUTE;
    }
    await writeFile(path, 'id,read_at\n');
    expect((await exportRun(context, request)).run.status).toBe('done');
    const moments = (await lines()).map((line) => line.split(',')[1]);
    expect(new Set(moments).size).toBe(unwritten + 1);
    expect(moments).toEqual(moments.toSorted());
    expect(moments).toHaveLength(2 * (unwritten + 1));
    expect(await context.state.runs.list({ job: 'stats', limit: 100 })).toHaveLength(RUNS_KEPT);
  });

  it('to another place now leaves the reading of the place before alone', async () => {
    const { context, request, requestTo, path } = await setup();
    await writeFile(path, 'id,read_at\n1,20');
    await exportRun(context, request);
    const elsewhere = requestTo('other.csv', 'append');
    const { run, totals } = await exportRun(context, elsewhere);
    expect(run).toMatchObject({ id: 'run-2', status: 'done' });
    expect(totals.rows).toBe(2);
    expect(await readFile(path, 'utf8')).toBe('id,read_at\n1,20');
  });
});

describe('a run whose job another process has taken over', () => {
  it('writes nothing, and leaves it to the other to end it', async () => {
    const { context, request, path } = await setup();
    const lost = new AbortController();
    const { state } = context;
    const locks: typeof state.locks = Object.create(state.locks, {
      tryAcquire: {
        async value(...asked: Parameters<typeof state.locks.tryAcquire>) {
          const lock = await state.locks.tryAcquire(...asked);
          const isHeld = () => !lost.signal.aborted;
          return 'heldBy' in lock
            ? lock
            : Object.create(lock, { lost: { value: lost.signal }, isHeld: { value: isHeld } });
        },
      },
    });
    const losing: RunContext = {
      ...context,
      state: Object.create(state, { locks: { value: locks } }),
      openStorefront: (store) => {
        lost.abort(new LockedError('The lock job:stats was lost.'));
        return context.openStorefront(store);
      },
    };
    await expect(exportRun(losing, request)).rejects.toThrow('The lock job:stats was lost.');
    await expect(readFile(path)).rejects.toThrow('ENOENT');
    expect((await state.runs.get('run-1'))?.status).toBe('running');
  });
});

describe('where an export writes', () => {
  it('is the same place with a new password, and another one at another endpoint', () => {
    const digestOf = (secretAccessKey: string, endpoint: string | null): string => {
      const remote: S3Address = {
        kind: 's3',
        location: 's3://bucket/lists.csv',
        bucket: 'bucket',
        key: 'lists.csv',
        endpoint,
        region: 'us-east-1',
        credentials: { accessKeyId: 'K', secretAccessKey, sessionToken: null },
        pathStyle: true,
        newest: false,
        allowPrivateAddresses: false,
      };
      const job: ExportJob = {
        kind: 'export',
        name: 'stats',
        export: 'subscriber-lists',
        store: 'main',
        destination: { remote, mode: 'append', format: 'csv' },
      };
      const limits = { concurrency: 8, timeoutSeconds: 40 };
      const store = {
        ...{ name: 'main', baseUrl: 'http://store', apiKey: 'K', weightUnit: 'kg' as const, limits },
        history: { keep: 400 },
      };
      return exportDigest({ job, store });
    };
    expect(digestOf('new', null)).toBe(digestOf('old', null));
    expect(digestOf('old', 'https://other.example')).not.toBe(digestOf('old', null));
  });
});

describe('a run that replaces its file', () => {
  it('has nothing to continue: one whose process died is superseded', async () => {
    const { context, requestTo, path } = await setup();
    const replacing = requestTo('lists.csv', 'replace');
    await expect(exportRun(dying(context), replacing)).rejects.toThrow('killed here');
    expect((await exportRun(context, replacing)).run).toMatchObject({ id: 'run-2', status: 'done' });
    expect((await readFile(path, 'utf8')).trimEnd().split('\n')).toHaveLength(3);
    expect((await context.state.runs.get('run-1'))?.status).toBe('superseded');
  });
});
