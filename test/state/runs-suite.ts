import { describe, expect, it } from 'vitest';
import type { RunTotals } from '../../src/model/run.ts';
import { StateError } from '../../src/model/storeferry-error.ts';
import { type RunsFilter, type State, targetLockName } from '../../src/state/state.ts';
import { CHILD_BATCH, type Opening } from './child.ts';
import { applied, deletion, range, rejected, sampleRun, TARGET, unsent, upsert } from './samples.ts';
import { startChild } from './start-child.ts';
import { collected, twoProcesses } from './two-processes.ts';

/** What only runs with a remote source have. */
const REMOTE = { source: { version: 'x ["\\"1\\""]', sha256: 'aa' }, unchangedSince: 'run-0' };

/** What is kept of runs and their outcomes, however it is kept. */
export function describeRuns(fresh: () => Promise<Opening>): void {
  describe('runs', () => {
    const processes = twoProcesses(fresh);

    it('come back as they were written, and as they were changed', async () => {
      const run = sampleRun({ error: 'said "no"\n', retryOf: 'run-0' });
      await processes.state.runs.create(run);
      const sequence = expect.any(Number);
      expect(await processes.other.runs.get('run-1')).toEqual({ ...run, sequence });
      const totals = sampleTotals();
      const updated = await processes.state.runs.update('run-1', {
        status: 'done',
        finishedAt: 2_000,
        totals,
        error: null,
        ...REMOTE,
      });
      expect(updated).toEqual({
        ...{ ...run, ...REMOTE, status: 'done', finishedAt: 2_000, totals, error: null },
        ...{ sequence, endSequence: updated.sequence },
      });
      expect(await processes.other.runs.get('run-1')).toEqual(updated);
    });

    it('are refused when they are unknown', async () => {
      expect(await processes.state.runs.get('nobody')).toBeUndefined();
      await expect(processes.state.runs.update('nobody', { status: 'done' })).rejects.toThrow(StateError);
      expect(await processes.state.runs.tally('nobody')).toMatchObject({ applied: 0, requests: 0 });
      expect(await processes.state.runs.outcomes('nobody', 1)).toEqual(new Map());
      expect(await collected(processes.state.runs.refusals('nobody'))).toEqual([]);
      await processes.state.runs.remove('nobody');
    });

    it('are listed newest first, of one job or of all, whatever the clock said when they began', async () => {
      for (const [id, job, startedAt] of [
        ['b', 'nightly', 2],
        ['c', 'weekly', 3],
        ['a', 'nightly', 1],
        ['d', 'nightly', 4],
      ] as const) {
        await processes.state.runs.create(sampleRun({ id, job, startedAt }));
      }
      const ids = async (filter: RunsFilter) => (await processes.other.runs.list(filter)).map(({ id }) => id);
      expect(await ids({ limit: 10 })).toEqual(['d', 'a', 'c', 'b']);
      expect(await ids({ limit: 2 })).toEqual(['d', 'a']);
      expect(await ids({ job: 'nightly', limit: 2 })).toEqual(['d', 'a']);
      expect(await ids({ job: 'unknown', limit: 2 })).toEqual([]);
      expect(await ids({ limit: 0 })).toEqual([]);
    });

    it('are listed by kind and status, however many others there are', async () => {
      const kinds = ['run', 'plan', 'retry', 'run'] as const;
      const statuses = ['failed', 'done', 'done'] as const;
      for (const number of range(12)) {
        const [kind = 'run', status = 'done'] = [kinds[number % 4], statuses[number % 3]];
        await processes.state.runs.create(sampleRun({ id: `${number}`, startedAt: number, kind, status }));
      }
      const ids = async (filter: RunsFilter) =>
        (await processes.other.runs.list(filter)).map(({ id }) => Number(id));
      expect(await ids({ kinds: ['plan', 'retry'] })).toEqual([10, 9, 6, 5, 2, 1]);
      expect(await ids({ statuses: ['failed'] })).toEqual([9, 6, 3, 0]);
      expect(await ids({ statuses: ['failed'], kinds: ['run'], limit: 1 })).toEqual([3]);
      expect(await ids({ kinds: ['plan'], limit: 2 })).toEqual([9, 5]);
      expect(await ids({ kinds: [] })).toEqual([]);
      expect(await ids({ job: 'unknown', kinds: ['run'] })).toEqual([]);
      expect(await ids({})).toHaveLength(12);
    });

    it('have a sequence that grows in every process, also past runs that are gone', async () => {
      const begin = async (id: string, { runs }: State) => {
        await runs.create(sampleRun({ id, startedAt: 1_000 - Number(id), sequence: 99 }));
        return (await runs.get(id))?.sequence ?? 0;
      };
      const first = await begin('1', processes.state);
      const second = await begin('2', processes.other);
      expect(second).toBeGreaterThan(first);
      await processes.other.runs.remove('2');
      const third = await begin('3', processes.state);
      expect(third).toBeGreaterThan(second);
      const many = await Promise.all(
        range(20).map((index) => begin(`${index + 4}`, index % 2 === 0 ? processes.state : processes.other)),
      );
      expect(new Set(many).size).toBe(20);
      expect(Math.min(...many)).toBeGreaterThan(third);
    });

    it('say which runs had begun when they ended, and again when they were continued', async () => {
      const { runs } = processes.state;
      const sequenceOf = async (id: string) => (await processes.other.runs.get(id))?.sequence;
      for (const id of ['first', 'second']) await runs.create(sampleRun({ id, startedAt: 5_000 }));
      const ended = await runs.update('first', { status: 'failed', finishedAt: 10 });
      expect(ended.endSequence).toBe(await sequenceOf('second'));
      await runs.create(sampleRun({ id: 'third', startedAt: 1 }));
      expect((await runs.update('first', { status: 'running', finishedAt: null })).finishedAt).toBeNull();
      const again = await runs.update('first', { status: 'done', finishedAt: 5 });
      expect(again.endSequence).toBe(await sequenceOf('third'));
      expect(await processes.other.runs.get('first')).toEqual(again);
    });

    it('are forgotten with their outcomes, while the ledger remembers', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      await processes.state.runs.record(
        run,
        1,
        [
          applied(upsert(0, 'shirt', { knownId: 5 }), 7),
          rejected(upsert(1, 'hat')),
          unsent(upsert(2, 'sock')),
        ],
        3,
      );
      await processes.state.runs.remove('run-1');
      await processes.state.runs.create(run);
      expect(await processes.state.runs.list({ limit: 10 })).toHaveLength(1);
      expect(await processes.state.runs.outcomes('run-1', 1)).toEqual(new Map());
      expect(await processes.state.runs.tally('run-1')).toMatchObject({
        applied: 0,
        rejected: 0,
        requests: 0,
      });
      expect(await collected(processes.state.runs.refusals('run-1'))).toEqual([]);
      expect(await processes.state.runs.unsentReasons('run-1')).toEqual([]);
      expect(await processes.state.runs.changedIds('run-1', 5)).toEqual([]);
      expect(await processes.state.runs.changedIdCount('run-1')).toBe(0);
      expect((await processes.state.ledger(TARGET).marks(['shirt']))[0]?.id).toBe(7);
    });
  });

  describe('outcomes', () => {
    const processes = twoProcesses(fresh);

    it('are listed by shard and operation, and sum up', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      const shirt = upsert(3, 'shirt', { rows: 4 });
      await processes.state.runs.record(run, 1, [applied(shirt), rejected(upsert(0, 'hat', { rows: 2 }))], 5);
      await processes.state.runs.record(
        run,
        2,
        [unsent(upsert(1, 'sock')), applied(deletion(0, 'coat', 9), null)],
        4,
      );
      await processes.state.runs.record(run, 2, [], 2);
      const shard = await processes.other.runs.outcomes('run-1', 1);
      expect(new Map([...shard].sort(([one], [two]) => one - two))).toEqual(
        new Map([
          [0, 'rejected'],
          [3, 'applied'],
        ]),
      );
      expect(await processes.other.runs.outcomes('run-1', 2)).toEqual(
        new Map([
          [0, 'applied'],
          [1, 'unsent'],
        ]),
      );
      expect(await processes.other.runs.outcomes('run-1', 3)).toEqual(new Map());
      expect(await processes.other.runs.tally('run-1')).toEqual({
        applied: 1,
        appliedRows: 4,
        rejected: 1,
        rejectedRows: 2,
        deleted: 1,
        left: 0,
        requests: 11,
      });
    });

    it('replace earlier ones of the same operation, sums and reasons included', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      const shirt = upsert(0, 'shirt', { rows: 3 });
      const hat = upsert(1, 'hat');
      await processes.state.runs.record(run, 1, [unsent(shirt), rejected(hat)], 2);
      await processes.state.runs.record(run, 1, [unsent(shirt, 'The connection was lost.')], 1);
      expect(await processes.state.runs.unsentReasons('run-1')).toEqual([
        { reason: { code: 'store-503', message: 'The connection was lost.' }, count: 1 },
      ]);
      await processes.state.runs.record(run, 1, [applied(shirt), applied(hat)], 2);
      await processes.state.runs.record(run, 1, [applied(shirt)], 1);
      expect(await processes.state.runs.unsentReasons('run-1')).toEqual([]);
      expect(await collected(processes.state.runs.refusals('run-1'))).toEqual([]);
      expect(await processes.state.runs.tally('run-1')).toEqual({
        applied: 2,
        appliedRows: 4,
        rejected: 0,
        rejectedRows: 0,
        deleted: 0,
        left: 0,
        requests: 6,
      });
    });

    it('give the refusals in the order of the plan', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      for (const shard of [3, 1, 2]) {
        const results = range(400).map((index) => rejected(upsert(399 - index, `${shard}-${399 - index}`)));
        await processes.state.runs.record(run, shard, results, 400);
      }
      const refusals = await collected(processes.other.runs.refusals('run-1'));
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
      await processes.state.runs.create(run);
      const results = range(5).map((index) =>
        unsent(upsert(index, `key-${index}`), index < 2 ? 'rare' : 'often'),
      );
      await processes.state.runs.record(run, 1, results, 5);
      const reasons = await processes.other.runs.unsentReasons('run-1');
      expect(reasons.map(({ reason, count }) => [reason.message, count])).toEqual([
        ['often', 3],
        ['rare', 2],
      ]);
    });

    it('show where the store answered another id than before', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      await processes.state.runs.record(
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
      expect(await processes.other.runs.changedIds('run-1', 10)).toEqual([
        shirt,
        { key: 'cap', knownId: 11, answeredId: 110 },
      ]);
      expect(await processes.other.runs.changedIds('run-1', 1)).toEqual([shirt]);
      expect(await processes.other.runs.changedIdCount('run-1')).toBe(2);
      expect((await processes.state.ledger(TARGET).marks(['shirt']))[0]?.id).toBe(70);
    });

    it('are all written when many are recorded at once', async () => {
      const run = sampleRun();
      await processes.state.runs.create(run);
      await Promise.all(
        range(200).map((index) =>
          (index % 2 === 0 ? processes.state : processes.other).runs.record(
            run,
            index % 3,
            [applied(upsert(index, `key-${index}`))],
            1,
          ),
        ),
      );
      expect(await processes.state.runs.tally('run-1')).toMatchObject({ applied: 200, requests: 200 });
      expect(await processes.state.ledger(TARGET).count('nightly')).toBe(200);
    });

    it('survive SIGKILL once acknowledged, each together with its mark', async () => {
      const child = startChild(processes.opening, 'record', targetLockName(TARGET));
      await child.saying('recorded 20');
      await child.end();
      const last = Number(child.lines.at(-1)?.split(' ')[1]);
      const marked = await processes.state.ledger(TARGET).count('of-child');
      expect((await processes.state.runs.tally('run-of-child')).applied).toBe(marked);
      expect(marked % CHILD_BATCH).toBe(0);
      expect(marked).toBeGreaterThanOrEqual((last + 1) * CHILD_BATCH);
      for (let batch = 0; batch <= last; batch++) {
        expect((await processes.state.runs.outcomes('run-of-child', batch)).size).toBe(CHILD_BATCH);
      }
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
    held: 0,
    requests: 3,
    fieldsChanged: {},
    inRows: { applied: 6, unchanged: 6, rejected: 0, skipped: 0, unsent: 0, held: 0 },
  };
}
