import type { DatabaseSync } from 'node:sqlite';
import { StateError } from '../../model/storeferry-error.ts';
import { FORGOTTEN_BODY, type HistoryRun, type HistorySize, type LedgerTarget } from '../state.ts';
import { encodeBefore, encodeVersion } from '../stored-version.ts';
import type { Bodies, Journal } from './journal.ts';
import { BUSY_TIMEOUT_MS, inTransaction, keysJson, type Names } from './open-state-database.ts';
import { DamagedValue, integer, integerOrNull, text } from './sqlite-error.ts';

/** The versions of a key, newest first, and the body that the ledger has at the same moment. */
interface KeyVersions {
  body: string | null;
  /** `run`: its document. */
  readonly rows: { readonly run: string; readonly at: number; readonly content: Uint8Array }[];
}

/** The calls of the database thread about the history. */
export type SqliteHistory = ReturnType<typeof createSqliteHistory>;

/** What SQLite stores of a version besides its content: its row, and its entry of the index. */
const BYTES_PER_VERSION = 45;
const PAGE_SIZE = 1_000;

/** A version to write. `old` and `next` are numbers of bodies. */
interface Kept {
  readonly target: number;
  /** The number of its key, and its own among the versions of the key. */
  readonly key: number;
  readonly number: number;
  readonly run: number;
  readonly at: number;
  readonly head: string;
  readonly old: number | null;
  readonly next: number | null;
}

/**
 * Turns rows of the journal into versions, within the transaction of a merge and before it changes `marks`: the merge removes
 * the bodies that versions replace. Reads these bodies in the order in which they are stored, to unpack each block once.
 */
export function createKeepVersions(database: DatabaseSync, bodies: Bodies): () => void {
  const concerns = database.prepare(
    'SELECT 1 WHERE EXISTS (SELECT 1 FROM versions) OR EXISTS (SELECT 1 FROM journal WHERE run IS NOT NULL)',
  );
  const addKeys = database.prepare(
    `INSERT OR IGNORE INTO version_keys (target, key)
     SELECT DISTINCT target, key FROM journal WHERE run IS NOT NULL ORDER BY target, key`,
  );
  const select = database.prepare(
    `SELECT journal.target, version_keys.number, run, at, head, journal.body, marks.body,
       coalesce((SELECT max(number) FROM versions WHERE versions.key = version_keys.number), 0)
     FROM journal JOIN version_keys USING (target, key) LEFT JOIN marks USING (target, key)
     ORDER BY target, key, journal.number`,
  );
  select.setReturnArrays(true);
  const insert = database.prepare(
    'INSERT INTO versions (key, number, run, at, content) VALUES (?, ?, ?, ?, ?)',
  );
  const remove = database.prepare('DELETE FROM versions WHERE key = ?');
  const addSize = database.prepare(
    'UPDATE version_runs SET versions = versions + ?, bytes = bytes + ? WHERE target = ? AND run = ?',
  );

  /** The versions to keep, by key; removes the history of keys that were acknowledged without a version. */
  const read = (): Kept[] => {
    const kept: Kept[] = [];
    let last: Pick<Kept, 'key' | 'number' | 'next'> | undefined;
    for (const row of select.all()) {
      const key = integer(row[1], 'version_keys.number');
      const before = last?.key === key ? last : undefined;
      const number = (before?.number ?? integer(row[7], 'versions.number')) + 1;
      const next = integerOrNull(row[5], 'journal.body');
      last = { key, number, next };
      if (row[2] === null) {
        remove.run(key);
        while (kept.at(-1)?.key === key) kept.pop();
        continue;
      }
      kept.push({
        key,
        number,
        next,
        target: integer(row[0], 'journal.target'),
        old: before === undefined ? integerOrNull(row[6], 'marks.body') : before.next,
        run: integer(row[2], 'journal.run'),
        at: integer(row[3], 'journal.at'),
        head: text(row[4], 'journal.head'),
      });
    }
    return kept;
  };
  const contentOf = ({ head, old, next }: Kept, body: ReturnType<Bodies['reader']>): Buffer => {
    if (old === null) return encodeVersion(head, null);
    const read = () => {
      const found = body(old);
      if (found === null) throw new StateError(`The body ${old} is gone.`);
      return { body: found, after: next === null ? null : body(next) };
    };
    return encodeVersion(head, encodeBefore(read));
  };

  return () => {
    if (concerns.get() === undefined) return;
    addKeys.run();
    const kept = read();
    // As latin1 texts: each small buffer would keep the whole pool in memory that it shares with unpacked bodies.
    const contents = new Map<Kept, string>();
    const body = bodies.reader();
    for (const version of kept.toSorted((one, other) => (one.old ?? 0) - (other.old ?? 0))) {
      contents.set(version, contentOf(version, body).toString('latin1'));
    }
    const sizes = new Map<string, { target: number; run: number; versions: number; bytes: number }>();
    for (const version of kept) {
      const { target, key, number, run, at } = version;
      const content = Buffer.from(contents.get(version) ?? '', 'latin1');
      insert.run(key, number, run, at, content);
      const size = sizes.get(`${target} ${run}`) ?? { target, run, versions: 0, bytes: 0 };
      size.versions += 1;
      size.bytes += content.length + BYTES_PER_VERSION;
      sizes.set(`${target} ${run}`, size);
    }
    for (const { target, run, versions, bytes } of sizes.values()) addSize.run(versions, bytes, target, run);
  };
}

