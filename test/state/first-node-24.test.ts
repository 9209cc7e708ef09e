import { DatabaseSync } from 'node:sqlite';
import { afterEach, expect, it, vi } from 'vitest';
import { openStateDatabase } from '../../src/state/sqlite/open-state-database.ts';
import { createSqliteCalls } from '../../src/state/sqlite/sqlite-calls.ts';
import { applied, sampleRun, TARGET, upsert } from './samples.ts';

afterEach(() => vi.restoreAllMocks());

/** Node before 24.14 knows no options of `prepare`, and ignores them: nothing may depend on one. */
function asEarlyNode24(): void {
  const { prepare } = DatabaseSync.prototype;
  vi.spyOn(DatabaseSync.prototype, 'prepare').mockImplementation(function (this: DatabaseSync, sql) {
    return prepare.call(this, sql);
  });
}

it('the first Node 24 reads the ledger as later ones do', async () => {
  asEarlyNode24();
  using database = await openStateDatabase(':memory:');
  const calls = createSqliteCalls(database);
  const run = sampleRun();
  calls.create(run);
  calls.record({ run, shard: 1, results: [applied(upsert(0, 'shirt'), 7)], requests: 1, versionAt: null });
  calls.begin(TARGET, { job: run.job, sender: 'me', keys: ['hat'], parts: [], deletes: [] });

  expect(calls.compare(TARGET, { job: '', keys: ['hat', 'shirt'], memos: [] })).toMatchObject([
    undefined,
    { fingerprint: 'print-of-shirt', id: 7, job: 'nightly' },
  ]);
});
