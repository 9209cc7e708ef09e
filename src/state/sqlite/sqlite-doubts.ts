import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { StateLoss } from '../../model/run.ts';
import {
  type Doubt,
  type FactsByKey,
  type KeyWrites,
  ledgerRules,
  type MarkChange,
  type OperationGroup,
  PRESENT_SERIAL,
  type RunningRequests,
  type SettledEffect,
  type StoredMark,
  UNKNOWN,
} from '../ledger-rules.ts';
import {
  detectLoss,
  formatPosition,
  HEARTBEAT_VALID_MS,
  type Serial,
  serialSince,
  type Witness,
} from '../serial.ts';
import { type Begun, IN_DOUBT, type LedgerTarget, type StoredView } from '../state.ts';
import { presentStoredMoment, remainingMs } from '../stored-moment.ts';
import type { Journal } from './journal.ts';
import {
  ID_PROOFS,
  inTransaction,
  keysJson,
  type Names,
  proofOf,
  selectByKeys,
} from './open-state-database.ts';
import { DamagedValue, inOrder, integer, integerOrNull, readRow, text, textOrNull } from './sqlite-error.ts';

/** Within the transaction of outcomes: applies their effects on the doubts about their keys. */
export type EndDoubts = (target: number, effects: readonly SettledEffect[]) => void;

const PAGE_SIZE = 1_000;
/** No request lasts this long. */
const MAX_REQUESTS_END_WITHIN_MS = 24 * 60 * 60 * 1_000;
/** What randomUUID gives. A witness file has only room for an id of this length. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Replaces the number of a job for a key in doubt that several jobs have sent. */
const NO_JOB = 0;

/**
 * The facts about keys in doubt, and the writes of the rules about them: within one transaction nobody changes a fact between. One row
 * per key in doubt (`Doubt`): `sender` has the senders, separated by blanks. Statements that concern all keys of a target apply their
 * rules in SQL, because they would move a whole ledger through the process: `isAtWork` is `mayRun`, `unconfirmed` is `isUnconfirmed`,
 * `doubtAll` is `loseMarks`; `proveIdsAgain` is in sqlite-ledger.ts.
 */
