import type { DatabaseSync } from 'node:sqlite';
import { StateError } from '../../model/storeferry-error.ts';
import type { HistoryRun, HistorySize, LedgerTarget } from '../state.ts';
import { encodeBefore, encodeVersion } from '../stored-version.ts';
import type { Bodies, Journal } from './journal.ts';
import { inTransaction, type Names } from './open-state-database.ts';
import { DamagedValue, integer, integerOrNull, text } from './sqlite-error.ts';

/** Versions in columns, by position. */
export interface VersionColumns {
  /** The positions of their keys. */
  readonly keys: number[];
  /** The numbers of their runs. */
  readonly runs: number[];
  readonly ats: number[];
  readonly contents: Uint8Array[];
  /** The documents of the runs by their numbers. */
  readonly documents: ReadonlyMap<number, string>;
  /** The bodies of the ledger by the positions of their keys. */
  readonly bodies: (string | null)[];
}

/** The calls of the database thread about the history. Keys arrive as `keysJson`. */
export interface SqliteHistory {
  beginHistory(target: LedgerTarget, run: HistoryRun): void;
  /** The versions of each key, newest first, with the bodies of the ledger at the same moment. */
  versions(target: LedgerTarget, keys: string, count: number): VersionColumns;
  /** A page of the keys of a run after this number, each with its number; empty at the end. */
  keysOfRunAfter(target: LedgerTarget, run: string, after: number): { number: number; key: string }[];
  /** The documents of the runs, newest first. */
  historyRuns(target: LedgerTarget): string[];
  pruneHistory(target: LedgerTarget, before: number): void;
  historySize(target: LedgerTarget): HistorySize;
}

/** What SQLite stores of a version besides its content: its row, and its entry of the index. */
const BYTES_PER_VERSION = 34;
const PAGE_SIZE = 1_000;

/** A version that is about to be kept. `old` and `next` are numbers of bodies. */
interface Kept {
  readonly target: number;
  readonly key: string;
  readonly run: number;
  readonly at: number;
  readonly head: string;
  readonly old: number | null;
  readonly next: number | null;
}

/**
 * Makes versions of the rows of the journal, within the transaction of a merge and before it changes `marks`: when the journal is merged, since only then is the body that each version replaces
 * looked up, in the order in which bodies are stored, and the body itself is about to be removed.
 */
