import type { DatabaseSync } from 'node:sqlite';
import { isEdited, type Observation, observationText, parseObservation } from '../../model/observation.ts';
import {
  handlesOf,
  INDEXED_AT_ONCE,
  NAME_HANDLES,
  type ProductHandle,
  storedHandle,
} from '../product-handle.ts';
import {
  type CompareQuery,
  FORGOTTEN_BODY,
  type HistoryRun,
  type HistorySize,
  IN_DOUBT,
  type LedgerMark,
  type LedgerTarget,
  type MemoFact,
  type ObservedKey,
  type OwnedKey,
} from '../state.ts';
import { type Bodies, BYTES_PER_VERSION, type Journal } from './journal.ts';
import {
  BUSY_TIMEOUT_MS,
  ID_PROOFS,
  inTransaction,
  keysJson,
  type Names,
  proofOf,
  selectByKeys,
} from './open-state-database.ts';
import {
  DamagedValue,
  inOrder,
  integer,
  integerOrNull,
  jsonObject,
  readRow,
  text,
  textOrNull,
} from './sqlite-error.ts';

const PAGE_SIZE = 1_000;

/** The ledger of an open database. */
export function sqliteLedger(database: DatabaseSync, names: Names, journal: Journal, bodies: Bodies) {
  const selectMarks = selectByKeys(database, 'marks', ['fingerprint', 'id', 'job', 'memo', 'id_proof']);
  const anyDoubt = database.prepare('SELECT 1 FROM doubts WHERE target = ? LIMIT 1');
  const selectDoubted = selectByKeys(database, 'doubts', []);
  const updateMemo = database.prepare(
    'UPDATE marks SET memo = ? WHERE target = ? AND key = ? AND fingerprint = ?',
  );
  const selectBodies = selectByKeys(database, 'marks', ['body']);
  const selectEntries = database.prepare(
    `SELECT key, body FROM marks WHERE target = ? AND key > ? ORDER BY key LIMIT ${PAGE_SIZE}`,
  );
  const startIndex = database.prepare('UPDATE targets SET indexed = 1 WHERE number = ? AND indexed = 0');
  const indexAll = database.prepare(
    'INSERT OR IGNORE INTO unindexed SELECT target, key FROM marks WHERE target = ? ORDER BY key',
  );
  const selectUnindexed = database.prepare(
    `SELECT unindexed.key, marks.id, marks.body FROM unindexed LEFT JOIN marks USING (target, key)
     WHERE unindexed.target = ? ORDER BY unindexed.key LIMIT ${INDEXED_AT_ONCE}`,
  );
  const selectHandles = database.prepare('SELECT handle FROM handles WHERE target = ? AND key = ?');
  const removeHandle = database.prepare('DELETE FROM handles WHERE target = ? AND handle = ? AND key = ?');
  const insertHandle = database.prepare(
    'INSERT OR IGNORE INTO handles (target, handle, key) VALUES (?, ?, ?)',
  );
  const indexed = database.prepare('DELETE FROM unindexed WHERE target = ? AND key = ?');
  const selectByHandles = database.prepare(
    `SELECT wanted.key AS position, handles.key FROM json_each(?) AS wanted
     CROSS JOIN handles WHERE handles.target = ? AND handles.handle = wanted.value ORDER BY position, handles.key`,
  );
  const selectNamed = database.prepare(
    `SELECT key FROM handles WHERE target = ? AND handle >= '${NAME_HANDLES.from}' AND handle < '${NAME_HANDLES.to}'
     AND instr(substr(handle, ${NAME_HANDLES.from.length + 1}), ?) > 0 ORDER BY handle LIMIT ?`,
  );
  const selectBeginning = database.prepare(
    'SELECT key FROM handles WHERE target = ? AND handle >= ? AND handle < ? ORDER BY handle LIMIT ?',
  );
  const countKeys = database.prepare(
    `SELECT count(*) AS count FROM marks
     WHERE target = ? AND job = (SELECT number FROM jobs WHERE name = ?)`,
  );
  const keysFrom = (rest: string) =>
    database.prepare(
      `SELECT key, id, id_proof AS proof FROM marks WHERE target = ? AND job = (SELECT number FROM jobs WHERE name = ?)
       ${rest} ORDER BY key LIMIT ${PAGE_SIZE}`,
    );
  const firstKeys = keysFrom('');
  const nextKeys = keysFrom('AND key > ?');
  const keysByIds = database.prepare(
    `SELECT id, json_group_array(key) AS keys FROM marks
     WHERE target = ? AND id IN (SELECT value FROM json_each(?)) GROUP BY id HAVING count(*) > 1`,
  );
  const doubtIds = database.prepare(
    `UPDATE marks SET id_proof = ${ID_PROOFS.indexOf('once')}
     WHERE target = ? AND id_proof = ${ID_PROOFS.indexOf('proven')} AND id IS NOT NULL`,
  );

  /** A target without writes has number 0, which no row has. */
  const readable = (target: LedgerTarget) => {
    journal.merge();
    return names.findTarget(target);
  };
  return {
    /** `Ledger.compare`. */
    compare(target: LedgerTarget, question: CompareQuery): (LedgerMark | 'same' | undefined)[] {
      const number = readable(target);
      const found = question.keys.map((): LedgerMark | 'same' | undefined => undefined);
      const doubts = anyDoubt.get(number) === undefined ? [] : selectDoubted(number, question.keys);
      const doubted = new Set(doubts.map((row) => integer(row[0], 'doubts.key')));
      for (const row of selectMarks(number, question.keys)) {
        const position = integer(row[0], 'marks.key');
        const job = names.jobName(integer(row[3], 'marks.job'));
        const inDoubt = doubted.has(position);
        const memo = inDoubt ? null : textOrNull(row[4], 'marks.memo');
        if (memo !== null && memo === question.memos[position] && job === question.job) {
          found[position] = 'same';
          continue;
        }
        found[position] = {
          fingerprint: inDoubt ? IN_DOUBT : text(row[1], 'marks.fingerprint'),
          id: integerOrNull(row[2], 'marks.id'),
          job,
          ...proofOf(integer(row[5], 'marks.id_proof')),
          ...(memo !== null && { memo }),
        };
      }
      return found;
    },
    remember(target: LedgerTarget, facts: readonly MemoFact[]) {
      const number = readable(target);
      inTransaction(database, () => {
        for (const { key, fingerprint, memo } of facts) updateMemo.run(memo, number, key, fingerprint);
      });
    },
    bodies(target: LedgerTarget, keys: readonly string[]): (string | undefined)[] {
      const found = keys.map((): string | undefined => undefined);
      const read = bodies.reader();
      for (const { 0: position, 1: body } of selectBodies(readable(target), keys)) {
        found[integer(position, 'marks.key')] = read(integer(body, 'marks.body')) ?? undefined;
      }
      return found;
    },
    /** A page of the keys after this one with their bodies, in order; empty at the end. */
    bodiesAfter(target: LedgerTarget, after: string): { key: string; body: string }[] {
      const read = bodies.reader();
      const page = selectEntries
        .all(readable(target), after)
        .map((row) => readRow(row, 'marks', { key: text, body: integer }));
      return inOrder(after, 'marks', page).map(({ key, body }) => ({ key, body: read(body) ?? 'null' }));
    },
    /** Brings a page of the index of handles up to date; whether it is now as a whole. */
    index(target: LedgerTarget): boolean {
      const number = readable(target);
      return inTransaction(database, () => {
        if (startIndex.run(number).changes > 0) indexAll.run(number);
        const read = bodies.reader();
        const page = selectUnindexed.all(number);
        for (const row of page) {
          const key = text(row['key'], 'unindexed.key');
          const body = integerOrNull(row['body'], 'marks.body');
          const now = new Set(
            body === null
              ? []
              : storedHandles(key, read(body) ?? undefined, integerOrNull(row['id'], 'marks.id')),
          );
          for (const { handle } of selectHandles.all(number, key)) {
            if (!now.delete(text(handle, 'handles.handle'))) removeHandle.run(number, handle ?? '', key);
          }
          for (const handle of now) insertHandle.run(number, handle, key);
          indexed.run(number, key);
        }
        return page.length < INDEXED_AT_ONCE;
      });
    },
    /** `Ledger.keysBy`, where the index is up to date. */
    keysBy(target: LedgerTarget, handle: ProductHandle, values: readonly string[]): string[][] {
      const handles = values.map((value) => storedHandle(handle, value));
      const found = handles.map((): string[] => []);
      for (const { position, key } of selectByHandles.all(keysJson(handles), readable(target))) {
        found[integer(position, 'handles.handle')]?.push(text(key, 'handles.key'));
      }
      return found;
    },
    /** `Ledger.keysNamed`, where the index is up to date. Keys that begin with the text are found without reading all names. */
    keysNamed(target: LedgerTarget, part: string, limit: number): string[] {
      const number = readable(target);
      const lower = part.toLowerCase();
      const from = `${NAME_HANDLES.from}${lower}`;
      const beginning = selectBeginning.all(number, from, `${from}\u{10FFFF}`, limit);
      const found =
        beginning.length < limit ? [...beginning, ...selectNamed.all(number, lower, limit)] : beginning;
      return [...new Set(found.map(({ key }) => text(key, 'handles.key')))].slice(0, limit);
    },
    count: (target: LedgerTarget, job: string) =>
      integer(countKeys.get(readable(target), job)?.['count'], 'marks'),
    /** A page of the keys after this one, in order; empty at the end. */
    keysAfter(target: LedgerTarget, job: string, after: string | null): OwnedKey[] {
      const number = readable(target);
      const rows = after === null ? firstKeys.all(number, job) : nextKeys.all(number, job, after);
      const page = rows.map((row) => readRow(row, 'marks', { key: text, id: integerOrNull, proof: integer }));
      return inOrder(after, 'marks', page).map(({ proof, ...key }) => ({ ...key, ...proofOf(proof) }));
    },
    /** Reads all marks of the target. */
    sharedIds(target: LedgerTarget, ids: ReadonlySet<number>): ReadonlyMap<number, readonly string[]> {
      const rows = keysByIds.all(readable(target), JSON.stringify([...ids]));
      return new Map(
        rows.map(({ id, keys }) => [
          integer(id, 'marks.id'),
          Object.values(jsonObject(keys, 'marks.key')).map((key) => text(key, 'marks.key')),
        ]),
      );
    },
    proveIdsAgain(target: LedgerTarget) {
      doubtIds.run(readable(target));
    },
  };
}

