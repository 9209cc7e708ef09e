import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LockedError, StateError } from '../../src/model/errors.ts';
import type { RunTotals } from '../../src/model/run.ts';
import type { Lock, Locks, State } from '../../src/state/state.ts';
import { CHILD_BATCH, type Opening, openAs } from './child.ts';
import {
  applied,
  bodyOf,
  deletion,
  range,
  rejected,
  sampleRun,
  TARGET,
  unsent,
  updateContact,
  upsert,
} from './samples.ts';
import { startChild } from './start-child.ts';

const HOLDER = { job: 'nightly', run: 'run-1' };
const NEVER = new AbortController().signal;

async function collected<Item>(batches: AsyncIterable<readonly Item[]>): Promise<Item[]> {
  const items: Item[] = [];
  for await (const batch of batches) items.push(...batch);
  return items;
}

async function taken(locks: Locks, ...request: Parameters<Locks['tryAcquire']>): Promise<Lock> {
  const attempt = await locks.tryAcquire(...request);
  if ('heldBy' in attempt) throw new Error(`held by ${attempt.heldBy?.run}`);
  return attempt;
}

/** What holds for every implementation. `fresh` gives the opening of an empty state. */
export function describeState(fresh: () => Promise<Opening>): void {
  let opening: Opening;
  let state: State;
  /** The same state as another process would see it. */
  let other: State;

  beforeEach(async () => {
    opening = await fresh();
    [state, other] = await Promise.all([openAs(opening), openAs(opening)]);
  });
  afterEach(async () => {
    await state[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
  });

  describe('the ledger', () => {
    it('knows nothing that was never acknowledged', async () => {
      const ledger = state.ledger(TARGET);
      expect(await ledger.marks(['shirt', 'hat'])).toEqual([undefined, undefined]);
      expect(await ledger.bodies(['shirt'])).toEqual([undefined]);
      expect(await ledger.marks([])).toEqual([]);
      expect(await ledger.count('nightly')).toBe(0);
      expect(await collected(ledger.keysOf('nightly'))).toEqual([]);
    });

    it('gives what was acknowledged, in the order asked for, to every process at once', async () => {
      const run = sampleRun();
      await state.runs.create(run);
      await state.runs.record(run, 1, [applied(upsert(0, 'shirt'), 7), applied(upsert(1, 'hat'), null)], 2);
      const ledger = other.ledger(TARGET);
      const shirt = { fingerprint: 'print-of-shirt', id: 7, job: 'nightly' };
      const hat = { fingerprint: 'print-of-hat', id: null, job: 'nightly' };
      expect(await ledger.marks(['hat', 'coat', 'shirt', 'hat'])).toEqual([hat, undefined, shirt, hat]);
      expect(await ledger.bodies(['coat', 'shirt'])).toEqual([undefined, bodyOf('shirt', 'print-of-shirt')]);
    });

    it('keeps the last word on a key', async () => {
      const run = sampleRun();
      await state.runs.create(run);
      for (const fingerprint of ['one', 'two', 'three']) {
        await state.runs.record(run, 1, [applied(upsert(0, 'shirt', { fingerprint }), 7)], 1);
      }
      const ledger = other.ledger(TARGET);
      expect(await ledger.marks(['shirt'])).toEqual([{ fingerprint: 'three', id: 7, job: 'nightly' }]);
      await state.runs.record(run, 1, [applied(upsert(0, 'shirt', { fingerprint: 'four' }), 7)], 1);
      expect(await ledger.bodies(['shirt'])).toEqual([bodyOf('shirt', 'four')]);
      expect(await ledger.count('nightly')).toBe(1);
    });

    it('learns nothing from rejected and unsent operations', async () => {
      const run = sampleRun();
      await state.runs.create(run);
      await state.runs.record(run, 1, [rejected(upsert(0, 'shirt')), unsent(upsert(1, 'hat'))], 2);
      expect(await state.ledger(TARGET).marks(['shirt', 'hat'])).toEqual([undefined, undefined]);
    });

    it('forgets a deleted key', async () => {
      const run = sampleRun();
      await state.runs.create(run);
      await state.runs.record(run, 1, [applied(upsert(0, 'shirt'), 7), applied(upsert(1, 'hat'), 8)], 2);
      await state.runs.record(run, 2, [applied(deletion(0, 'shirt', 7), null)], 1);
      const ledger = state.ledger(TARGET);
      expect((await ledger.marks(['shirt', 'hat'])).map((mark) => mark?.id)).toEqual([undefined, 8]);
      expect(await ledger.bodies(['shirt'])).toEqual([undefined]);
      expect(await collected(ledger.keysOf('nightly'))).toEqual([{ key: 'hat', id: 8 }]);
    });

    it('keeps the known id when an answer has none', async () => {
      const run = sampleRun();
      await state.runs.create(run);
      await state.runs.record(run, 1, [applied(upsert(0, 'shirt', { knownId: 7 }), null)], 1);
      expect((await state.ledger(TARGET).marks(['shirt']))[0]?.id).toBe(7);
    });

    it('counts a key for the job that last sent it', async () => {
      const nightly = sampleRun();
      const weekly = sampleRun({ id: 'run-2', job: 'weekly' });
      await state.runs.create(nightly);
      await state.runs.create(weekly);
      await state.runs.record(nightly, 1, [applied(upsert(0, 'shirt'), 7), applied(upsert(1, 'hat'), 8)], 2);
      await state.runs.record(weekly, 1, [applied(upsert(0, 'shirt'), 7)], 1);
      const ledger = state.ledger(TARGET);
      expect([await ledger.count('nightly'), await ledger.count('weekly')]).toEqual([1, 1]);
      expect(await collected(ledger.keysOf('weekly'))).toEqual([{ key: 'shirt', id: 7 }]);
      expect(await collected(ledger.keysOf('nightly'))).toEqual([{ key: 'hat', id: 8 }]);
      expect((await ledger.marks(['shirt']))[0]?.job).toBe('weekly');
    });

    it('is one for each store, base URL and resource', async () => {
      const run = sampleRun();
      const contacts = sampleRun({ id: 'run-2', resource: 'contacts' });
      await state.runs.create(run);
      await state.runs.create(contacts);
      await state.runs.record(run, 1, [applied(upsert(0, '41'), 7)], 1);
      await state.runs.record(contacts, 1, [applied(updateContact(0, '41', 'of-contact'), 41)], 1);
      const ofContacts = state.ledger({ ...TARGET, resource: 'contacts' });
      expect(await ofContacts.marks(['41'])).toEqual([{ fingerprint: 'of-contact', id: 41, job: 'nightly' }]);
      expect((await state.ledger(TARGET).marks(['41']))[0]?.fingerprint).toBe('print-of-41');
      for (const changes of [{ store: 'second' }, { baseUrl: 'https://other.example' }]) {
        expect(await state.ledger({ ...TARGET, ...changes }).marks(['41'])).toEqual([undefined]);
      }
    });

    it('gives each of many keys once', async () => {
      const run = sampleRun();
      await state.runs.create(run);
      const keys = range(2_500).map((number) => `product-${(number * 7919) % 2_500}`);
      for (let shard = 0; shard < 5; shard++) {
        const results = range(500).map((index) =>
          applied(upsert(index, keys[shard * 500 + index] ?? ''), index),
        );
        await state.runs.record(run, shard, results, 500);
      }
      const ledger = other.ledger(TARGET);
      const found = await collected(ledger.keysOf('nightly'));
      expect(found.map(({ key }) => key).sort()).toEqual([...keys].sort());
      expect(await ledger.count('nightly')).toBe(2_500);
      const marks = await ledger.marks(keys);
      expect(marks.map((mark) => mark?.fingerprint)).toEqual(keys.map((key) => `print-of-${key}`));
    });

    it('takes keys and bodies as they are', async () => {
      const run = sampleRun({ job: 'tägliche Änderung' });
      await state.runs.create(run);
      const keys = [
        '',
        ' ',
        '__proto__',
        'кофта',
        '👕/ö',
        'a"b\\c',
        "it's",
        'line\nbreak',
        'nul\0inside',
        'x'.repeat(3_000),
        '\ud800',
      ];
      const results = keys.map((key, index) =>
        applied(upsert(index, key, { body: `body of ${key}` }), index),
      );
      await state.runs.record(run, 1, results, keys.length);
      const ledger = state.ledger(TARGET);
      expect((await ledger.marks(keys)).map((mark) => mark?.id)).toEqual(range(keys.length));
      const wellFormed = keys.map((key) => key.toWellFormed());
      expect(await ledger.bodies(keys)).toEqual(wellFormed.map((key) => `body of ${key}`));
      const found = await collected(ledger.keysOf('tägliche Änderung'));
      expect(found.map(({ key }) => key).sort()).toEqual(wellFormed.sort());
    });
  });

  describe('runs', () => {
    it('come back as they were written, and as they were changed', async () => {
      const run = sampleRun({ error: 'said "no"\n', retryOf: 'run-0' });
      await state.runs.create(run);
      expect(await other.runs.get('run-1')).toEqual(run);
      const totals = sampleTotals();
      const updated = await state.runs.update('run-1', {
        status: 'done',
        finishedAt: 2_000,
        totals,
        error: null,
      });
      expect(updated).toEqual({ ...run, status: 'done', finishedAt: 2_000, totals, error: null });
      expect(await other.runs.get('run-1')).toEqual(updated);
    });

    it('are refused when they are unknown', async () => {
      expect(await state.runs.get('nobody')).toBeUndefined();
      await expect(state.runs.update('nobody', { status: 'done' })).rejects.toThrow(StateError);
      expect(await state.runs.tally('nobody')).toMatchObject({ applied: 0, requests: 0 });
      expect(await state.runs.outcomes('nobody', 1)).toEqual(new Map());
      expect(await collected(state.runs.refusals('nobody'))).toEqual([]);
      await state.runs.remove('nobody');
    });

    it('are listed newest first, of one job or of all', async () => {
      for (const [id, job, startedAt] of [
        ['b', 'nightly', 2],
        ['c', 'weekly', 3],
        ['a', 'nightly', 1],
        ['d', 'nightly', 4],
      ] as const) {
        await state.runs.create(sampleRun({ id, job, startedAt }));
      }
      const ids = async (filter: Parameters<State['runs']['list']>[0]) =>
        (await other.runs.list(filter)).map(({ id }) => id);
      expect(await ids({ limit: 10 })).toEqual(['d', 'c', 'b', 'a']);
      expect(await ids({ limit: 2 })).toEqual(['d', 'c']);
      expect(await ids({ job: 'nightly', limit: 2 })).toEqual(['d', 'b']);
      expect(await ids({ job: 'unknown', limit: 2 })).toEqual([]);
      expect(await ids({ limit: 0 })).toEqual([]);
    });

    it('are forgotten with their outcomes, while the ledger remembers', async () => {
      const run = sampleRun();
      await state.runs.create(run);
      await state.runs.record(
        run,
        1,
        [
          applied(upsert(0, 'shirt', { knownId: 5 }), 7),
          rejected(upsert(1, 'hat')),
          unsent(upsert(2, 'sock')),
        ],
        3,
      );
      await state.runs.remove('run-1');
      await state.runs.create(run);
      expect(await state.runs.list({ limit: 10 })).toHaveLength(1);
      expect(await state.runs.outcomes('run-1', 1)).toEqual(new Map());
      expect(await state.runs.tally('run-1')).toMatchObject({ applied: 0, rejected: 0, requests: 0 });
      expect(await collected(state.runs.refusals('run-1'))).toEqual([]);
      expect(await state.runs.unsentReasons('run-1')).toEqual([]);
      expect(await state.runs.changedIds('run-1', 5)).toEqual([]);
      expect((await state.ledger(TARGET).marks(['shirt']))[0]?.id).toBe(7);
    });
  });

  describe('outcomes', () => {
    it('are told by shard and operation, and sum up', async () => {
      const run = sampleRun();
      await state.runs.create(run);
      const shirt = upsert(3, 'shirt', { rows: 4 });
      await state.runs.record(run, 1, [applied(shirt), rejected(upsert(0, 'hat', { rows: 2 }))], 5);
      await state.runs.record(run, 2, [unsent(upsert(1, 'sock')), applied(deletion(0, 'coat', 9), null)], 4);
      await state.runs.record(run, 2, [], 2);
      const shard = await other.runs.outcomes('run-1', 1);
      expect(new Map([...shard].sort(([one], [two]) => one - two))).toEqual(
        new Map([
          [0, 'rejected'],
          [3, 'applied'],
        ]),
      );
      expect(await other.runs.outcomes('run-1', 2)).toEqual(
        new Map([
          [0, 'applied'],
          [1, 'unsent'],
        ]),
      );
      expect(await other.runs.outcomes('run-1', 3)).toEqual(new Map());
      expect(await other.runs.tally('run-1')).toEqual({
        applied: 1,
        appliedRows: 4,
        rejected: 1,
        rejectedRows: 2,
        deleted: 1,
        requests: 11,
      });
    });

    it('replace earlier ones of the same operation, sums and reasons included', async () => {
      const run = sampleRun();
      await state.runs.create(run);
      const shirt = upsert(0, 'shirt', { rows: 3 });
      const hat = upsert(1, 'hat');
      await state.runs.record(run, 1, [unsent(shirt), rejected(hat)], 2);
      await state.runs.record(run, 1, [unsent(shirt, 'The connection was lost.')], 1);
      expect(await state.runs.unsentReasons('run-1')).toEqual([
        { reason: { code: 'store-503', message: 'The connection was lost.' }, count: 1 },
      ]);
      await state.runs.record(run, 1, [applied(shirt), applied(hat)], 2);
      await state.runs.record(run, 1, [applied(shirt)], 1);
      expect(await state.runs.unsentReasons('run-1')).toEqual([]);
      expect(await collected(state.runs.refusals('run-1'))).toEqual([]);
      expect(await state.runs.tally('run-1')).toEqual({
        applied: 2,
        appliedRows: 4,
        rejected: 0,
        rejectedRows: 0,
        deleted: 0,
        requests: 6,
      });
    });

    it('give the refusals in the order of the plan', async () => {
      const run = sampleRun();
      await state.runs.create(run);
      for (const shard of [3, 1, 2]) {
        const results = range(400).map((index) => rejected(upsert(399 - index, `${shard}-${399 - index}`)));
        await state.runs.record(run, shard, results, 400);
      }
      const refusals = await collected(other.runs.refusals('run-1'));
      expect(refusals.map(({ shard, index }) => [shard, index])).toEqual(
        [1, 2, 3].flatMap((shard) => range(400).map((index) => [shard, index])),
      );
      expect(refusals[401]).toEqual({
        shard: 2,
        index: 1,
        key: '2-1',
        rows: 1,
        spans: [{ file: 0, from: 3, to: 3 }],
        reason: { code: 'store-422', message: 'Title is too long.' },
      });
    });

    it('count the reasons of what is unsent, most frequent first', async () => {
      const run = sampleRun();
      await state.runs.create(run);
      const results = range(5).map((index) =>
        unsent(upsert(index, `key-${index}`), index < 2 ? 'rare' : 'often'),
      );
      await state.runs.record(run, 1, results, 5);
      const reasons = await other.runs.unsentReasons('run-1');
      expect(reasons.map(({ reason, count }) => [reason.message, count])).toEqual([
        ['often', 3],
        ['rare', 2],
      ]);
    });

    it('show where the store answered another id than before', async () => {
      const run = sampleRun();
      await state.runs.create(run);
      await state.runs.record(
        run,
        1,
        [
          applied(upsert(0, 'shirt', { knownId: 7 }), 70),
          applied(upsert(1, 'hat', { knownId: 8 }), 8),
          applied(upsert(2, 'sock'), 9),
          applied(upsert(3, 'coat', { knownId: 10 }), null),
          applied(upsert(4, 'cap', { knownId: 11 }), 110),
        ],
        5,
      );
      const shirt = { key: 'shirt', knownId: 7, answeredId: 70 };
      expect(await other.runs.changedIds('run-1', 10)).toEqual([
        shirt,
        { key: 'cap', knownId: 11, answeredId: 110 },
      ]);
      expect(await other.runs.changedIds('run-1', 1)).toEqual([shirt]);
      expect((await state.ledger(TARGET).marks(['shirt']))[0]?.id).toBe(70);
    });

    it('are all written when many are recorded at once', async () => {
      const run = sampleRun();
      await state.runs.create(run);
      await Promise.all(
        range(200).map((index) =>
          (index % 2 === 0 ? state : other).runs.record(
            run,
            index % 3,
            [applied(upsert(index, `key-${index}`))],
            1,
          ),
        ),
      );
      expect(await state.runs.tally('run-1')).toMatchObject({ applied: 200, requests: 200 });
      expect(await state.ledger(TARGET).count('nightly')).toBe(200);
    });

    it('survive SIGKILL once acknowledged, each together with its mark', async () => {
      const child = startChild(opening, 'record', 'a lock');
      await child.saying('recorded 20');
      await child.end();
      const last = Number(child.lines.at(-1)?.split(' ')[1]);
      const marked = await state.ledger(TARGET).count('of-child');
      expect((await state.runs.tally('run-of-child')).applied).toBe(marked);
      expect(marked % CHILD_BATCH).toBe(0);
      expect(marked).toBeGreaterThanOrEqual((last + 1) * CHILD_BATCH);
      for (let batch = 0; batch <= last; batch++) {
        expect((await state.runs.outcomes('run-of-child', batch)).size).toBe(CHILD_BATCH);
      }
    });
  });

  describe('locks', () => {
    it('exclude other processes, who learn the holder, until they are released', async () => {
      await using lock = await taken(state.locks, 'job:nightly', HOLDER);
      expect(lock.isHeld()).toBe(true);
      const refused = { heldBy: HOLDER };
      expect(await other.locks.tryAcquire('job:nightly', { job: 'weekly', run: 'run-2' })).toEqual(refused);
      expect(await state.locks.tryAcquire('job:nightly', { job: 'weekly', run: 'run-2' })).toEqual(refused);
      await (await taken(other.locks, 'job:weekly', HOLDER)).release();
      await lock.release();
      expect(lock.isHeld()).toBe(false);
      const next = await taken(other.locks, 'job:nightly', HOLDER);
      await lock.release();
      expect(next.isHeld()).toBe(true);
      expect(await state.locks.tryAcquire('job:nightly', HOLDER)).toEqual(refused);
      await next.release();
    });

    it('take names of any kind apart', async () => {
      const names = [
        'target:a/b',
        'target:a_b',
        'target:a-b',
        `${'x'.repeat(300)}1`,
        `${'x'.repeat(300)}2`,
        '../up',
      ];
      for (const name of names) await taken(state.locks, name, HOLDER);
      for (const name of names)
        expect(await other.locks.tryAcquire(name, HOLDER)).toEqual({ heldBy: HOLDER });
    });

    it('are waited for, and the holder is told once', async () => {
      const lock = await taken(state.locks, 'target', HOLDER);
      const waits: unknown[] = [];
      const acquired = other.locks.acquire(
        'target',
        { job: 'weekly', run: 'run-2' },
        { signal: NEVER, onWait: (heldBy) => waits.push(heldBy) },
      );
      setTimeout(() => lock.release(), 700);
      const next = await acquired;
      expect(lock.isHeld()).toBe(false);
      expect(next.isHeld()).toBe(true);
      expect(waits).toEqual([HOLDER]);
    });

    it('end a wait that is aborted, for its reason', async () => {
      await taken(state.locks, 'target', HOLDER);
      const abort = new AbortController();
      const waiting = other.locks.acquire('target', HOLDER, {
        signal: abort.signal,
        onWait: () => abort.abort(new Error('told to stop')),
      });
      await expect(waiting).rejects.toThrow('told to stop');
    });

    it('become free when their process is killed', async () => {
      await using child = startChild(opening, 'hold', 'target');
      await child.saying('held');
      expect(await state.locks.tryAcquire('target', HOLDER)).toEqual({
        heldBy: { job: 'of-child', run: 'run-of-child' },
      });
      await child.end();
      await using lock = await state.locks.acquire('target', HOLDER, { signal: NEVER, onWait: () => {} });
      expect(lock.isHeld()).toBe(true);
    });

    it('are held together by a run only when it asks for that', async () => {
      const first = await taken(state.locks, 'target', HOLDER, { together: true });
      const second = await taken(state.locks, 'target', HOLDER, { together: true });
      const stranger = { job: 'weekly', run: 'run-2' };
      expect(await state.locks.tryAcquire('target', HOLDER)).toEqual({ heldBy: HOLDER });
      expect(await other.locks.tryAcquire('target', stranger, { together: true })).toEqual({
        heldBy: HOLDER,
      });
      await first.leave();
      expect([first.isHeld(), second.isHeld()]).toEqual([false, true]);
      expect(await other.locks.tryAcquire('target', stranger, { together: true })).toEqual({
        heldBy: HOLDER,
      });
      await second.release();
      await taken(other.locks, 'target', stranger, { together: true });
    });

    it('let a fenced write through while they are held, and nothing afterwards', async () => {
      const run = sampleRun();
      await state.runs.create(run);
      const lock = await taken(state.locks, 'target', HOLDER);
      await state.runs.record(run, 1, [applied(upsert(0, 'shirt'))], 1, lock.fence);
      await lock.release();
      await using _other = await taken(other.locks, 'target', HOLDER);
      const late = state.runs.record(run, 1, [applied(upsert(1, 'hat'))], 1, lock.fence);
      await expect(late).rejects.toThrow(LockedError);
      expect(await state.runs.tally('run-1')).toMatchObject({ applied: 1, requests: 1 });
      expect((await state.ledger(TARGET).marks(['hat']))[0]).toBeUndefined();
    });
  });
}

function sampleTotals(): RunTotals {
  return {
    rows: 12,
    records: 6,
    new: 1,
    changed: 2,
    unchanged: 3,
    removed: 0,
    operations: 3,
    applied: 3,
    deleted: 0,
    rejected: 0,
    skipped: 0,
    unsent: 0,
    requests: 3,
    fieldsChanged: {},
    inRows: { applied: 6, unchanged: 6, rejected: 0, skipped: 0, unsent: 0 },
  };
}
