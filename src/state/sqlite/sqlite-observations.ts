import type { DatabaseSync } from 'node:sqlite';
import { isEdited, type Observation, parseObservation } from '../../model/observation.ts';
import type { LedgerTarget } from '../state.ts';
import type { Journal } from './journal.ts';
import { inTransaction, keysJson, type Names } from './open-state-database.ts';
import { integer, refuseDisorder, text } from './sqlite-error.ts';

const PAGE_SIZE = 500;

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
        for (const { position, content } of select.all(keysJson(keys), names.findTarget(target) ?? 0))
          found[integer(position, 'observations.key')] = parseObservation(
            text(content, 'observations.content'),
          );
        return found;
      },
      observe(target: LedgerTarget, observed: readonly ObservedText[]) {
        journal.merge();
        const number = names.findTarget(target) ?? 0;
        inTransaction(database, () => {
          for (const { key, fingerprint, content } of observed)
            if (isMarked.get(number, key, fingerprint) !== undefined) write(number, key, content);
        });
      },
      /** A page of the keys after this one with their observations, in order; empty at the end. */
      editedAfter(target: LedgerTarget, after: string): { key: string; content: string }[] {
        const page = selectEdited.all(names.findTarget(target) ?? 0, after).map(({ key, content }) => ({
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
