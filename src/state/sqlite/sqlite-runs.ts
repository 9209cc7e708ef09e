import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { recordOf } from '../../model/json-object.ts';
import type { Outcome } from '../../model/operation.ts';
import type { Run } from '../../model/run.ts';
import { StateError } from '../../model/storeferry-error.ts';
import { type Acknowledged, ledgerRules } from '../ledger-rules.ts';
import {
  changedId,
  FORGOTTEN_MESSAGE,
  importTarget,
  MAX_DELETES_KEPT,
  type OperationResult,
  type OutcomeTally,
  type RunChanges,
  type RunsFilter,
  TALLY_FIELDS,
} from '../state.ts';
import type { Bodies, Journal } from './journal.ts';
import { ID_PROOFS, inTransaction, type Names } from './open-state-database.ts';
import type { EndDoubts } from './sqlite-doubts.ts';
import { DamagedValue, integer, jsonObject, readRow, text } from './sqlite-error.ts';
import type { Observations } from './sqlite-ledger.ts';

/** Refusals of one page. */
const PAGE_SIZE = 500;

/** A run as JSON that is still to be checked. */
type StoredRun = Readonly<Record<'id' | 'document', string>>;

const NO_LIMIT = -1;
const COLUMNS = "id, json_set(document, '$.sequence', number) AS document";

/** The runs of an open database. */
export function sqliteRuns(database: DatabaseSync) {
  const insert = database.prepare('INSERT INTO runs (id, job, started_at, document) VALUES (?, ?, ?, ?)');
  const select = database.prepare(`SELECT ${COLUMNS} FROM runs WHERE id = ?`);
  // AUTOINCREMENT: the number of the newest run, even if it was removed.
  const newest = database.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'runs'");
  const replace = database.prepare('UPDATE runs SET document = ? WHERE id = ?');
  const listAll = database.prepare(listing(''));
  const listJob = database.prepare(listing('job = :job AND'));
  const removeSteps = [
    ...['outcomes', 'changed_ids', 'requests'].map(
      (table) => `DELETE FROM ${table} WHERE run = (SELECT number FROM runs WHERE id = ?)`,
    ),
    'DELETE FROM runs WHERE id = ?',
  ].map((step) => database.prepare(step));

  const read = (row: Readonly<Record<string, SQLOutputValue>>): StoredRun =>
    readRow(row, 'runs', { id: text, document: text });
  const get = (id: string) => {
    const row = select.get(id);
    return row === undefined ? undefined : read(row);
  };
  return {
    create(run: Run) {
      insert.run(run.id, run.job, run.startedAt, JSON.stringify(run));
    },
    update: (id: string, changes: RunChanges): StoredRun =>
      inTransaction(database, () => {
        const run = get(id);
        if (run === undefined) {
          throw new StateError(`There is no run ${id}.`, { hint: '`storeferry runs` lists them.' });
        }
        const ends =
          changes.finishedAt == null
            ? {}
            : { endSequence: integer(newest.get()?.['seq'], 'sqlite_sequence') };
        const before = jsonObject(run.document, 'runs.document');
        if (!('id' in before) || before.id !== id) throw new DamagedValue('runs.id');
        const document = JSON.stringify({ ...before, ...changes, ...ends });
        replace.run(document, id);
        return { id, document };
      }),
    get,
    /** Newest first. */
    list({ job, kinds, statuses, limit }: RunsFilter): StoredRun[] {
      const filter = { kinds: asJson(kinds), statuses: asJson(statuses), limit: limit ?? NO_LIMIT };
      const rows = job === undefined ? listAll.all(filter) : listJob.all({ ...filter, job });
      return rows.map(read);
    },
    remove: (id: string) =>
      inTransaction(database, () => {
        for (const step of removeSteps) step.run(id);
      }),
  };
}

/** Two statements, with and without the job, so that its index is used. */
function listing(ofJob: string) {
  return `
    SELECT ${COLUMNS} FROM runs
    WHERE ${ofJob} (:kinds IS NULL OR document ->> 'kind' IN (SELECT value FROM json_each(:kinds)))
      AND (:statuses IS NULL OR document ->> 'status' IN (SELECT value FROM json_each(:statuses)))
    ORDER BY number DESC LIMIT :limit`;
}

function asJson(names: readonly string[] | undefined) {
  return names === undefined ? null : JSON.stringify(names);
}

/** `outcomes.kind`. */
const APPLIED = 0;
const DELETED = 1;
const REJECTED = 2;
const UNSENT = 3;
const LEFT = 4;
const OUTCOME_KINDS = {
  [APPLIED]: 'applied',
  [DELETED]: 'applied',
  [REJECTED]: 'rejected',
  [UNSENT]: 'unsent',
  [LEFT]: 'left',
} as const;

