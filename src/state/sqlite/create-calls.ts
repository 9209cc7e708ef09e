import type { DatabaseSync } from 'node:sqlite';
import { createBodies } from './bodies.ts';
import type { SqliteCalls } from './calls.ts';
import { createDoubts } from './doubts.ts';
import { createJournal } from './journal.ts';
import { createSqliteLedger } from './ledger.ts';
import { createSqliteLockRows } from './lock-rows.ts';
import { createNames } from './names.ts';
import { createSqliteOutcomes } from './outcomes.ts';
import { createSqliteRuns } from './runs.ts';

/** What can be asked of an open database, all of one connection. */
export function createSqliteCalls(database: DatabaseSync): SqliteCalls {
  const names = createNames(database);
  const bodies = createBodies(database);
  const journal = createJournal(database, bodies);
  const { endDoubts, ...doubts } = createDoubts(database, names, journal);
  return {
    ...createSqliteLedger(database, names, journal, bodies),
    ...doubts,
    ...createSqliteRuns(database),
    ...createSqliteLockRows(database),
    ...createSqliteOutcomes(database, names, journal, bodies, endDoubts),
  };
}