export function createKeepVersions(database: DatabaseSync, bodies: Bodies): () => void {
  const concerns = database.prepare(
    'SELECT 1 WHERE EXISTS (SELECT 1 FROM versions) OR EXISTS (SELECT 1 FROM journal WHERE run IS NOT NULL)',
  );
  const select = database.prepare(
    `SELECT journal.target, journal.key, run, at, head, journal.body, marks.body
     FROM journal LEFT JOIN marks USING (target, key) ORDER BY journal.target, journal.key, journal.number`,
  );
  select.setReturnArrays(true);
  const addKeys = database.prepare(
    `INSERT OR IGNORE INTO version_keys (target, key)
     SELECT DISTINCT target, key FROM journal WHERE run IS NOT NULL ORDER BY target, key`,
  );
  const insert = database.prepare(
    `INSERT INTO versions (key, number, run, at, content)
     SELECT number, coalesce((SELECT max(number) FROM versions WHERE key = version_keys.number), 0) + 1, ?, ?, ?
     FROM version_keys WHERE target = ? AND key = ?`,
  );
  const remove = database.prepare(
    'DELETE FROM versions WHERE key = (SELECT number FROM version_keys WHERE target = ? AND key = ?)',
  );
  const addSize = database.prepare(
    'UPDATE version_runs SET versions = versions + ?, bytes = bytes + ? WHERE target = ? AND run = ?',
  );

  /** The versions to keep, by key; removes the history of keys that were acknowledged without a version. */
  const read = (): Kept[] => {
    const kept: Kept[] = [];
    let last: { readonly target: number; readonly key: string; readonly body: number | null } | undefined;
    for (const row of select.all()) {
      const target = integer(row[0], 'journal.target');
      const key = text(row[1], 'journal.key');
      const next = integerOrNull(row[5], 'journal.body');
      const isSame = last?.target === target && last.key === key;
      const old = isSame ? (last?.body ?? null) : integerOrNull(row[6], 'marks.body');
      last = { target, key, body: next };
      if (row[2] === null) {
        remove.run(target, key);
        if (isSame) while (kept.at(-1)?.key === key && kept.at(-1)?.target === target) kept.pop();
        continue;
      }
      const run = integer(row[2], 'journal.run');
      const at = integer(row[3], 'journal.at');
      kept.push({ target, key, run, at, head: text(row[4], 'journal.head'), old, next });
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
    const kept = read();
    if (kept.length === 0) return;
    addKeys.run();
    const contents = new Map<Kept, Buffer>();
    const body = bodies.reader();
    for (const version of kept.toSorted((one, other) => (one.old ?? 0) - (other.old ?? 0))) {
      contents.set(version, contentOf(version, body));
    }
    for (const version of kept) {
      insert.run(
        version.run,
        version.at,
        contents.get(version) ?? Buffer.alloc(0),
        version.target,
        version.key,
      );
    }
    for (const ofRun of Map.groupBy(kept, ({ target, run }) => `${target} ${run}`).values()) {
      const bytes = ofRun.reduce((sum, version) => sum + (contents.get(version)?.length ?? 0), 0);
      const [first] = ofRun;
      if (first === undefined) continue;
      addSize.run(ofRun.length, bytes + BYTES_PER_VERSION * ofRun.length, first.target, first.run);
    }
  };
}

/** The history of an open database. */
export function createSqliteHistory(
  database: DatabaseSync,
  names: Names,
  journal: Journal,
  bodies: Bodies,
): SqliteHistory {
  const insertRun = database.prepare(
    `INSERT OR IGNORE INTO version_runs (target, run, id, at, document)
     SELECT ?, number, id, ?, ? FROM runs WHERE id = ?`,
  );
  const selectVersions = database.prepare(
    `SELECT wanted.key, versions.run, versions.at, versions.content
     FROM json_each(?) AS wanted CROSS JOIN version_keys CROSS JOIN versions
     WHERE version_keys.target = ? AND version_keys.key = wanted.value AND versions.key = version_keys.number
     ORDER BY wanted.key, versions.number DESC`,
  );
  selectVersions.setReturnArrays(true);
  const selectRun = database.prepare('SELECT document FROM version_runs WHERE target = ? AND run = ?');
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
    // What is older in the same record goes too: it is read by way of the newer ones.
    `DELETE FROM versions WHERE key IN (SELECT key FROM versions WHERE run IN (${expired})) AND number <= (
       SELECT max(number) FROM versions AS gone WHERE gone.key = versions.key AND gone.run IN (${expired}))`,
    `DELETE FROM version_keys WHERE target = :target
       AND NOT EXISTS (SELECT 1 FROM versions WHERE versions.key = version_keys.number) AND :before IS NOT NULL`,
    'DELETE FROM version_runs WHERE target = :target AND at < :before',
  ].map((step) => database.prepare(step));

  return {
    beginHistory(target, run) {
      inTransaction(database, () => {
        insertRun.run(names.target(target), run.at, JSON.stringify(run), run.id);
      });
    },
    versions(target, keys, count) {
      journal.merge();
      const found: VersionColumns = {
        ...{ keys: [], runs: [], ats: [], contents: [] },
        bodies: new Array<string | null>(count).fill(null),
        documents: new Map(),
      };
      const number = names.findTarget(target) ?? 0;
      const documents = new Map<number, string>();
      // Another process may merge in between: rows and bodies belong together.
      database.exec('BEGIN');
      try {
        const read = bodies.reader();
        for (const row of selectBodies.all(keys, number)) {
          found.bodies[integer(row[0], 'marks.key')] = read(integer(row[1], 'marks.body'));
        }
        for (const row of selectVersions.all(keys, number)) {
          const run = integer(row[1], 'versions.run');
          const content = row[3];
          if (!(content instanceof Uint8Array)) throw new DamagedValue('versions.content');
          found.keys.push(integer(row[0], 'version_keys.key'));
          found.runs.push(run);
          found.ats.push(integer(row[2], 'versions.at'));
          found.contents.push(content);
          if (documents.has(run)) continue;
          const document = selectRun.get(number, run)?.['document'];
          documents.set(run, document === undefined ? '' : text(document, 'version_runs.document'));
        }
      } finally {
        database.exec('COMMIT');
      }
      return { ...found, documents };
    },
    keysOfRunAfter(target, run, after) {
      journal.merge();
      const rows = selectKeys.all(names.findTarget(target) ?? 0, run, after);
      const page = rows.map(({ number, key }) => ({
        number: integer(number, 'version_keys.number'),
        key: text(key, 'version_keys.key'),
      }));
      if (page.some(({ number }) => number <= after)) throw new DamagedValue('versions.key');
      return page;
    },
    historyRuns(target) {
      const rows = selectRuns.all(names.findTarget(target) ?? 0);
      return rows.map(({ document }) => text(document, 'version_runs.document'));
    },
    pruneHistory(target, before) {
      journal.merge();
      const values = { target: names.findTarget(target) ?? 0, before };
      if (anyExpired.get(values) === undefined) return;
      inTransaction(database, () => {
        for (const step of pruneSteps) step.run(values);
      });
    },
    historySize(target) {
      const { versions, bytes } = sum.get(names.findTarget(target) ?? 0) ?? {};
      return {
        versions: integer(versions ?? 0, 'version_runs.versions'),
        bytes: integer(bytes ?? 0, 'version_runs.bytes'),
      };
    },
  };
}