/** What answers have shown of marks, in an open database. */
export type Observations = ReturnType<typeof createObservations>;

/** The table of an open database. Most stores are not observed: their targets have no rows. */
export function createObservations(database: DatabaseSync, names: Names, journal: Journal) {
  const anyOf = database.prepare('SELECT 1 FROM observations WHERE target = ? LIMIT 1');
  const remove = database.prepare('DELETE FROM observations WHERE target = ? AND key = ?');
  const put = database.prepare(
    'INSERT OR REPLACE INTO observations (target, key, content, edited) VALUES (?, ?, ?, ?)',
  );
  const isMarked = database.prepare('SELECT 1 FROM marks WHERE target = ? AND key = ? AND fingerprint = ?');
  const select = selectByKeys(database, 'observations', ['content']);
  const selectEdited = database.prepare(
    `SELECT key, content FROM observations WHERE target = ? AND edited = 1 AND key > ? ORDER BY key LIMIT ${PAGE_SIZE}`,
  );
  const write = (target: number, key: string, content: string) => {
    const observation = parseObservation(content);
    put.run(target, key, content, Number(observation !== undefined && isEdited(observation)));
  };
  return {
    /** Writes of one transaction; null removes what was known. */
    within(target: number) {
      let hasRows = anyOf.get(target) !== undefined;
      return {
        set(key: string, content: string | null) {
          if (content !== null) {
            write(target, key, content);
            hasRows = true;
          } else if (hasRows) {
            remove.run(target, key);
          }
        },
      };
    },
    calls: {
      observations(target: LedgerTarget, keys: readonly string[]): (Observation | undefined)[] {
        const found = keys.map((): Observation | undefined => undefined);
        for (const row of select(names.findTarget(target), keys))
          found[integer(row[0], 'observations.key')] = parseObservation(text(row[1], 'observations.content'));
        return found;
      },
      observe(target: LedgerTarget, observed: readonly ObservedKey[]) {
        journal.merge();
        const number = names.findTarget(target);
        inTransaction(database, () => {
          for (const { key, fingerprint, observation } of observed)
            if (isMarked.get(number, key, fingerprint) !== undefined)
              write(number, key, observationText(observation));
        });
      },
      /** A page of the keys after this one with their observations, in order; empty at the end. */
      editedAfter(target: LedgerTarget, after: string) {
        const page = selectEdited
          .all(names.findTarget(target), after)
          .map((row) => readRow(row, 'observations', { key: text, content: text }));
        return inOrder(after, 'observations', page);
      },
    },
  };
}