/** The kind and the detail of an outcome, as they are stored. */
function storedOutcome({
  operation,
  outcome,
}: OperationResult): readonly [kind: keyof typeof OUTCOME_KINDS, detail: string | null] {
  switch (outcome.kind) {
    case 'applied':
      return [operation.kind === 'delete-product' ? DELETED : APPLIED, null];
    case 'rejected': {
      const { key, spans } = operation;
      return [REJECTED, JSON.stringify({ key, spans, reason: outcome.reason })];
    }
    case 'unsent':
      return [UNSENT, JSON.stringify(outcome.reason)];
    case 'left':
      return [LEFT, null];
    default:
      return outcome satisfies never;
  }
}

/** One call of `Runs.record`. */
interface RecordedOutcomes {
  readonly run: Run;
  readonly shard: number;
  readonly results: readonly OperationResult[];
  readonly requests: number;
  /** The time of the versions; null where none are kept. */
  readonly versionAt: number | null;
}

/** The outcomes of an open database. */
export function sqliteOutcomes(
  database: DatabaseSync,
  names: Names,
  journal: Journal,
  bodies: Bodies,
  endDoubts: EndDoubts,
  observations: Observations,
) {
  const selectRun = database.prepare('SELECT number FROM runs WHERE id = ?');
  const insertOutcome = database.prepare(
    `INSERT INTO outcomes (run, shard, operation, rows, kind, detail) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET kind = excluded.kind, rows = excluded.rows, detail = excluded.detail`,
  );
  const insertChangedId = database.prepare(
    `INSERT OR REPLACE INTO changed_ids (run, shard, operation, key, known_id, answered_id)
     VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const addRequests = database.prepare(
    'INSERT INTO requests (run, count) VALUES (?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count',
  );
  const selectOutcomes = database.prepare(
    'SELECT operation, kind FROM outcomes WHERE run = ? AND shard = ? ORDER BY operation',
  );
  // Not GROUP BY kind: SQLite would sort the outcomes in memory, 48 bytes for each operation of the run.
  const ofKind = ([name, kind]: readonly [name: string, kind: number]) =>
    `count(*) FILTER (WHERE kind = ${kind}) AS ${name}, coalesce(sum(rows) FILTER (WHERE kind = ${kind}), 0) AS ${name}Rows`;
  const sumOutcomes = database.prepare(
    `SELECT ${Object.entries({ applied: APPLIED, deleted: DELETED, rejected: REJECTED, left: LEFT }).map(ofKind).join()},
       coalesce((SELECT count FROM requests WHERE run = ?1), 0) AS requests FROM outcomes WHERE run = ?1`,
  );
  const selectRefusals = database.prepare(
    `SELECT shard, operation, json_set(detail, '$.shard', shard, '$.index', operation, '$.rows', rows) AS detail FROM outcomes
     WHERE run = ? AND kind = ${REJECTED} AND (shard, operation) > (?, ?) ORDER BY shard, operation LIMIT ${PAGE_SIZE}`,
  );
  const forgetMessage = database.prepare(
    `UPDATE outcomes SET detail = json_set(detail, '$.reason.message', '${FORGOTTEN_MESSAGE}')
     WHERE run = ? AND kind = ${REJECTED} AND detail ->> 'key' = ?`,
  );
  const countReasons = database.prepare(
    `SELECT detail, count(*) AS count FROM outcomes WHERE run = ? AND kind = ${UNSENT}
     GROUP BY detail ORDER BY count(*) DESC, detail`,
  );
  const selectChangedIds = database.prepare(
    `SELECT key, known_id AS knownId, answered_id AS answeredId FROM changed_ids WHERE run = ? ORDER BY shard, operation LIMIT ?`,
  );
  const selectSerial = database.prepare('SELECT serial FROM targets WHERE number = ?');
  const insertDelete = database.prepare(
    'INSERT OR REPLACE INTO deletes (target, key, serial) VALUES (?, ?, ?)',
  );
  const removeOldDeletes = database.prepare(
    `DELETE FROM deletes WHERE number <= (SELECT max(number) FROM deletes) - ${MAX_DELETES_KEPT}`,
  );
  const countChangedIds = database.prepare('SELECT count(*) AS count FROM changed_ids WHERE run = ?');

  /** No run has number 0. */
  const numberOf = (run: string) => integer(selectRun.get(run)?.['number'] ?? 0, 'runs.number');

  /**
   * Stores acknowledged bodies; gives their numbers in order. A body that the plan has packed keeps its block, unless its place
   * there is taken: each row needs its own body.
   */
  const storeBodies = (acknowledged: readonly Acknowledged[]) => {
    const placesOf = new Map<Uint8Array, number>();
    const kept = acknowledged.map(({ packed }) => {
      if (packed === undefined) return undefined;
      const { block, place } = packed;
      const taken = placesOf.get(block) ?? 0;
      if ((taken & (1 << place)) !== 0) return undefined;
      placesOf.set(block, taken | (1 << place));
      return packed;
    });
    const firsts = new Map([...placesOf].map(([block, places]) => [block, bodies.addPacked(block, places)]));
    const alone = acknowledged.flatMap(({ body }, at) => (kept[at] === undefined ? [body] : []));
    const added = bodies.add(alone).values();
    return kept.map((packed) =>
      packed === undefined ? (added.next().value ?? 0) : (firsts.get(packed.block) ?? 0) + packed.place,
    );
  };

  const write = ({ run, shard, results, requests, versionAt }: RecordedOutcomes) => {
    const number = numberOf(run.id);
    if (number === 0) {
      throw new StateError(`There is no run ${run.id} to record outcomes for.`, {
        hint: '`storeferry runs` lists them.',
      });
    }
    const target = names.target(importTarget(run));
    const job = names.job(run.job);
    const observing = observations.within(target);
    const serial = integer(selectSerial.get(target)?.['serial'], 'targets.serial');
    const keepsSerial = ledgerRules.keepsSerials(run);
    const effects = results.map((result) => ({ result, ...ledgerRules.outcomeEffect(run.job, result) }));
    const bodyNumbers = storeBodies(effects.flatMap(({ acknowledged = [] }) => acknowledged)).values();
    for (const { result, doubt, key, acknowledged, version: head } of effects) {
      const { index, rows } = result.operation;
      const version = versionAt === null || head === undefined ? null : { run: number, at: versionAt, head };
      insertOutcome.run(number, shard, index, rows, ...storedOutcome(result));
      const changed = changedId(result);
      if (changed !== undefined)
        insertChangedId.run(number, shard, index, changed.key, changed.knownId, changed.answeredId);
      if (acknowledged !== undefined) {
        const { job: owner, idProof = 'proven', memo = null, ...mark } = acknowledged.mark;
        journal.append(
          target,
          owner === run.job ? job : names.job(owner),
          key,
          {
            ...mark,
            memo,
            idProof: ID_PROOFS.indexOf(idProof),
            serial: keepsSerial ? 0 : serial,
            body: bodyNumbers.next().value ?? 0,
          },
          version,
        );
        observing.set(key, acknowledged.observation);
      } else if (doubt === 'forget-key') {
        journal.append(target, job, key, null, version);
        observing.set(key, null);
        insertDelete.run(target, key, serial);
      }
    }
    endDoubts(target, effects);
    if (requests > 0) addRequests.run(number, requests);
  };

  return {
    /** All or nothing, in one commit. */
    record: (batch: RecordedOutcomes) =>
      inTransaction(database, () => {
        write(batch);
        removeOldDeletes.run();
        journal.mergeIfLarge();
      }),
    outcomes(run: string, shard: number): ReadonlyMap<number, Outcome['kind']> {
      const kinds: Readonly<Record<number, Outcome['kind']>> = OUTCOME_KINDS;
      return new Map(
        selectOutcomes.all(numberOf(run), shard).flatMap(({ operation, kind }) => {
          const known = kinds[integer(kind, 'outcomes.kind')];
          return known === undefined ? [] : [[integer(operation, 'outcomes.operation'), known]];
        }),
      );
    },
    tally(run: string): OutcomeTally {
      const sums = sumOutcomes.get(numberOf(run)) ?? {};
      return recordOf(TALLY_FIELDS, (field) => integer(sums[field], `outcomes.${field}`));
    },
    /** A page of the refusals after this one, in order, as JSON; empty at the end. */
    refusalsAfter: (run: string, shard: number, operation: number) =>
      selectRefusals
        .all(numberOf(run), shard, operation)
        .map((row) => readRow(row, 'outcomes', { shard: integer, operation: integer, detail: text })),
    forgetRefusals(run: string, key: string) {
      forgetMessage.run(numberOf(run), key);
    },
    /** Reasons as JSON. */
    unsentReasons: (run: string) =>
      countReasons
        .all(numberOf(run))
        .map((row) => readRow(row, 'outcomes', { detail: text, count: integer })),
    changedIds: (run: string, limit: number) =>
      selectChangedIds
        .all(numberOf(run), limit)
        .map((row) => readRow(row, 'changed_ids', { key: text, knownId: integer, answeredId: integer })),
    changedIdCount: (run: string) => Number(countChangedIds.get(numberOf(run))?.['count'] ?? 0),
  };
}
