import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import type { AuditEntry, JobAction } from '../../model/action.ts';
import { chainAuditEntry } from '../chain-audit-entry.ts';
import {
  type AddressCheck,
  type AddressToRemember,
  AUDIT_KEPT_MS,
  CHECK_KEPT_MS,
  isWholeRun,
  MAX_AUDIT_ENTRIES,
  OPEN_STATUSES,
  type QueueEntry,
  type StateQueue,
} from '../state.ts';
import { createBodies, createJournal } from './journal.ts';
import { createNames, inTransaction, keysJson, type Names } from './open-state-database.ts';
import { sqliteDoubts } from './sqlite-doubts.ts';
import { integer, isOne, jsonObject, readRow, text, textOrNull } from './sqlite-error.ts';
import { createObservations, sqliteHistory, sqliteLedger } from './sqlite-ledger.ts';
import { createLockRows } from './sqlite-locks.ts';
import { sqliteOutcomes, sqliteRuns } from './sqlite-runs.ts';

/** Ended entries that are kept, for commands that follow a run. */
const MAX_KEPT = 1_000;

/** The calls of the database thread about the queue of the worker. */
type SqliteQueue = {
  readonly [Method in keyof StateQueue]: (
    ...args: Parameters<StateQueue[Method]>
  ) => Awaited<ReturnType<StateQueue[Method]>>;
};

/** The queue in an open database. */
function createSqliteQueue(database: DatabaseSync): SqliteQueue {
  const selectSchedules = database.prepare('SELECT job, cron, timezone, next FROM schedules ORDER BY job');
  const replaceSchedule = database.prepare(
    'INSERT OR REPLACE INTO schedules (job, cron, timezone, next) VALUES (?, ?, ?, ?)',
  );
  const deleteSchedule = database.prepare('DELETE FROM schedules WHERE job = ?');
  const moveSchedule = database.prepare(
    'UPDATE schedules SET next = ? WHERE job = ? AND cron = ? AND timezone = ? AND next = ?',
  );
  const insert = database.prepare('INSERT OR IGNORE INTO queue (id, job, whole, action) VALUES (?, ?, ?, ?)');
  const columns = 'SELECT id, action, taken, run, ended, error FROM queue';
  const select = database.prepare(`${columns} WHERE id = ?`);
  const selectOpen = database.prepare(`${columns} WHERE ended = 0 ORDER BY number`);
  const selectOfJob = database.prepare('SELECT id FROM queue WHERE job = ? AND ended = 0 AND whole = 1');
  // A worker that has not ended the entry may still leave it.
  const passOver = database.prepare(
    `UPDATE queue SET whole = 0 WHERE job = ? AND ended = 0 AND whole = 1 AND EXISTS (
       SELECT 1 FROM runs WHERE runs.id = coalesce(run, queue.id)
         AND (document ->> 'interruptAskedAt' IS NOT NULL
           OR document ->> 'status' NOT IN (SELECT value FROM json_each(?))))`,
  );
  const take = database.prepare('UPDATE queue SET taken = 1 WHERE id = ? AND taken = 0 AND ended = 0');
  const begin = database.prepare('UPDATE queue SET run = ? WHERE id = ? AND ended = 0');
  const release = database.prepare('UPDATE queue SET taken = 0 WHERE id = ? AND ended = 0');
  const releaseAll = database.prepare('UPDATE queue SET taken = 0 WHERE ended = 0 AND taken = 1');
  const end = database.prepare('UPDATE queue SET ended = 1, run = ?, error = ? WHERE id = ?');
  const prune = database.prepare(
    'DELETE FROM queue WHERE ended = 1 AND number <= (SELECT max(number) FROM queue) - ?',
  );
  const remove = database.prepare('DELETE FROM queue WHERE id = ? AND taken = 0 AND ended = 0');

  const add = (id: string, action: JobAction) => {
    const isWhole = isWholeRun(action);
    if (isWhole) passOver.run(action.job, JSON.stringify(OPEN_STATUSES));
    return Number(insert.run(id, action.job, Number(isWhole), JSON.stringify(action)).changes) === 1;
  };
  return {
    schedules: () =>
      selectSchedules
        .all()
        .map((row) => readRow(row, 'schedules', { job: text, cron: text, timezone: text, next: integer })),
    setSchedule: ({ job, cron, timezone, next }, overdue) =>
      inTransaction(database, () => {
        if (overdue !== null) add(overdue, { does: 'run', job });
        replaceSchedule.run(job, cron, timezone, next);
      }),
    removeSchedule(job) {
      deleteSchedule.run(job);
    },
    tick: ({ job, cron, timezone, next: due }, next, id) =>
      inTransaction(database, () => {
        if (Number(moveSchedule.run(next, job, cron, timezone, due).changes) === 0) return 'changed';
        return add(id, { does: 'run', job }) ? 'added' : 'dropped';
      }),
    addEntry: ({ id, action }) =>
      inTransaction(database, () =>
        add(id, action) || select.get(id) !== undefined
          ? id
          : text(selectOfJob.get(action.job)?.['id'], 'queue.id'),
      ),
    entry(id) {
      const row = select.get(id);
      return row === undefined ? undefined : entryOf(row);
    },
    openEntries: () => selectOpen.all().map(entryOf),
    takeEntry: (id) => Number(take.run(id).changes) === 1,
    beginEntry(id, run) {
      begin.run(run, id);
    },
    releaseEntry(id) {
      if (id === undefined) releaseAll.run();
      else release.run(id);
    },
    endEntry: (id, { run, error }) =>
      inTransaction(database, () => {
        end.run(run, error, id);
        prune.run(MAX_KEPT);
      }),
    removeEntry: (id) => Number(remove.run(id).changes) === 1,
  };
}

