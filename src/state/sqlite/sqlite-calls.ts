import type { DatabaseSync } from 'node:sqlite';
import { createBodies, createJournal } from './journal.ts';
import { createLockRows, type LockRows } from './lock-rows.ts';
import { createNames } from './open-state-database.ts';
import { createSqliteAddresses, type SqliteAddresses } from './sqlite-addresses.ts';
import { createSqliteAudit, type SqliteAudit } from './sqlite-audit.ts';
import { createSqliteDoubts, type SqliteDoubts } from './sqlite-doubts.ts';
import { createKeepVersions, createSqliteHistory, type SqliteHistory } from './sqlite-history.ts';
import { createSqliteLedger, type SqliteLedger } from './sqlite-ledger.ts';
import { createSqliteQueue, type SqliteQueue } from './sqlite-queue.ts';
import {
  createSqliteOutcomes,
  createSqliteRuns,
  type SqliteOutcomes,
  type SqliteRuns,
} from './sqlite-runs.ts';

/** All calls of the database thread. */
export interface SqliteCalls
  extends SqliteLedger,
    SqliteDoubts,
    SqliteHistory,
    SqliteRuns,
    SqliteOutcomes,
    SqliteQueue,
    LockRows,
    SqliteAddresses,
    SqliteAudit {}

/** The calls on an open database, all on one connection. */
export function createSqliteCalls(database: DatabaseSync): SqliteCalls {
  const names = createNames(database);
  const bodies = createBodies(database);
  const journal = createJournal(database, bodies, createKeepVersions(database, bodies));
  const { endDoubts, ...doubts } = createSqliteDoubts(database, names, journal);
  return {
    ...createSqliteLedger(database, names, journal, bodies),
    ...doubts,
    ...createSqliteHistory(database, names, journal, bodies),
    ...createSqliteRuns(database),
    ...createSqliteOutcomes(database, names, journal, bodies, endDoubts),
    ...createSqliteQueue(database),
    ...createLockRows(database),
    ...createSqliteAddresses(database),
    ...createSqliteAudit(database),
  };
}
