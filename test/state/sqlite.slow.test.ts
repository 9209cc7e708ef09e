import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, it } from 'vitest';
import { StateError } from '../../src/model/storeferry-error.ts';
import { packBodies } from '../../src/state/encode-body.ts';
import { openSqliteState } from '../../src/state/sqlite/open-sqlite-state.ts';
import type { State } from '../../src/state/state.ts';
import { runProcess } from '../support/processes.ts';
import { itAgreesWithPlainMaps } from './model-suite.ts';
import { applied, bodyOf, range, sampleRun, TARGET, upsert } from './samples.ts';
import { startChild } from './start-child.ts';
import { describeState } from './state-suite.ts';

const root = mkdtempSync(join(tmpdir(), 'storeferry-state-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let opened = 0;
const freshFolder = () => join(root, `${++opened}`, '.storeferry');
const fresh = async () => ({ kind: 'sqlite', folder: freshFolder() }) as const;

describe('the embedded state', () => {
  describeState(fresh);
  itAgreesWithPlainMaps(fresh, 15);

  it('belongs to its user alone', async () => {
    const folder = freshFolder();
    await using _state = await openSqliteState(folder);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it.each([false, true])(
    'keeps everything when it is opened again, without a thread: %s',
    async (withoutThread) => {
      const folder = freshFolder();
      const run = sampleRun();
      {
        await using state = await openSqliteState(folder);
        await state.runs.create(run);
        await state.runs.record(run, 1, [applied(upsert(0, 'shirt'), 7)], 1);
      }
      await using state = await openSqliteState(folder, { withoutThread });
      expect(await state.runs.get('run-1')).toEqual({ ...run, sequence: 1 });
      expect(await state.ledger(TARGET).bodies(['shirt'])).toEqual([bodyOf('shirt', 'print-of-shirt')]);
    },
  );

  it('merges a journal that grew large without waiting for a reader', async () => {
    const folder = freshFolder();
    await using state = await openSqliteState(folder);
    const run = sampleRun();
    await state.runs.create(run);
    for (let shard = 0; shard < 18; shard++) {
      const results = range(500).map((index) => applied(upsert(index, `key-${shard}-${index}`), index));
      await state.runs.record(run, shard, results, 500);
    }
    const database = new DatabaseSync(join(folder, 'state.db'), { readOnly: true });
    const left = Number(database.prepare('SELECT count(*) AS rows FROM journal').get()?.['rows']);
    database.close();
    expect(left).toBe(500);
    expect(await state.ledger(TARGET).count('nightly')).toBe(9_000);
  });

  it('keeps no body that no mark needs', async () => {
    const folder = freshFolder();
    const run = sampleRun();
    {
      await using state = await openSqliteState(folder);
      await state.runs.create(run);
      for (const fingerprint of ['one', 'two', 'three']) {
        const results = range(20).map((index) =>
          applied(upsert(index % 10, `key-${index % 10}`, { fingerprint })),
        );
        await state.runs.record(run, 1, results, 20);
        if (fingerprint !== 'two') await state.ledger(TARGET).count('nightly');
      }
    }
    const database = new DatabaseSync(join(folder, 'state.db'), { readOnly: true });
    const living = database.prepare('SELECT living FROM bodies').all();
    const bits = living.map((row) => Number(row['living']).toString(2).replaceAll('0', '').length);
    expect(bits.reduce((sum, count) => sum + count, 0)).toBe(10);
    database.close();
  });

  it('packs bodies again that outlive the others of their block', async () => {
    const folder = freshFolder();
    const run = sampleRun();
    const record = async (state: State, keys: readonly number[], fingerprint: string) => {
      const results = keys.map((index) => applied(upsert(index, `key-${index}`, { fingerprint })));
      await state.runs.record(run, 1, results, keys.length);
      await state.ledger(TARGET).count('nightly');
    };
    await using state = await openSqliteState(folder);
    await state.runs.create(run);
    await record(state, range(16), 'first');
    const size = () => {
      using database = new DatabaseSync(join(folder, 'state.db'), { readOnly: true });
      return Number(
        database.prepare('SELECT length(content) AS size FROM bodies ORDER BY number').get()?.['size'],
      );
    };
    const whole = size();
    await record(state, range(7), 'second');
    expect(size()).toBe(whole);
    await record(state, [7, 8, 9, 10, 11, 12, 13], 'second');
    expect(size()).toBeLessThan(whole);
    const fingerprints = range(16).map((index) => (index < 14 ? 'second' : 'first'));
    expect(await state.ledger(TARGET).bodies(range(16).map((index) => `key-${index}`))).toEqual(
      fingerprints.map((fingerprint, index) => bodyOf(`key-${index}`, fingerprint)),
    );
  });

  it('takes blocks as they were planned, place by place, and a place only once', async () => {
    await using state = await openSqliteState(freshFolder());
    const run = sampleRun();
    await state.runs.create(run);
    const keys = range(20).map((index) => `key-${index}`);
    const blocks = packBodies(keys.map((key) => bodyOf(key, 'packed')));
    const record = async (...indices: readonly number[]) => {
      const results = indices.map((index) => {
        const packed = { block: blocks[index >> 4] ?? Buffer.of(), place: index & 15 };
        return applied(upsert(index, `key-${index}`, { fingerprint: 'packed', packed }));
      });
      await state.runs.record(run, 1, results, results.length);
    };
    const bodies = async () => await state.ledger(TARGET).bodies(keys);
    await record(3, 18, 0, 3);
    await record(3, 1);
    expect(await bodies()).toEqual(
      keys.map((key, index) => ([0, 1, 3, 18].includes(index) ? bodyOf(key, 'packed') : undefined)),
    );
    await record(...range(20));
    await record(5);
    expect(await bodies()).toEqual(keys.map((key) => bodyOf(key, 'packed')));
    const other = keys.map((key, index) => applied(upsert(index, key, { fingerprint: 'other' })));
    await state.runs.record(run, 1, other, 20);
    expect(await bodies()).toEqual(keys.map((key) => bodyOf(key, 'other')));
    await record(...range(9));
    expect(await bodies()).toEqual(keys.map((key, index) => bodyOf(key, index < 9 ? 'packed' : 'other')));
  });

  it.each([false, true])('answers calls until it is closed, without a thread: %s', async (withoutThread) => {
    const state = await openSqliteState(freshFolder(), { withoutThread });
    const before = state.runs.list({ limit: 1 });
    await state[Symbol.asyncDispose]();
    expect(await before).toEqual([]);
    await expect(state.runs.list({ limit: 1 })).rejects.toThrow(StateError);
  });

  it('does not keep a process from ending that did not close it', async () => {
    const module = join(import.meta.dirname, '..', '..', 'src', 'state', 'sqlite', 'open-sqlite-state.ts');
    const source = `const { openSqliteState } = await import(${JSON.stringify(module)});
      const state = await openSqliteState(${JSON.stringify(freshFolder())});
      await state.runs.list({ limit: 1 });`;
    expect(await runProcess(process.execPath, ['--input-type=module', '--eval', source])).toMatchObject({
      code: 0,
    });
  });

  it('is created by one of several processes that open it at the same moment', async () => {
    const folder = freshFolder();
    const states = await Promise.all(range(4).map(() => openSqliteState(folder)));
    await states[0]?.runs.create(sampleRun());
    for (const state of states) {
      expect(await state.runs.list({ limit: 5 })).toHaveLength(1);
      await state[Symbol.asyncDispose]();
    }
  });

  it.each([false, true])('refuses a damaged database, without a thread: %s', async (withoutThread) => {
    const folder = freshFolder();
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'state.db'), 'This is not a database. '.repeat(100));
    const opening = openSqliteState(folder, { withoutThread });
    await expect(opening).rejects.toThrow(StateError);
    await expect(opening).rejects.toThrow(/state\.db is damaged/);
    await expect(opening).rejects.toMatchObject({
      hint: expect.stringContaining('move it to another folder'),
    });
  });

  it('refuses a lineage that is not an id, before it writes it into a witness', async () => {
    const folder = freshFolder();
    const begin = async (): Promise<unknown> => {
      await using state = await openSqliteState(folder);
      await using sending = await state.sending({ run: sampleRun({ id: 'run-1' }), attemptMs: 1_000 });
      return await sending.begin([upsert(0, 'key-0')]);
    };
    await begin();
    const database = new DatabaseSync(join(folder, 'state.db'));
    database.prepare('UPDATE lineage SET id = ?').run('x'.repeat(600));
    database.close();
    await expect(begin()).rejects.toThrow(/state\.db is damaged .*lineage\.id/);
  });

  it.each(['null', '[1]', '{"hd":"run-1"}'])('changes nothing in the damaged run %s', async (document) => {
    const folder = freshFolder();
    await using state = await openSqliteState(folder);
    await state.runs.create(sampleRun({ id: 'run-1' }));
    using database = new DatabaseSync(join(folder, 'state.db'));
    database.prepare('UPDATE runs SET document = ?').run(document);
    await expect(state.runs.update('run-1', { status: 'done' })).rejects.toThrow(/state\.db is damaged/);
    expect(database.prepare('SELECT document FROM runs').get()).toEqual({ document });
  });

  it.each([
    [99, 'update this one'],
    [3, 'before the first release'],
  ])('refuses a database of version %i and leaves it as it is', async (version, hint) => {
    const folder = freshFolder();
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'state.db');
    const database = new DatabaseSync(file);
    database.exec(`PRAGMA user_version = ${version}`);
    database.close();
    const before = readFileSync(file);
    await expect(openSqliteState(folder)).rejects.toMatchObject({
      message: expect.stringContaining(`version ${version}`),
      hint: expect.stringContaining(hint),
    });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  it('refuses a folder that it cannot create', async () => {
    const file = join(root, 'a file');
    writeFileSync(file, '');
    await expect(openSqliteState(join(file, '.storeferry'))).rejects.toThrow(StateError);
  });

  it('writes nothing by halves when the disk is full', async () => {
    const folder = freshFolder();
    {
      await using state = await openSqliteState(folder);
      await state.runs.create(sampleRun());
    }
    const output = await outputOnSmallDisk(join(import.meta.dirname, 'fill-disk.ts'), folder);
    const { recorded, error, hint } = JSON.parse(output);
    expect(error).toBe('StateUnavailableError');
    expect(hint).toContain('Free disk space');
    await using state = await openSqliteState(folder);
    expect(recorded).toBeGreaterThan(0);
    expect((await state.runs.tally('run-1')).applied).toBe(recorded);
    expect(await state.ledger(TARGET).count('nightly')).toBe(recorded);
  });

  it('keeps the locks of a process that is stopped', async () => {
    const opening = await fresh();
    await using child = startChild(opening, 'hold', 'target');
    await child.saying('held');
    child.kill('SIGSTOP');
    await using state = await openSqliteState(opening.folder);
    const attempt = await state.locks.tryAcquire('target', { job: 'nightly', run: 'run-1' });
    expect(attempt).toEqual({ heldBy: { job: 'of-child', run: 'run-of-child' } });
    expect(readdirSync(join(opening.folder, 'locks')).length).toBeGreaterThan(0);
  });

  describe('whose lock files are deleted', () => {
    const OTHER = { job: 'nightly', run: 'run-1' };
    const OF_CHILD = { heldBy: { job: 'of-child', run: 'run-of-child' } };
    const deleteLocks = (folder: string) => rmSync(join(folder, 'locks'), { recursive: true });

    it('keeps the lock of a process that lives, however often', async () => {
      const opening = await fresh();
      await using child = startChild(opening, 'hold', 'target');
      await child.saying('held');
      await using state = await openSqliteState(opening.folder);
      for (const _time of range(3)) {
        deleteLocks(opening.folder);
        expect(await state.locks.tryAcquire('target', OTHER)).toEqual(OF_CHILD);
        deleteLocks(opening.folder);
        expect(await state.locks.holderOf('target')).toEqual(OF_CHILD.heldBy);
      }
      expect(child.lines).toEqual(['held']);
    });

    it('gives the lock of a dead process away', async () => {
      const opening = await fresh();
      await using child = startChild(opening, 'hold', 'target');
      await child.saying('held');
      await child.end();
      deleteLocks(opening.folder);
      await using state = await openSqliteState(opening.folder);
      expect(await state.locks.holderOf('target')).toBeUndefined();
      const lock = await state.locks.tryAcquire('target', OTHER);
      expect('isHeld' in lock && lock.isHeld()).toBe(true);
    });

    it('shows a process that was stopped meanwhile that another one has its lock', async () => {
      const opening = await fresh();
      await using child = startChild(opening, 'hold', 'target');
      await child.saying('held');
      child.kill('SIGSTOP');
      deleteLocks(opening.folder);
      await using state = await openSqliteState(opening.folder);
      const lock = await state.locks.tryAcquire('target', OTHER);
      child.kill('SIGCONT');
      await child.saying('lost');
      expect('isHeld' in lock && lock.isHeld()).toBe(true);
    });

    it.each(['deleted', 'replaced by another'])(
      'has lost its locks when its database is %s',
      async (what) => {
        const opening = await fresh();
        await using child = startChild(opening, 'hold', 'target');
        await child.saying('held');
        if (what === 'deleted') rmSync(opening.folder, { recursive: true });
        else {
          for (const name of ['state.db', 'state.db-wal', 'state.db-shm']) {
            renameSync(join(opening.folder, name), join(opening.folder, `aside-${name}`));
          }
        }
        await using state = await openSqliteState(opening.folder);
        await child.saying('lost');
        // It holds the file until what it has under way is over.
        expect(await state.locks.tryAcquire('target', OTHER)).toEqual({ heldBy: null });
        await child.end();
        const lock = await state.locks.tryAcquire('target', OTHER);
        expect('isHeld' in lock && lock.isHeld()).toBe(true);
      },
    );
  });
});

/** Runs a script for which no file may grow beyond 400 KB: to SQLite a full disk. */
async function outputOnSmallDisk(script: string, ...args: string[]): Promise<string> {
  const command = `trap '' XFSZ; ulimit -f 400; exec "$@"`;
  const { stdout, stderr } = await runProcess('bash', [
    ...['-c', command, 'bash', process.execPath, script],
    ...args,
  ]);
  process.stderr.write(stderr);
  return stdout;
}