type Row = Readonly<Record<string, SQLOutputValue>>;

function entryOf(row: Row): QueueEntry {
  const { action, ...entry } = readRow(row, 'queue', {
    id: text,
    action: text,
    taken: isOne,
    run: textOrNull,
    ended: isOne,
    error: textOrNull,
  });
  return { ...entry, action: JSON.parse(action) };
}

/** All calls of the database thread. */
export type SqliteCalls = ReturnType<typeof createSqliteCalls>;

/** The calls on an open database, all on one connection. */
export function createSqliteCalls(database: DatabaseSync) {
  const names = createNames(database);
  const bodies = createBodies(database);
  const journal = createJournal(database, bodies);
  const observations = createObservations(database, names, journal);
  const { endDoubts, ...doubts } = sqliteDoubts(database, names, journal);
  return {
    ...sqliteLedger(database, names, journal, bodies),
    ...doubts,
    ...observations.calls,
    ...sqliteHistory(database, names, journal, bodies),
    ...sqliteRuns(database),
    ...sqliteOutcomes(database, names, journal, bodies, endDoubts, observations),
    ...createSqliteQueue(database),
    ...createSqliteRenaming(database, names),
    ...createLockRows(database),
    ...createSqliteAddresses(database),
    ...createSqliteAudit(database),
  };
}

/** The tables with the number of the job that sent a key. */
const OWNED = ['marks', 'journal', 'doubts'] as const;

/** The call on an open database. */
function createSqliteRenaming(database: DatabaseSync, names: Names) {
  const renamed = (document: SQLOutputValue | undefined, job: string) =>
    JSON.stringify({ ...jsonObject(document, 'document'), job });
  return {
    renameJob: (from: string, to: string) =>
      inTransaction(database, () => {
        // Prepared here, because few processes rename a job.
        const selectRuns = database.prepare('SELECT id, document FROM runs WHERE job = ?');
        const updateRun = database.prepare('UPDATE runs SET job = ?, document = ? WHERE id = ?');
        const selectHistory = database.prepare(
          "SELECT target, run, document FROM version_runs WHERE document ->> 'job' = ?",
        );
        const updateHistory = database.prepare(
          'UPDATE version_runs SET document = ? WHERE target = ? AND run = ?',
        );
        // Other processes keep the name of a number, so the number changes.
        for (const table of OWNED)
          database.prepare(`UPDATE ${table} SET job = ? WHERE job = ?`).run(names.job(to), names.job(from));
        for (const { id, document } of selectRuns.all(from))
          updateRun.run(to, renamed(document, to), text(id, 'runs.id'));
        for (const { target, run, document } of selectHistory.all(from))
          updateHistory.run(
            renamed(document, to),
            integer(target, 'version_runs.target'),
            integer(run, 'version_runs.run'),
          );
        database.prepare('UPDATE OR REPLACE schedules SET job = ? WHERE job = ?').run(to, from);
      }),
  };
}

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
    findAddresses(addresses: readonly string[]): (AddressCheck | undefined)[] {
      const found = addresses.map((): AddressCheck | undefined => undefined);
      for (const row of select.all(keysJson(addresses))) {
        const columns = { place: integer, version: textOrNull, at: integer };
        const { place, ...check } = readRow(row, 'checked_addresses', columns);
        found[place] = check;
      }
      return found;
    },
    rememberAddresses(checks: readonly AddressToRemember[], at: number) {
      inTransaction(database, () => {
        forget.run(at - CHECK_KEPT_MS);
        for (const { address, version } of checks) insert.run(address, version, at);
      });
    },
  };
}

/** The calls on an open database. */
function createSqliteAudit(database: DatabaseSync) {
  const insert = database.prepare('INSERT INTO audit (at, entry) VALUES (?, ?)');
  // Only the oldest, whatever their time is: a gap would break the chain.
  const forget = database.prepare(
    `DELETE FROM audit WHERE number <= (SELECT max(number) FROM audit) - ?
     OR number < (SELECT number FROM audit WHERE +at >= ? ORDER BY number LIMIT 1)`,
  );
  const select = database.prepare('SELECT entry FROM audit ORDER BY number DESC LIMIT ? OFFSET ?');
  const auditEntries = (offset: number, count: number) =>
    select.all(count, offset).map(({ entry }) => text(entry, 'audit.entry'));
  return {
    auditEntries,
    appendAudit(entry: AuditEntry) {
      inTransaction(database, () => {
        insert.run(entry.at, chainAuditEntry(entry, auditEntries(0, 1)[0]));
        forget.run(MAX_AUDIT_ENTRIES, entry.at - AUDIT_KEPT_MS);
      });
    },
  };
}
