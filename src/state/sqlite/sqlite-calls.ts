import type { DatabaseSync } from 'node:sqlite';
import { AUDIT_KEPT_MS, MOST_AUDITED } from '../../model/audit-entry.ts';
import { type AddressCheck, type AddressToRemember, FORGOTTEN_MS } from '../state.ts';
import { createBodies, createJournal } from './journal.ts';
import { createLockRows, type LockRows } from './lock-rows.ts';
import { createNames, inTransaction } from './open-state-database.ts';
import { createSqliteDoubts, type SqliteDoubts } from './sqlite-doubts.ts';
import { integer, text, textOrNull } from './sqlite-error.ts';
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

/** The calls of the database thread for image addresses that were found good. Addresses arrive as `keysJson`. */
type SqliteAddresses = ReturnType<typeof createSqliteAddresses>;

/** The calls on an open database. */
function createSqliteAddresses(database: DatabaseSync) {
  const select = database.prepare(
    `SELECT wanted.key AS place, version, at FROM json_each(?) AS wanted
     CROSS JOIN checked_addresses WHERE address = wanted.value`,
  );
  const insert = database.prepare(
    `INSERT INTO checked_addresses (address, version, at) VALUES (?, ?, ?)
     ON CONFLICT DO UPDATE SET version = excluded.version, at = excluded.at`,
  );
  const forget = database.prepare('DELETE FROM checked_addresses WHERE at < ?');
  return {
    findAddresses(addresses: string, count: number): (AddressCheck | undefined)[] {
      const found = Array.from({ length: count }, (): AddressCheck | undefined => undefined);
      for (const { place, version, at } of select.all(addresses)) {
        const position = integer(place, 'key');
        found[position] = {
          version: textOrNull(version, 'checked_addresses.version'),
          at: integer(at, 'checked_addresses.at'),
        };
      }
      return found;
    },
    rememberAddresses(checks: readonly AddressToRemember[], at: number) {
      inTransaction(database, () => {
        forget.run(at - FORGOTTEN_MS);
        for (const { address, version } of checks) insert.run(address, version, at);
      });
    },
  };
}

/** The calls of the database thread for the audit log. Entries are JSON. */
type SqliteAudit = ReturnType<typeof createSqliteAudit>;

/** The calls on an open database. */
function createSqliteAudit(database: DatabaseSync) {
  const insert = database.prepare('INSERT INTO audit (at, entry) VALUES (?, ?)');
  const forget = database.prepare(
    'DELETE FROM audit WHERE at < ? OR number <= (SELECT max(number) FROM audit) - ?',
  );
  const select = database.prepare('SELECT entry FROM audit ORDER BY number DESC LIMIT ? OFFSET ?');
  return {
    appendAudit(entry: string, at: number) {
      inTransaction(database, () => {
        insert.run(at, entry);
        forget.run(at - AUDIT_KEPT_MS, MOST_AUDITED);
      });
    },
    auditEntries: (offset: number, count: number): string[] =>
      select.all(count, offset).map(({ entry }) => text(entry, 'audit.entry')),
  };
}