/** The history of an open database. */
export function createSqliteHistory(database: DatabaseSync, names: Names, journal: Journal, bodies: Bodies) {
  const insertRun = database.prepare(
    `INSERT OR IGNORE INTO version_runs (target, run, id, at, document)
     SELECT ?, number, id, ?, ? FROM runs WHERE id = ?`,
  );
  const selectVersions = database.prepare(
    `SELECT wanted.key, coalesce(version_runs.document, ''), versions.at, versions.content
     FROM json_each(?) AS wanted CROSS JOIN version_keys CROSS JOIN versions LEFT JOIN version_runs
       ON version_runs.target = version_keys.target AND version_runs.run = versions.run
     WHERE version_keys.target = ? AND version_keys.key = wanted.value AND versions.key = version_keys.number
     ORDER BY wanted.key, versions.number DESC`,
  );
  selectVersions.setReturnArrays(true);
  const selectBodies = database.prepare(
    `SELECT wanted.key, marks.body FROM json_each(?) AS wanted
     CROSS JOIN marks WHERE marks.target = ? AND marks.key = wanted.value`,
  );
  selectBodies.setReturnArrays(true);
  const selectKeys = database.prepare(
    `SELECT DISTINCT version_keys.number, version_keys.key FROM versions
     JOIN version_keys ON version_keys.number = versions.key
     WHERE versions.run = (SELECT run FROM version_runs WHERE target = ? AND id = ?) AND versions.key > ?
     ORDER BY versions.key LIMIT ${PAGE_SIZE}`,
  );
  const selectRuns = database.prepare('SELECT document FROM version_runs WHERE target = ? ORDER BY run DESC');
  const sum = database.prepare(
    'SELECT coalesce(sum(versions), 0) AS versions, coalesce(sum(bytes), 0) AS bytes FROM version_runs WHERE target = ?',
  );
  const expired = 'SELECT run FROM version_runs WHERE target = :target AND at < :before';
  const anyExpired = database.prepare(`${expired} LIMIT 1`);
  const pruneSteps = [
    // Older versions of the same record are removed too: each is the difference to the next one.
    `DELETE FROM versions WHERE key IN (SELECT key FROM versions WHERE run IN (${expired})) AND number <= (
       SELECT max(number) FROM versions AS gone WHERE gone.key = versions.key AND gone.run IN (${expired}))`,
    `DELETE FROM version_keys WHERE target = :target
       AND NOT EXISTS (SELECT 1 FROM versions WHERE versions.key = version_keys.number) AND :before IS NOT NULL`,
    'DELETE FROM version_runs WHERE target = :target AND at < :before',
  ].map((step) => database.prepare(step));

  const selectBody = database.prepare('SELECT body FROM marks WHERE target = ? AND key = ?');
  const ofKey = 'key = (SELECT number FROM version_keys WHERE target = :target AND key = :key)';
  const forgetSteps = [
    `UPDATE version_runs SET versions = versions - gone.count, bytes = bytes - gone.size FROM (
       SELECT run, count(*) AS count, sum(length(content) + ${BYTES_PER_VERSION}) AS size FROM versions WHERE ${ofKey} GROUP BY run
     ) AS gone WHERE version_runs.target = :target AND version_runs.run = gone.run`,
    `DELETE FROM versions WHERE ${ofKey}`,
    'DELETE FROM version_keys WHERE target = :target AND key = :key',
    'DELETE FROM observations WHERE target = :target AND key = :key',
  ].map((step) => database.prepare(step));

  return {
    /** `Ledger.forget`. */
    forget(target: LedgerTarget, key: string) {
      journal.merge();
      const values = { target: names.findTarget(target), key };
      inTransaction(database, () => {
        for (const step of forgetSteps) step.run(values);
        const body = integerOrNull(selectBody.get(values.target, key)?.['body'] ?? null, 'marks.body');
        bodies.replace(body, FORGOTTEN_BODY);
      });
      // Freed pages still contain the removed values. In memory the copy would take as much as the whole database.
      database.exec('PRAGMA temp_store = FILE');
      database.exec('VACUUM');
      database.exec('PRAGMA temp_store = MEMORY');
    },
    /** Whether the write-ahead log is empty now: it is not while another process reads, after a wait of this long. */
    truncateLog(waitMs: number): boolean {
      database.exec(`PRAGMA busy_timeout = ${waitMs}`);
      try {
        return database.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get()?.['busy'] === 0;
      } finally {
        database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      }
    },
    beginHistory(target: LedgerTarget, run: HistoryRun) {
      inTransaction(database, () => {
        insertRun.run(names.target(target), run.at, JSON.stringify(run), run.id);
      });
    },
    versions(target: LedgerTarget, wanted: readonly string[]): KeyVersions[] {
      journal.merge();
      const keys = keysJson(wanted);
      const found = wanted.map((): KeyVersions => ({ body: null, rows: [] }));
      const number = names.findTarget(target);
      // In one transaction: another process may merge between reading the rows and their bodies.
      database.exec('BEGIN');
      try {
        const read = bodies.reader();
        for (const row of selectBodies.all(keys, number)) {
          const known = found[integer(row[0], 'marks.key')];
          if (known !== undefined) known.body = read(integer(row[1], 'marks.body'));
        }
        for (const row of selectVersions.all(keys, number)) {
          const content = row[3];
          if (!(content instanceof Uint8Array)) throw new DamagedValue('versions.content');
          found[integer(row[0], 'version_keys.key')]?.rows.push({
            run: text(row[1], 'version_runs.document'),
            at: integer(row[2], 'versions.at'),
            content,
          });
        }
      } finally {
        database.exec('COMMIT');
      }
      return found;
    },
    /** A page of the keys of a run after this number, each with its number; empty at the end. */
    keysOfRunAfter(target: LedgerTarget, run: string, after: number): { number: number; key: string }[] {
      journal.merge();
      const rows = selectKeys.all(names.findTarget(target), run, after);
      const page = rows.map(({ number, key }) => ({
        number: integer(number, 'version_keys.number'),
        key: text(key, 'version_keys.key'),
      }));
      if (page.some(({ number }) => number <= after)) throw new DamagedValue('versions.key');
      return page;
    },
    /** The documents of the runs, newest first. */
    historyRuns(target: LedgerTarget): string[] {
      const rows = selectRuns.all(names.findTarget(target));
      return rows.map(({ document }) => text(document, 'version_runs.document'));
    },
    pruneHistory(target: LedgerTarget, before: number) {
      journal.merge();
      const values = { target: names.findTarget(target), before };
      if (anyExpired.get(values) === undefined) return;
      inTransaction(database, () => {
        for (const step of pruneSteps) step.run(values);
      });
    },
    historySize(target: LedgerTarget): HistorySize {
      const { versions, bytes } = sum.get(names.findTarget(target)) ?? {};
      return {
        versions: integer(versions ?? 0, 'version_runs.versions'),
        bytes: integer(bytes ?? 0, 'version_runs.bytes'),
      };
    },
  };
}
