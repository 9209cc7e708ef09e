import { describe, expect, it } from 'vitest';
import type { Opening } from './child.ts';
import { applied, range, sampleRun, TARGET, upsert } from './samples.ts';
import { collected, twoProcesses } from './two-processes.ts';

/** More keys than are moved at once. */
const KEYS = 2_500;

/** What a job keeps when it gets another name, however it is kept. */
export function describeRenaming(fresh: () => Promise<Opening>): void {
  describe('a renamed job', () => {
    const processes = twoProcesses(fresh);

    it('keeps its runs, its records, its doubts and its history; others keep theirs', async () => {
      const { state, other } = processes;
      const nightly = sampleRun();
      const weekly = sampleRun({ id: 'run-2', job: 'weekly' });
      for (const run of [nightly, weekly]) await state.runs.create(run);
      await state.history(TARGET).begin(nightly, 1_000, []);
      const all = range(KEYS).map((index) => applied(upsert(index, `key-${index}`), index + 1));
      await state.runs.record(nightly, 1, all, KEYS, undefined, 1_000);
      await state.runs.record(weekly, 1, [applied(upsert(0, 'mug'), 9_000)], 1);
      await using sending = await state.sending({ run: nightly, attemptMs: 60_000 });
      await sending.begin([upsert(0, 'new'), upsert(1, 'key-1')]);
      // The other process has read the names before.
      const ledger = other.ledger(TARGET);
      await ledger.marks(['key-7', 'mug']);

      await state.renameJob('nightly', 'outlet', [TARGET]);
      await state.renameJob('nightly', 'outlet', [TARGET]);
      const [found, mug] = await ledger.marks(['key-7', 'mug']);
      expect([found?.job, found?.id, mug?.job]).toEqual(['outlet', 8, 'weekly']);
      expect([await ledger.count('outlet'), await ledger.count('nightly')]).toEqual([KEYS, 0]);
      expect(new Set((await collected(ledger.keysOf('outlet'))).map(({ key }) => key)).size).toBe(KEYS);
      expect(await collected(ledger.unconfirmed('outlet'))).toEqual(['new']);
      expect(await collected(ledger.unconfirmed('nightly'))).toEqual([]);
      const runs = await other.runs.list({ job: 'outlet' });
      expect(runs.map(({ id, job }) => [id, job])).toEqual([['run-1', 'outlet']]);
      expect(await other.runs.list({ job: 'nightly' })).toEqual([]);
      expect((await other.runs.list({ job: 'weekly' })).map(({ id }) => id)).toEqual(['run-2']);
      const [versions = []] = await other.history(TARGET).versions(['key-7']);
      expect(versions.map(({ run }) => run.job)).toEqual(['outlet']);
      // It is found unchanged under its new name.
      const memo = await ledger.compare({ job: 'outlet', keys: ['key-7'], memos: [] });
      expect(memo).toEqual([expect.objectContaining({ job: 'outlet' })]);
    });
  });
}
