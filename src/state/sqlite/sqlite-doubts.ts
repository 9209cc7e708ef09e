import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { StateLoss } from '../../model/run.ts';
import type { OperationGroup } from '../open-sending.ts';
import {
  type DoubtEffect,
  END_DOUBT,
  FORGET_KEY,
  KEEP_IN_DOUBT,
  RESTORE_PREVIOUS,
} from '../outcome-effect.ts';
import { HEARTBEAT_VALID_MS, lossOf, positionOf, type Serial, type Witness } from '../serial.ts';
import { type Begun, IN_DOUBT, type LedgerTarget } from '../state.ts';
import { presentStoredMoment, remainingMs } from '../stored-moment.ts';
import type { Journal } from './journal.ts';
import { inTransaction, type Names } from './open-state-database.ts';
import { CHANGED, keysJson, ONCE, PROVEN } from './outcome-columns.ts';
import { DamagedValue, integer, integerOrNull, refuseDisorder, text } from './sqlite-error.ts';

/** A group of operations that are about to be sent to a target. */
export interface BegunGroup extends OperationGroup {
  readonly target: LedgerTarget;
}

/** The calls of the database thread about doubt. */
export interface SqliteDoubts {
  /** When it returns, it survives the death of the process; the witness detects what a power failure takes. */
  begin(group: BegunGroup): Begun & { readonly serial: Serial };
  /** Records that the sender is alive now, and that each of its requests lasts at most `attemptMs`. */
  heartbeat(target: LedgerTarget, sender: string, attemptMs: number): void;
  /** Records that the sender has stopped sending. */
  endSender(target: LedgerTarget, sender: string): void;
  withdraw(target: LedgerTarget, sender: string, keys: string): void;
  /** A page of the keys after this one, in order; empty at the end. */
  unconfirmedAfter(target: LedgerTarget, job: string, after: string): string[];
  /** Positions of the keys. */
  doubtedOnlyBy(target: LedgerTarget, job: string, keys: string): number[];
  hasDoubts(target: LedgerTarget): boolean;
  /** Positions of the keys with a higher serial. */
  writtenSince(target: LedgerTarget, serial: number, keys: string): number[];
  confirm(target: LedgerTarget, keys: string): void;
  position(target: LedgerTarget): string;
  lostSince(target: LedgerTarget, run: string, witnesses: readonly Witness[]): boolean;
  /** The loss, and the serial with which the state continues. */
  reconcile(
    target: LedgerTarget,
    witnesses: readonly Witness[],
  ): (StateLoss & { readonly serial: Serial }) | null;
}

/** Within the transaction of outcomes: applies their effects on the doubts about their keys. */
export type EndDoubts = (target: number, keys: readonly string[], effects: readonly DoubtEffect[]) => void;

const PAGE_SIZE = 1_000;
/** No request lasts this long. */
const MAX_REQUESTS_END_WITHIN_MS = 24 * 60 * 60 * 1_000;
/** What randomUUID gives. A witness file has only room for an id of this length. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Replaces the number of a job for a key in doubt that several jobs have sent. */
const NO_JOB = 0;

/** SQL: whether this sender is among the senders of a row. */
function hasSender(sender: string): string {
  return `instr(' ' || sender || ' ', ' ' || ${sender} || ' ') > 0`;
}

/**
 * One row per key in doubt. `prior`: already in doubt before this attempt; only an acknowledgement ends it.
 * `at_work`: a request of one of `sender` may still run. `sender`: ids separated by blanks; several if one sender
 * took the key over while waiting for another.
 */
