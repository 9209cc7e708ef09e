import type { DatabaseSync } from 'node:sqlite';
import { isEdited, type Observation, parseObservation } from '../../model/observation.ts';
import { handlesOf, INDEXED_AT_ONCE, NAME_HANDLES } from '../product-handle.ts';
import {
  type CompareQuery,
  IN_DOUBT,
  type LedgerMark,
  type LedgerTarget,
  type MemoFact,
  type OwnedKey,
} from '../state.ts';
import type { Bodies, Journal } from './journal.ts';
import { ID_PROOFS, inTransaction, keysJson, type Names, proofOf } from './open-state-database.ts';
import { integer, integerOrNull, jsonObject, refuseDisorder, text, textOrNull } from './sqlite-error.ts';

/** The calls of the database thread that read the ledger. */
export type SqliteLedger = ReturnType<typeof createSqliteLedger>;

const PAGE_SIZE = 1_000;

/**
 * One statement per batch: a join with `json_each`. Measured per key of a million: 1.6 to 2.3 microseconds; a
 * prepared `get` per key took 4 to 6, a list of 500 parameters 2.1 to 3.
 */
export function createSqliteLedger(database: DatabaseSync, names: Names, journal: Journal, bodies: Bodies) {
  const selectMarks = database.prepare(
    `SELECT wanted.key, marks.fingerprint, marks.id, marks.job, marks.memo, marks.id_proof
     FROM json_each(?) AS wanted CROSS JOIN marks WHERE marks.target = ? AND marks.key = wanted.value`,
  );
  const anyDoubt = database.prepare('SELECT 1 FROM doubts WHERE target = ? LIMIT 1');
  const selectDoubted = database.prepare(
    `SELECT wanted.key FROM json_each(?) AS wanted
     CROSS JOIN doubts WHERE doubts.target = ? AND doubts.key = wanted.value`,
  );
  // Rows as arrays cost half as much as objects. Not by an option of `prepare`, which Node before 24.14 ignores.
  for (const select of [selectMarks, selectDoubted]) select.setReturnArrays(true);
  const updateMemo = database.prepare(
    'UPDATE marks SET memo = ? WHERE target = ? AND key = ? AND fingerprint = ?',
  );
  const selectBodies = database.prepare(
    `SELECT wanted.key AS position, marks.body FROM json_each(?) AS wanted
     CROSS JOIN marks WHERE marks.target = ? AND marks.key = wanted.value`,
  );
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
  const firstKeys = database.prepare(
    `SELECT key, id, id_proof FROM marks WHERE target = ? AND job = (SELECT number FROM jobs WHERE name = ?)
     ORDER BY key LIMIT ${PAGE_SIZE}`,
  );
  const nextKeys = database.prepare(
    `SELECT key, id, id_proof FROM marks
     WHERE target = ? AND job = (SELECT number FROM jobs WHERE name = ?) AND key > ?
     ORDER BY key LIMIT ${PAGE_SIZE}`,
  );

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
      const keys = keysJson(question.keys);
      const found = question.keys.map((): LedgerMark | 'same' | undefined => undefined);
      const doubted = new Set<number>();
      if (anyDoubt.get(number) !== undefined) {
        for (const row of selectDoubted.all(keys, number)) doubted.add(integer(row[0], 'doubts.key'));
      }
      for (const row of selectMarks.all(keys, number)) {
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
      for (const { position, body } of selectBodies.all(keysJson(keys), readable(target))) {
        found[integer(position, 'marks.key')] = read(integer(body, 'marks.body')) ?? undefined;
      }
      return found;
    },
    /** A page of the keys after this one with their bodies, in order; empty at the end. */
    bodiesAfter(target: LedgerTarget, after: string): { key: string; body: string }[] {
      const read = bodies.reader();
      const page = selectEntries.all(readable(target), after).map(({ key, body }) => ({
        key: text(key, 'marks.key'),
        body: read(integer(body, 'marks.body')) ?? 'null',
      }));
      refuseDisorder(
        after,
        page.map(({ key }) => key),
        'marks.key',
      );
      return page;
    },
    /** Brings a page of the index of SKUs and ids up to date; whether it is now as a whole. */
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
              : handlesOf(key, read(body) ?? undefined, integerOrNull(row['id'], 'marks.id')),
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
    /** For each stored handle the keys that have it, in order. */
    keysBy(target: LedgerTarget, handles: readonly string[]): string[][] {
      const found = handles.map((): string[] => []);
      for (const { position, key } of selectByHandles.all(keysJson(handles), readable(target))) {
        found[integer(position, 'handles.handle')]?.push(text(key, 'handles.key'));
      }
      return found;
    },
    /** `Ledger.keysNamed`, where the index is up to date. Keys that begin with the text are found without reading all names. */
    keysNamed(target: LedgerTarget, part: string, limit: number): string[] {
      const number = readable(target);
      const from = `${NAME_HANDLES.from}${part}`;
      const beginning = selectBeginning.all(number, from, `${from}\u{10FFFF}`, limit);
      const found =
        beginning.length < limit ? [...beginning, ...selectNamed.all(number, part, limit)] : beginning;
      return [...new Set(found.map(({ key }) => text(key, 'handles.key')))].slice(0, limit);
    },
    count: (target: LedgerTarget, job: string): number =>
      integer(countKeys.get(readable(target), job)?.['count'], 'marks'),
    /** A page of the keys after this one, in order; empty at the end. */
    keysAfter(target: LedgerTarget, job: string, after: string | null): OwnedKey[] {
      const number = readable(target);
      const rows = after === null ? firstKeys.all(number, job) : nextKeys.all(number, job, after);
      const page = rows.map(({ key, id, id_proof: proof }) => ({
        key: text(key, 'marks.key'),
        id: integerOrNull(id, 'marks.id'),
        ...proofOf(integer(proof, 'marks.id_proof')),
      }));
      refuseDisorder(
        after,
        page.map(({ key }) => key),
        'marks.key',
      );
      return page;
    },
    /** Reads all marks of the target. */
    sharedIds(target: LedgerTarget, ids: readonly number[]): ReadonlyMap<number, readonly string[]> {
      const rows = keysByIds.all(readable(target), JSON.stringify(ids));
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

/** An observation to keep, as `observationText` makes it. */
interface ObservedText {
  readonly key: string;
  readonly fingerprint: string;
  readonly content: string;
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
  const select = database.prepare(
    `SELECT wanted.key AS position, content FROM json_each(?) AS wanted
     CROSS JOIN observations ON observations.target = ? AND observations.key = wanted.value`,
  );
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
        for (const { position, content } of select.all(keysJson(keys), names.findTarget(target)))
          found[integer(position, 'observations.key')] = parseObservation(
            text(content, 'observations.content'),
          );
        return found;
      },
      observe(target: LedgerTarget, observed: readonly ObservedText[]) {
        journal.merge();
        const number = names.findTarget(target);
        inTransaction(database, () => {
          for (const { key, fingerprint, content } of observed)
            if (isMarked.get(number, key, fingerprint) !== undefined) write(number, key, content);
        });
      },
      /** A page of the keys after this one with their observations, in order; empty at the end. */
      editedAfter(target: LedgerTarget, after: string): { key: string; content: string }[] {
        const page = selectEdited.all(names.findTarget(target), after).map(({ key, content }) => ({
          key: text(key, 'observations.key'),
          content: text(content, 'observations.content'),
        }));
        refuseDisorder(
          after,
          page.map(({ key }) => key),
          'observations.key',
        );
        return page;
      },
    },
  };
}

/** The calls of the database thread. */
export type SqliteObservations = Observations['calls'];
