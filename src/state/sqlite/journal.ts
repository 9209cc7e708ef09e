import type { DatabaseSync } from 'node:sqlite';
import type { Bodies } from './bodies.ts';
import { inTransaction } from './transaction.ts';

/** Merges cost little per row when they are large; this many rows take a fraction of a second. */
const MERGE_AT = 16_384;

/** What a store acknowledged for a key; `null` instead of a mark: the key was deleted. */
export interface Acknowledged {
  readonly key: string;
  readonly mark: {
    readonly fingerprint: string;
    readonly id: number | null;
    /** Its place in `ID_PROOFS`. */
    readonly idProof: number;
    readonly memo: string | null;
    /** The number that `Bodies.add` gave it. */
    readonly body: number;
  } | null;
}

/**
 * Acknowledgements come in the order of the answers, while marks lie in the order of keys: written straight to
 * `marks` each would rewrite a page of its own (measured: 13 to 27 microseconds a record against 5 to 15). So they are
 * appended to a journal in the transaction of their outcome, and merged in key order now and then, and always before
 * the ledger is read, by whichever process reads it.
 */
export interface Journal {
  /** Within a transaction. */
  append(target: number, job: number, acknowledged: Acknowledged): void;
  /** Within a transaction, after the last `append`. */
  mergeIfLarge(): void;
  /** So that the marks are all there is. A transaction of its own, if there is anything to do. */
  merge(): void;
}

/** The journal of an open database. */
export function createJournal(database: DatabaseSync, bodies: Bodies): Journal {
  const append = database.prepare(
    'INSERT INTO journal (target, key, fingerprint, id, id_proof, job, memo, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
  );
  const size = database.prepare('SELECT count(*) AS size FROM journal');
  const any = database.prepare('SELECT 1 FROM journal LIMIT 1');
  const mergeSteps = [
    // Only the last word on a key counts.
    `INSERT INTO dead_bodies SELECT body FROM journal
       WHERE body IS NOT NULL AND number NOT IN (SELECT max(number) FROM journal GROUP BY target, key)`,
    'DELETE FROM journal WHERE number NOT IN (SELECT max(number) FROM journal GROUP BY target, key)',
    // Bodies of marks that are replaced or forgotten.
    'INSERT INTO dead_bodies SELECT marks.body FROM journal CROSS JOIN marks USING (target, key)',
    'DELETE FROM marks WHERE (target, key) IN (SELECT target, key FROM journal WHERE fingerprint IS NULL)',
    `INSERT INTO marks (target, key, fingerprint, id, id_proof, job, memo, body)
       SELECT target, key, fingerprint, id, id_proof, job, memo, body FROM journal
       WHERE fingerprint IS NOT NULL ORDER BY target, key
     ON CONFLICT DO UPDATE SET
       fingerprint = excluded.fingerprint, id = excluded.id, id_proof = excluded.id_proof, job = excluded.job,
       memo = excluded.memo, body = excluded.body`,
    'DELETE FROM journal',
  ].map((step) => database.prepare(step));

  let appended = Number(size.get()?.['size']);
  const mergeAll = () => {
    for (const step of mergeSteps) step.run();
    bodies.bury();
    appended = 0;
  };
  return {
    append(target, job, { key, mark }) {
      appended += 1;
      if (mark === null) {
        append.run(target, key, null, null, 0, job, null, null);
      } else {
        append.run(target, key, mark.fingerprint, mark.id, mark.idProof, job, mark.memo, mark.body);
      }
    },
    mergeIfLarge() {
      if (appended >= MERGE_AT) mergeAll();
    },
    merge() {
      if (any.get() !== undefined) inTransaction(database, mergeAll);
    },
  };
}
