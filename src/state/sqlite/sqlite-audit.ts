import type { DatabaseSync } from 'node:sqlite';
import { AUDIT_KEPT_MS, MOST_AUDITED } from '../state.ts';
import { inTransaction } from './open-state-database.ts';
import { text } from './sqlite-error.ts';

/** The calls of the database thread for the audit log. Entries are JSON. */
export interface SqliteAudit {
  appendAudit(entry: string, at: number): void;
  auditEntries(offset: number, count: number): string[];
}

/** The calls on an open database. */
export function createSqliteAudit(database: DatabaseSync): SqliteAudit {
  const insert = database.prepare('INSERT INTO audit (at, entry) VALUES (?, ?)');
  const forget = database.prepare(
    'DELETE FROM audit WHERE at < ? OR number <= (SELECT max(number) FROM audit) - ?',
  );
  const select = database.prepare('SELECT entry FROM audit ORDER BY number DESC LIMIT ? OFFSET ?');
  return {
    appendAudit(entry, at) {
      inTransaction(database, () => {
        insert.run(at, entry);
        forget.run(at - AUDIT_KEPT_MS, MOST_AUDITED);
      });
    },
    auditEntries: (offset, count) => select.all(count, offset).map(({ entry }) => text(entry, 'audit.entry')),
  };
}