export function createSqliteDoubts(
  database: DatabaseSync,
  names: Names,
  journal: Journal,
): SqliteDoubts & { readonly endDoubts: EndDoubts } {
  const insert = database.prepare(
    `INSERT INTO doubts (target, key, job, sender, at_work, prior, serial)
       SELECT ?, value, ?, ?, 1, 0, ? FROM json_each(?) WHERE TRUE
     ON CONFLICT DO UPDATE SET job = CASE WHEN job = excluded.job THEN job ELSE ${NO_JOB} END,
       sender = CASE WHEN at_work = 0 THEN excluded.sender WHEN ${hasSender('excluded.sender')} THEN sender
         ELSE excluded.sender || ' ' || sender END,
       at_work = 1, prior = 1, serial = excluded.serial`,
  );
  const selectDoubted = database.prepare(
    `SELECT wanted.key AS position, doubts.sender, doubts.at_work FROM json_each(?) AS wanted
     CROSS JOIN doubts WHERE doubts.target = ? AND doubts.key = wanted.value`,
  );
  const selectOwner = database.prepare(
    `SELECT jobs.name AS job, id, id_proof FROM marks JOIN jobs ON jobs.number = marks.job
     WHERE target = ? AND key = ?`,
  );
  const doubtOfOthers = database.prepare(
    `SELECT 1 FROM doubts WHERE target = ? AND key = ?
       AND job IS NOT (SELECT number FROM jobs WHERE name = ?)`,
  );
  const selectSenders = database.prepare('SELECT * FROM senders WHERE target = ?');
  const raiseSerial = database.prepare(
    'UPDATE targets SET serial = serial + 1 WHERE number = ? RETURNING serial',
  );
  const selectSerial = database.prepare('SELECT serial FROM targets WHERE number = ?');
  const setSerial = database.prepare('UPDATE targets SET serial = ? WHERE number = ?');
  const selectLineage = database.prepare('SELECT id FROM lineage');
  const insertLineage = database.prepare('INSERT INTO lineage (id) VALUES (?)');
  const replaceSender = database.prepare(
    `INSERT OR REPLACE INTO senders (target, sender, everything, wall_ms, boot_ms, lasts_ms)
     VALUES (?, ?, ?, ?, ?, ?)`,
  );
  const removeSender = database.prepare('DELETE FROM senders WHERE target = ? AND sender = ?');
  const isAtWork = database.prepare(
    `SELECT 1 FROM doubts WHERE target = ? AND ${hasSender('?')} AND at_work = 1 LIMIT 1`,
  );
  const listed = 'key IN (SELECT value FROM json_each(?))';
  const doubtIds = ['marks', 'journal'].map((table) =>
    database.prepare(
      `UPDATE ${table} SET id_proof = ${ONCE} WHERE target = ? AND id_proof = ${PROVEN} AND ${listed}`,
    ),
  );
  const remove = database.prepare(`DELETE FROM doubts WHERE target = ? AND ${listed}`);
  const removeNew = database.prepare(`DELETE FROM doubts WHERE target = ? AND prior = 0 AND ${listed}`);
  const removeBegun = database.prepare(
    `DELETE FROM doubts WHERE target = ? AND prior = 0 AND ${hasSender('?')} AND ${listed}`,
  );
  const notAtWork = database.prepare(`UPDATE doubts SET at_work = 0 WHERE target = ? AND ${listed}`);
  const leave = database.prepare(
    `UPDATE doubts SET sender = trim(replace(' ' || sender || ' ', ' ' || ? || ' ', ' ')) WHERE target = ? AND ${listed}`,
  );
  const clearAtWork = database.prepare(
    `UPDATE doubts SET at_work = 0 WHERE target = ? AND sender = '' AND ${listed}`,
  );
  const doubtedOnlyBy = database.prepare(
    `SELECT wanted.key AS position FROM json_each(?) AS wanted
     CROSS JOIN doubts ON doubts.target = ? AND doubts.key = wanted.value
     LEFT JOIN marks ON marks.target = doubts.target AND marks.key = doubts.key
     WHERE marks.fingerprint IS NOT '${IN_DOUBT}' AND doubts.job = (SELECT number FROM jobs WHERE name = ?)`,
  );
  const selectWritten = database.prepare(
    `SELECT wanted.key AS position FROM json_each(:keys) AS wanted WHERE ${['marks', 'doubts', 'deletes']
      .map(
        (table) =>
          `EXISTS (SELECT 1 FROM ${table} WHERE target = :target AND key = wanted.value AND serial > :value)`,
      )
      .join(' OR ')}`,
  );
  const confirm = database.prepare(`UPDATE marks SET serial = ? WHERE target = ? AND ${listed}`);
  const any = database.prepare('SELECT 1 FROM doubts WHERE target = ? LIMIT 1');
  const unconfirmed = database.prepare(
    `SELECT key FROM doubts WHERE target = :target AND key > :after
       AND job IN (${NO_JOB}, (SELECT number FROM jobs WHERE name = :job))
       AND NOT EXISTS (SELECT 1 FROM marks WHERE marks.target = doubts.target AND marks.key = doubts.key)
     ORDER BY key LIMIT ${PAGE_SIZE}`,
  );
  const doubtAll = database.prepare(
    `UPDATE marks SET fingerprint = '${IN_DOUBT}', memo = NULL, id_proof = ${CHANGED}, serial = ? WHERE target = ?`,
  );
  const noteDoubted = database.prepare(
    'UPDATE targets SET doubted_at = (SELECT coalesce(max(number), 0) FROM runs) WHERE number = ?',
  );
  const doubtedSince = database.prepare(
    'SELECT doubted_at >= (SELECT number FROM runs WHERE id = ?) AS doubted FROM targets WHERE number = ?',
  );

  const serialOf = (target: number): number =>
    integer(selectSerial.get(target)?.['serial'] ?? 0, 'targets.serial');
  const raised = (target: number): number => integer(raiseSerial.get(target)?.['serial'], 'targets.serial');
  const knownLineage = (): string | null => {
    const id = selectLineage.get()?.['id'];
    if (id === undefined) return null;
    const lineage = text(id, 'lineage.id');
    if (!UUID.test(lineage)) throw new DamagedValue('lineage.id');
    return lineage;
  };
  const known = (target: number): Serial | null => {
    const lineage = knownLineage();
    return lineage === null ? null : { lineage, value: serialOf(target) };
  };
  const lineage = (): string => {
    const known = knownLineage();
    if (known !== null) return known;
    const made = randomUUID();
    insertLineage.run(made);
    return made;
  };
  /**
   * Milliseconds until the last request of each sender has ended. Senders whose keys are unknown are combined under
   * ''.
   */
  const remainingOf = (target: number): ReadonlyMap<string, number> => {
    const now = presentStoredMoment();
    const remaining = new Map<string, number>();
    for (const row of selectSenders.all(target)) {
      const sender = text(row['sender'], 'senders.sender');
      const from = {
        wallMs: integer(row['wall_ms'], 'senders.wall_ms'),
        bootMs: integer(row['boot_ms'], 'senders.boot_ms'),
      };
      const endWithinMs = integer(row['lasts_ms'], 'senders.lasts_ms');
      if (endWithinMs > MAX_REQUESTS_END_WITHIN_MS) throw new DamagedValue('senders.lasts_ms');
      const ms = remainingMs(from, endWithinMs, now);
      const name = row['everything'] === 1 ? '' : sender;
      remaining.set(name, Math.max(remaining.get(name) ?? 0, ms));
      if (ms === 0) removeSender.run(target, sender);
    }
    return remaining;
  };
  /** How long each key must wait; marks ids that are no longer proven. Call before the group itself is put in doubt. */
  const waits = (target: number, { sender, keys, deletes }: BegunGroup): number[] => {
    const remaining = remainingOf(target);
    const waitMs = new Array<number>(keys.length).fill(remaining.get('') ?? 0);
    const over: string[] = [];
    const doubted = selectDoubted.all(keysJson(keys), target);
    const deleted = new Set(deletes.map(({ position }) => position));
    const upserted: string[] = [];
    for (const row of doubted) {
      const position = integer(row['position'], 'doubts.key');
      if (!deleted.has(position)) upserted.push(keys[position] ?? '');
      if (row['at_work'] === 0) continue;
      const others = text(row['sender'], 'doubts.sender')
        .split(' ')
        .filter((other) => other !== sender);
      const ms = Math.max(0, ...others.map((other) => remaining.get(other) ?? 0));
      waitMs[position] = Math.max(waitMs[position] ?? 0, ms);
      if (ms === 0) over.push(keys[position] ?? '');
    }
    if (over.length > 0) notAtWork.run(target, keysJson(over));
    // The request in doubt may be a delete: then this upsert creates the product again, with another id.
    if (upserted.length > 0) for (const doubtId of doubtIds) doubtId.run(target, keysJson(upserted));
    return waitMs;
  };
  const isOvertaken = (
    target: number,
    { job, keys }: BegunGroup,
    { position, id, looksUpId }: BegunGroup['deletes'][number],
  ): boolean => {
    const key = keys[position] ?? '';
    const owner = selectOwner.get(target, key);
    if (doubtOfOthers.get(target, key, job) !== undefined) return true;
    if (owner === undefined || owner['job'] !== job || owner['id_proof'] === CHANGED) return true;
    if (owner['id_proof'] === ONCE && !looksUpId) return true;
    return integerOrNull(owner['id'], 'marks.id') !== id;
  };
  /** Its commit survives a power failure; other commits survive only the death of the process. */
  const durably = <Result>(work: () => Result): Result => {
    database.exec('PRAGMA synchronous = FULL');
    try {
      return inTransaction(database, work);
    } finally {
      database.exec('PRAGMA synchronous = NORMAL');
    }
  };

  return {
    begin(group) {
      if (group.deletes.length > 0) journal.merge();
      return inTransaction(database, () => {
        const target = names.target(group.target);
        const overtaken = new Array<boolean>(group.keys.length).fill(false);
        for (const planned of group.deletes) {
          overtaken[planned.position] = isOvertaken(target, group, planned);
        }
        const waitMs = waits(target, group);
        const sent = group.keys.filter((_, position) => !overtaken[position]);
        const value = raised(target);
        insert.run(target, names.job(group.job), group.sender, value, keysJson(sent));
        return { waitMs, overtaken, serial: { lineage: lineage(), value } };
      });
    },
    heartbeat(target, sender, attemptMs) {
      const { wallMs, bootMs } = presentStoredMoment();
      inTransaction(database, () => {
        replaceSender.run(names.target(target), sender, 0, wallMs, bootMs, HEARTBEAT_VALID_MS + attemptMs);
      });
    },
    endSender(target, sender) {
      const number = names.findTarget(target) ?? 0;
      if (isAtWork.get(number, sender) === undefined) removeSender.run(number, sender);
    },
    withdraw(target, sender, keys) {
      const number = names.findTarget(target) ?? 0;
      inTransaction(database, () => {
        removeBegun.run(number, sender, keys);
        leave.run(sender, number, keys);
        clearAtWork.run(number, keys);
      });
    },
    unconfirmedAfter(target, job, after) {
      journal.merge();
      const rows = unconfirmed.all({ target: names.findTarget(target) ?? 0, job, after });
      const keys = rows.map(({ key }) => text(key, 'doubts.key'));
      refuseDisorder(after, keys, 'doubts.key');
      return keys;
    },
    doubtedOnlyBy(target, job, keys) {
      journal.merge();
      const rows = doubtedOnlyBy.all(keys, names.findTarget(target) ?? 0, job);
      return rows.map(({ position }) => integer(position, 'doubts.key'));
    },
    hasDoubts: (target) => any.get(names.findTarget(target) ?? 0) !== undefined,
    writtenSince(target, value, keys) {
      journal.merge();
      const rows = selectWritten.all({ keys, target: names.findTarget(target) ?? 0, value });
      return rows.map(({ position }) => integer(position, 'marks.key'));
    },
    confirm(target, keys) {
      journal.merge();
      inTransaction(database, () => {
        const number = names.target(target);
        confirm.run(raised(number), number, keys);
      });
    },
    position: (target) => positionOf(known(names.findTarget(target) ?? 0)),
    lostSince(target, run, witnesses) {
      const number = names.findTarget(target) ?? 0;
      return doubtedSince.get(run, number)?.['doubted'] === 1 || lossOf(witnesses, known(number)) !== null;
    },
    reconcile(target, witnesses) {
      journal.merge();
      return durably(() => {
        const number = names.target(target);
        const kind = lossOf(witnesses, known(number));
        if (kind === null) return null;
        // Stored as remaining time: with a clock that was ahead a witness would never expire.
        const now = presentStoredMoment();
        for (const [place, { requestsEndWithinMs, ...from }] of witnesses.entries()) {
          const leftMs = Math.ceil(remainingMs(from, requestsEndWithinMs, now));
          replaceSender.run(number, `witness ${place}`, 1, now.wallMs, now.bootMs, leftMs);
        }
        const value = Math.max(serialOf(number), ...witnesses.map(({ serial }) => serial.value)) + 1;
        setSerial.run(value, number);
        noteDoubted.run(number);
        const keys = Number(doubtAll.run(value, number).changes);
        return { kind, keys, serial: { lineage: lineage(), value } };
      });
    },
    endDoubts(target, keys, effects) {
      const keysWith = (...wanted: readonly (DoubtEffect | undefined)[]) =>
        keysJson(keys.filter((_, position) => wanted.includes(effects[position])));
      const ended = keysWith(END_DOUBT, FORGET_KEY);
      if (ended !== '[]') remove.run(target, ended);
      if (effects.every((effect) => effect === END_DOUBT)) return;
      removeNew.run(target, keysWith(RESTORE_PREVIOUS));
      notAtWork.run(target, keysWith(RESTORE_PREVIOUS, KEEP_IN_DOUBT));
    },
  };
}
