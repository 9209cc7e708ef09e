import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { StateError } from '../../model/errors.ts';
import type { Run } from '../../model/run.ts';
import type { RunChanges, RunsFilter } from '../state.ts';
import { DamagedValue, integer, jsonObject, text } from './columns.ts';
import { inTransaction } from './transaction.ts';

/** The document of a run, of which no more is certain than that it is the one of its row. */
export type UncheckedRun = object & { readonly id: string; readonly sequence: number };

/** Runs as documents, their sequence being the number of the row; what their operations became is in outcomes.ts. */
export interface SqliteRuns {
  create(run: Run): void;
  update(id: string, changes: RunChanges): UncheckedRun;
  get(id: string): UncheckedRun | undefined;
  /** Newest first. */
  list(filter: RunsFilter): UncheckedRun[];
  remove(id: string): void;
}

const NO_LIMIT = -1;

/** Statements of their own with and without the job, so that its index serves. */
function listing(ofJob: string): string {
  return `
    SELECT number, id, document FROM runs
    WHERE ${ofJob} (:kinds IS NULL OR document ->> 'kind' IN (SELECT value FROM json_each(:kinds)))
      AND (:statuses IS NULL OR document ->> 'status' IN (SELECT value FROM json_each(:statuses)))
    ORDER BY number DESC LIMIT :limit`;
}

function asJson(names: readonly string[] | undefined): string | null {
  return names === undefined ? null : JSON.stringify(names);
}

/** The runs of an open database. */
export function createSqliteRuns(database: DatabaseSync): SqliteRuns {
  const insert = database.prepare('INSERT INTO runs (id, job, started_at, document) VALUES (?, ?, ?, ?)');
  const select = database.prepare('SELECT number, id, document FROM runs WHERE id = ?');
  // AUTOINCREMENT: the number of the newest run that there ever was, also when it is gone.
  const newest = database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'runs'");
  const replace = database.prepare('UPDATE runs SET document = ? WHERE id = ?');
  const listAll = database.prepare(listing(''));
  const listJob = database.prepare(listing('job = :job AND'));
  const removeSteps = [
    'DELETE FROM outcomes WHERE run = (SELECT number FROM runs WHERE id = ?)',
    'DELETE FROM changed_ids WHERE run = (SELECT number FROM runs WHERE id = ?)',
    'DELETE FROM requests WHERE run = (SELECT number FROM runs WHERE id = ?)',
    'DELETE FROM runs WHERE id = ?',
  ].map((step) => database.prepare(step));

  const read = (row: Readonly<Record<string, SQLOutputValue>>): UncheckedRun => {
    const id = text(row['id'], 'runs.id');
    const document = jsonObject(row['document'], 'runs.document');
    if (!('id' in document) || document.id !== id) throw new DamagedValue('runs.id');
    return { ...document, id, sequence: integer(row['number'], 'runs.number') };
  };
  const get = (id: string) => {
    const row = select.get(id);
    return row === undefined ? undefined : read(row);
  };
  return {
    create(run) {
      insert.run(run.id, run.job, run.startedAt, JSON.stringify(run));
    },
    update: (id, changes) =>
      inTransaction(database, () => {
        const run = get(id);
        if (run === undefined) {
          throw new StateError(`There is no run ${id}.`, { hint: '`storeferry runs` lists them.' });
        }
        const ends =
          changes.finishedAt == null
            ? {}
            : { endSequence: integer(newest.get()?.['seq'], 'sqlite_sequence') };
        const updated = { ...run, ...changes, ...ends };
        replace.run(JSON.stringify(updated), id);
        return updated;
      }),
    get,
    list({ job, kinds, statuses, limit }) {
      const filter = { kinds: asJson(kinds), statuses: asJson(statuses), limit: limit ?? NO_LIMIT };
      const rows = job === undefined ? listAll.all(filter) : listJob.all({ ...filter, job });
      return rows.map(read);
    },
    remove: (id) =>
      inTransaction(database, () => {
        for (const step of removeSteps) step.run(id);
      }),
  };
}