/** The versions of a key, newest first, and the body that the ledger has at the same moment. */
interface KeyVersions {
  body: string | null;
  /** `run`: its document. */
  readonly rows: { readonly run: string; readonly at: number; readonly content: Uint8Array }[];
}

/** The history of an open database. */
export function sqliteHistory(database: DatabaseSync, names: Names, journal: Journal, bodies: Bodies) {
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
  const selectBodies = selectByKeys(database, 'marks', ['body']);
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
      const found = wanted.map((): KeyVersions => ({ body: null, rows: [] }));
      const number = names.findTarget(target);
      // In one transaction: another process may merge between reading the rows and their bodies.
      database.exec('BEGIN');
      try {
        const read = bodies.reader();
        for (const row of selectBodies(number, wanted)) {
          const known = found[integer(row[0], 'marks.key')];
          if (known !== undefined) known.body = read(integer(row[1], 'marks.body'));
        }
        for (const row of selectVersions.all(keysJson(wanted), number)) {
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
    keysOfRunAfter(target: LedgerTarget, run: string, after: number) {
      journal.merge();
      const rows = selectKeys.all(names.findTarget(target), run, after);
      const page = rows.map((row) => readRow(row, 'version_keys', { number: integer, key: text }));
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
      const sums = sum.get(names.findTarget(target)) ?? {};
      return readRow(sums, 'version_runs', { versions: integer, bytes: integer });
    },
  };
}

/** As `handlesOf`. A body that is no JSON was damaged: no other is written. */
function storedHandles(...stored: Parameters<typeof handlesOf>) {
  try {
    return handlesOf(...stored);
  } catch (error) {
    throw error instanceof SyntaxError ? new DamagedValue('bodies.content') : error;
  }
}