export function sqliteDoubts(database: DatabaseSync, names: Names, journal: Journal) {
  const doubtColumns = ['prior', 'at_work', 'sender', 'job', 'serial', 'fields'];
  const selectDoubts = selectByKeys(database, 'doubts', doubtColumns);
  const selectMarks = selectByKeys(database, 'marks', ['fingerprint', 'id', 'id_proof', 'job', 'serial']);
  const selectDeletes = selectByKeys(database, 'deletes', ['serial']);
  const listed = 'key IN (SELECT value FROM json_each(?))';
  const putDoubts = database.prepare(
    `INSERT OR REPLACE INTO doubts (target, prior, at_work, sender, job, serial, fields, key)
     SELECT ?, ?, ?, ?, ?, ?, ?, value FROM json_each(?)`,
  );
  const removeDoubts = database.prepare(`DELETE FROM doubts WHERE target = ? AND ${listed}`);
  const updateMark = database.prepare(
    'UPDATE marks SET id_proof = ?, serial = ? WHERE target = ? AND key = ?',
  );
  const selectSenders = database.prepare(
    'SELECT sender, wall_ms AS wallMs, boot_ms AS bootMs, lasts_ms AS lastsMs, everything FROM senders WHERE target = ?',
  );
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
    `SELECT 1 FROM doubts WHERE target = ? AND instr(' ' || sender || ' ', ' ' || ? || ' ') > 0 AND at_work = 1 LIMIT 1`,
  );
  const any = database.prepare('SELECT 1 FROM doubts WHERE target = ? LIMIT 1');
  const unconfirmed = database.prepare(
    `SELECT key FROM doubts WHERE target = :target AND key > :after
       AND job IN (${NO_JOB}, (SELECT number FROM jobs WHERE name = :job))
       AND NOT EXISTS (SELECT 1 FROM marks WHERE marks.target = doubts.target AND marks.key = doubts.key)
     ORDER BY key LIMIT ${PAGE_SIZE}`,
  );
  const doubtAll = database.prepare(
    `UPDATE marks SET fingerprint = '${IN_DOUBT}', memo = NULL, id_proof = ${ID_PROOFS.indexOf('changed')}, serial = ? WHERE target = ?`,
  );
  const noteDoubted = database.prepare(
    'UPDATE targets SET doubted_at = (SELECT coalesce(max(number), 0) FROM runs) WHERE number = ?',
  );
  const doubtedSince = database.prepare(
    'SELECT doubted_at >= (SELECT number FROM runs WHERE id = ?) AS doubted FROM targets WHERE number = ?',
  );

  const serialOf = (target: number) => integer(selectSerial.get(target)?.['serial'] ?? 0, 'targets.serial');
  const knownLineage = () => {
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
  const lineage = () => {
    const known = knownLineage();
    if (known !== null) return known;
    const made = randomUUID();
    insertLineage.run(made);
    return made;
  };
  const raised = (target: number): Serial => ({
    lineage: lineage(),
    value: integer(raiseSerial.get(target)?.['serial'], 'targets.serial'),
  });
  /** How long requests of other senders may still run; removes senders whose requests have ended. */
  const runningRequests = (target: number): RunningRequests => {
    const now = presentStoredMoment();
    const bySender = new Map<string, number>();
    let ofAnyKey = 0;
    for (const row of selectSenders.all(target)) {
      const columns = {
        sender: text,
        wallMs: integer,
        bootMs: integer,
        lastsMs: integer,
        everything: integer,
      };
      const { sender, lastsMs, everything, ...from } = readRow(row, 'senders', columns);
      if (lastsMs > MAX_REQUESTS_END_WITHIN_MS) throw new DamagedValue('senders.lasts_ms');
      const ms = remainingMs(from, lastsMs, now);
      if (ms === 0) removeSender.run(target, sender);
      else if (everything === 1) ofAnyKey = Math.max(ofAnyKey, ms);
      else bySender.set(sender, ms);
    }
    return { bySender, ofAnyKey };
  };
  const readDoubts = (target: number, keys: readonly string[]) => {
    return new Map(
      selectDoubts(target, keys).map(
        ({ 0: position, 1: prior, 2: atWork, 3: senders, 4: job, 5: serial, 6: fields }) => {
          const number = integer(job, 'doubts.job');
          const doubt: Doubt = {
            isPrior: prior === 1,
            isAtWork: atWork === 1,
            senders: text(senders, 'doubts.sender').split(' '),
            job: number === NO_JOB ? null : names.jobName(number),
            serial: integer(serial, 'doubts.serial'),
            fields: fieldNames(textOrNull(fields, 'doubts.fields')),
          };
          return [keys[integer(position, 'doubts.key')] ?? '', doubt];
        },
      ),
    );
  };
  /** Without their memos. */
  const readMarks = (target: number, keys: readonly string[]): Map<string, StoredMark> => {
    if (keys.length === 0) return new Map();
    journal.merge();
    return new Map(
      selectMarks(target, keys).map(({ 0: position, 1: fingerprint, 2: id, 3: proof, 4: job, 5: serial }) => {
        const mark: StoredMark = {
          fingerprint: text(fingerprint, 'marks.fingerprint'),
          id: integerOrNull(id, 'marks.id'),
          ...proofOf(integer(proof, 'marks.id_proof')),
          job: names.jobName(integer(job, 'marks.job')),
          serial: integer(serial, 'marks.serial'),
        };
        return [keys[integer(position, 'marks.key')] ?? '', mark];
      }),
    );
  };
  const readFacts = (
    target: number,
    keys: readonly string[],
    needsMark: (key: string, isDoubted: boolean) => boolean,
  ): FactsByKey => {
    const doubts = readDoubts(target, keys);
    const marks = readMarks(
      target,
      keys.filter((key) => needsMark(key, doubts.has(key))),
    );
    const known = new Set([...doubts.keys(), ...marks.keys()]);
    return new Map(
      Array.from(known, (key) => [key, { mark: marks.get(key) ?? null, doubt: doubts.get(key) ?? null }]),
    );
  };
  /** Within the transaction that has read the facts. `present`: the serial that stands for PRESENT_SERIAL. */
  const apply = (
    target: number,
    { doubts, marks }: KeyWrites<MarkChange>,
    facts: FactsByKey,
    present: () => number,
  ) => {
    const storedSerial = (serial: number) => (serial === PRESENT_SERIAL ? present() : serial);
    for (const [doubt, keys] of doubts) {
      if (keys.length === 0) continue;
      if (doubt === null) {
        removeDoubts.run(target, keysJson(keys));
        continue;
      }
      const { isPrior, isAtWork, senders, job, serial, fields } = doubt;
      const columns = [Number(isPrior), Number(isAtWork), senders.join(' ')];
      const number = job === null ? NO_JOB : names.job(job);
      const partNames = fields === null ? null : JSON.stringify(fields);
      putDoubts.run(target, ...columns, number, storedSerial(serial), partNames, keysJson(keys));
    }
    for (const [key, change] of marks) {
      const { idProof = 'proven', serial = 0 } = { ...facts.get(key)?.mark, ...change };
      updateMark.run(ID_PROOFS.indexOf(idProof), storedSerial(serial), target, key);
    }
  };
  /** Its commit survives a power failure; other commits survive only the death of the process. */
  const durably = <Result>(work: () => Result) => {
    database.exec('PRAGMA synchronous = FULL');
    try {
      return inTransaction(database, work);
    } finally {
      database.exec('PRAGMA synchronous = NORMAL');
    }
  };

  const endDoubts: EndDoubts = (target, effects) => {
    const dependent = effects.filter(ledgerRules.dependsOnDoubt).map(({ doubtedKey }) => doubtedKey);
    const facts = readFacts(target, dependent, () => false);
    apply(target, ledgerRules.settleDoubts(effects, facts), facts, () => serialOf(target));
  };
  return {
    endDoubts,
    /** When it returns, it survives the death of the process; the witness detects what a power failure takes. */
    begin: (to: LedgerTarget, group: OperationGroup): Begun & { readonly serial: Serial } =>
      inTransaction(database, () => {
        const target = names.target(to);
        const marked = ledgerRules.keysWithMarks(group);
        const needsMark = (key: string, isDoubted: boolean) => isDoubted || marked.has(key);
        const facts = readFacts(target, group.keys, needsMark);
        const { writes, ...begun } = ledgerRules.beginKeys(group, facts, runningRequests(target));
        const serial = raised(target);
        apply(target, writes, facts, () => serial.value);
        return { ...begun, serial };
      }),
    /** Records that the sender is alive now, and that each of its requests lasts at most `attemptMs`. */
    heartbeat(target: LedgerTarget, sender: string, attemptMs: number) {
      const { wallMs, bootMs } = presentStoredMoment();
      inTransaction(database, () => {
        replaceSender.run(names.target(target), sender, 0, wallMs, bootMs, HEARTBEAT_VALID_MS + attemptMs);
      });
    },
    /** Records that the sender has stopped sending, unless a request of it may still run. */
    endSender(target: LedgerTarget, sender: string) {
      const number = names.findTarget(target);
      if (isAtWork.get(number, sender) === undefined) removeSender.run(number, sender);
    },
    withdraw(target: LedgerTarget, sender: string, keys: readonly string[]) {
      const number = names.findTarget(target);
      inTransaction(database, () => {
        const facts = readFacts(number, keys, () => false);
        apply(number, ledgerRules.withdrawKeys(sender, facts), facts, () => serialOf(number));
      });
    },
    /** A page of the keys after this one, in order; empty at the end. */
    unconfirmedAfter(target: LedgerTarget, job: string, after: string): string[] {
      journal.merge();
      const rows = unconfirmed.all({ target: names.findTarget(target), job, after });
      const page = rows.map((row) => readRow(row, 'doubts', { key: text }));
      return inOrder(after, 'doubts', page).map(({ key }) => key);
    },
    doubtedOnlyBy(target: LedgerTarget, job: string, keys: readonly string[]): ReadonlySet<string> {
      const facts = readFacts(names.findTarget(target), keys, (_, isDoubted) => isDoubted);
      return new Set(keys.filter((key) => ledgerRules.isDoubtedOnlyBy(job, facts.get(key) ?? UNKNOWN)));
    },
    /** The fields in doubt of each key; null: any of them. */
    doubtedFields(target: LedgerTarget, keys: readonly string[]): StoredView['doubted'][] {
      const facts = readFacts(names.findTarget(target), keys, () => true);
      return keys.map((key) => ledgerRules.doubtedFields(facts.get(key) ?? UNKNOWN));
    },
    hasDoubts: (target: LedgerTarget) => any.get(names.findTarget(target)) !== undefined,
    writtenSince(target: LedgerTarget, position: string, keys: readonly string[]): ReadonlySet<string> {
      const number = names.findTarget(target);
      const since = serialSince(position, formatPosition(known(number)));
      if (since === undefined) return new Set(keys);
      const facts = readFacts(number, keys, () => true);
      const deletedAt = new Map(
        selectDeletes(number, keys).map((row) => [
          integer(row[0], 'deletes.key'),
          integer(row[1], 'deletes.serial'),
        ]),
      );
      const written = keys.filter((key, place) =>
        ledgerRules.wasWrittenSince(since, facts.get(key) ?? UNKNOWN, deletedAt.get(place) ?? 0),
      );
      return new Set(written);
    },
    confirm(target: LedgerTarget, keys: readonly string[]) {
      inTransaction(database, () => {
        const number = names.target(target);
        const facts = readFacts(number, keys, () => true);
        const { value } = raised(number);
        apply(number, ledgerRules.confirmKeys(facts), facts, () => value);
      });
    },
    position: (target: LedgerTarget) => formatPosition(known(names.findTarget(target))),
    lostSince(target: LedgerTarget, run: string, witnesses: readonly Witness[]): boolean {
      const number = names.findTarget(target);
      return (
        doubtedSince.get(run, number)?.['doubted'] === 1 || detectLoss(witnesses, known(number)) !== null
      );
    },
    /** The loss, and the serial with which the state continues. */
    reconcile(
      target: LedgerTarget,
      witnesses: readonly Witness[],
    ): (StateLoss & { readonly serial: Serial }) | null {
      journal.merge();
      return durably(() => {
        const number = names.target(target);
        const kind = detectLoss(witnesses, known(number));
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
  };
}

function fieldNames(json: string | null): readonly string[] | null {
  if (json === null) return null;
  const names: unknown = JSON.parse(json);
  return Array.isArray(names) ? names.map(String) : null;
}
