import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { StateError } from '../../model/storeferry-error.ts';
import { BLOCK_BODIES, blocksOf, bodiesIn, decodeBodies, encodeBodies } from '../encode-body.ts';
import { encodeBefore, encodeVersion } from '../stored-version.ts';
import { inTransaction } from './open-state-database.ts';
import { integer, integerOrNull, text } from './sqlite-error.ts';

/** Unpacked blocks that a reader keeps, of about 64 KiB each; also the packed blocks whose numbers are kept. */
const MAX_UNPACKED = 256;

/** A larger merge takes less time per row, but more memory. This many rows take a fraction of a second. */
const MERGE_AT = 8_192;

/** A row of `marks`. */
interface MarkRow {
  readonly fingerprint: string;
  readonly id: number | null;
  readonly idProof: number;
  readonly memo: string | null;
  /** Of the target when it was written; 0: the mark keeps its own. */
  readonly serial: number;
  /** Its number in `Bodies`. */
  readonly body: number;
}

/** What the history keeps of an acknowledgement besides its body. */
interface VersionOrigin {
  /** The number of the run. */
  readonly run: number;
  readonly at: number;
  /** As `versionHead` makes it. */
  readonly head: string;
}

/**
 * Acknowledgements arrive in the order of the answers, but marks are stored in key order. Written directly to
 * `marks`, each would rewrite its own page (measured: 13 to 27 microseconds per record against 5 to 15). So they are
 * appended to a journal in the transaction of their outcome, and merged in key order when there are many, and always
 * before a process reads the ledger.
 */
export type Journal = ReturnType<typeof createJournal>;

/** The journal of an open database. */
export function createJournal(database: DatabaseSync, bodies: Bodies) {
  const keepVersions = createKeepVersions(database, bodies);
  const append = database.prepare(
    `INSERT INTO journal (target, key, fingerprint, id, id_proof, job, memo, body, serial, run, at, head)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const size = database.prepare('SELECT count(*) AS size FROM journal');
  const any = database.prepare('SELECT 1 FROM journal LIMIT 1');
  // OR ROLLBACK: otherwise SQLite keeps each page that a statement changes in memory, up to 50 MiB, to undo it alone.
  const mergeSteps = [
    // Only the last row of a key counts.
    `INSERT INTO dead_bodies SELECT body FROM journal
       WHERE body IS NOT NULL AND number NOT IN (SELECT max(number) FROM journal GROUP BY target, key)`,
    'DELETE FROM journal WHERE number NOT IN (SELECT max(number) FROM journal GROUP BY target, key)',
    // Bodies of marks that are replaced or removed.
    'INSERT INTO dead_bodies SELECT marks.body FROM journal CROSS JOIN marks USING (target, key)',
    'DELETE FROM marks WHERE (target, key) IN (SELECT target, key FROM journal WHERE fingerprint IS NULL)',
    `INSERT OR ROLLBACK INTO marks (target, key, fingerprint, id, id_proof, job, memo, body, serial)
       SELECT target, key, fingerprint, id, id_proof, job, memo, body, serial FROM journal
       WHERE fingerprint IS NOT NULL ORDER BY target, key
     ON CONFLICT DO UPDATE SET
       fingerprint = excluded.fingerprint, id = excluded.id, id_proof = excluded.id_proof, job = excluded.job,
       memo = excluded.memo, body = excluded.body,
       serial = CASE excluded.serial WHEN 0 THEN serial ELSE excluded.serial END`,
    `INSERT OR IGNORE INTO unindexed SELECT target, key FROM journal
       WHERE target IN (SELECT number FROM targets WHERE indexed > 0) ORDER BY target, key`,
    'DELETE FROM journal',
  ].map((step) => database.prepare(step));

  let appended = Number(size.get()?.['size']);
  const mergeAll = () => {
    keepVersions();
    for (const step of mergeSteps) step.run();
    bodies.removeDead();
    appended = 0;
  };
  return {
    /** Within a transaction: sets the mark of the key, or removes it; with a version it also becomes one of the history. */
    append(target: number, job: number, key: string, mark: MarkRow | null, version: VersionOrigin | null) {
      appended += 1;
      const { fingerprint = null, id = null, idProof = 0, memo = null, body = null, serial = 0 } = mark ?? {};
      const { run = null, at = null, head = null } = version ?? {};
      append.run(target, key, fingerprint, id, idProof, job, memo, body, serial, run, at, head);
    },
    /** Within a transaction, after the last `append`. */
    mergeIfLarge() {
      if (appended >= MERGE_AT) mergeAll();
    },
    /** Call before reading marks. Uses its own transaction, unless there is one. */
    merge() {
      if (any.get() === undefined) return;
      if (database.isTransaction) mergeAll();
      else inTransaction(database, mergeAll);
    },
  };
}

/** What SQLite stores of a version besides its content: its row, and its entry of the index. */
export const BYTES_PER_VERSION = 45;

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
function createKeepVersions(database: DatabaseSync, bodies: Bodies) {
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
  const read = () => {
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
  const contentOf = ({ head, old, next }: Kept, body: ReturnType<Bodies['reader']>) => {
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

/**
 * Request bodies, packed in blocks of bodies that were planned or recorded together. The number of a body is the number of its
 * block times `BLOCK_BODIES` plus its place. Each block has two sets of places, one bit each: `living` have a mark or
 * journal row, `packed` have a body in the block. If no more than half of the packed places are living, the block is
 * packed again.
 */
export type Bodies = ReturnType<typeof createBodies>;

/** The bodies of an open database. Creates `temp.dead_bodies`, for the numbers of unreferenced bodies. */
export function createBodies(database: DatabaseSync) {
  database.exec('CREATE TEMP TABLE IF NOT EXISTS dead_bodies (body INTEGER PRIMARY KEY)');
  const insert = database.prepare('INSERT INTO bodies (content, living, packed) VALUES (?, ?, ?)');
  // Compares the content, because the number may meanwhile belong to another block, also of another process. Refuses a place
  // that has a row: merging one of two rows would remove the body of the other.
  const addPlaces = database.prepare(
    `UPDATE bodies SET living = living | :places
     WHERE number = :number AND content = :block AND living & :places = 0`,
  );
  const latest = new Map<number, number>();
  const removeFromLiving = database.prepare(
    `UPDATE OR ROLLBACK bodies SET living = living - dead.bits FROM (
       SELECT body / ${BLOCK_BODIES} AS block, sum(1 << (body % ${BLOCK_BODIES})) AS bits FROM dead_bodies GROUP BY block
     ) AS dead WHERE bodies.number = dead.block`,
  );
  const ofDead = `number IN (SELECT body / ${BLOCK_BODIES} FROM dead_bodies)`;
  const removeEmpty = database.prepare(`DELETE FROM bodies WHERE ${ofDead} AND living = 0`);
  const touched = database.prepare(`SELECT number, living, packed FROM bodies WHERE ${ofDead}`);
  const selectContent = database.prepare('SELECT content FROM bodies WHERE number = ?');
  const repack = database.prepare('UPDATE bodies SET content = ?, packed = living WHERE number = ?');
  const clearDead = database.prepare('DELETE FROM dead_bodies');
  const setContent = database.prepare('UPDATE bodies SET content = ? WHERE number = ?');
  const partlyDead = database.prepare('SELECT number, living FROM bodies WHERE living <> packed');

  const unpack = (block: number) => {
    const content = selectContent.get(block)?.['content'];
    return content instanceof Uint8Array ? decodeBodies(content) : [];
  };
  const repackBlock = (block: number, living: number) => {
    try {
      const kept = unpack(block).map((body, place) => (living & (1 << place) ? body : ''));
      repack.run(encodeBodies(kept), block);
    } catch (error) {
      // A damaged block is not changed: reading one of its bodies fails, and writing continues.
      if (!(error instanceof StateError)) throw error;
    }
  };

  return {
    /** Within a transaction; the number of each body, in order. */
    add(bodies: readonly string[]): number[] {
      const numbers: number[] = [];
      for (const block of blocksOf(bodies)) {
        const all = (1 << block.length) - 1;
        const number = Number(insert.run(encodeBodies(block), all, all).lastInsertRowid);
        for (const place of block.keys()) numbers.push(number * BLOCK_BODIES + place);
      }
      return numbers;
    },
    /**
     * Within a transaction: adds a block that `packBodies` made, of which only these places (one bit each) have a journal row
     * now. Later calls with the same block and other places add these. The number of its first place.
     */
    addPacked(block: Uint8Array, places: number): number {
      const sum = crc32(block);
      const known = latest.get(sum);
      if (known !== undefined && addPlaces.run({ places, number: known, block }).changes === 1) {
        return known * BLOCK_BODIES;
      }
      const number = Number(insert.run(block, places, (1 << bodiesIn(block)) - 1).lastInsertRowid);
      if (latest.size >= MAX_UNPACKED) latest.clear();
      latest.set(sum, number);
      return number * BLOCK_BODIES;
    },
    /** Reads bodies by their numbers. A block is unpacked once if its bodies are read one after another. */
    reader(): (body: number) => string | null {
      const unpacked = new Map<number, readonly string[]>();
      return (body) => {
        const block = Math.floor(body / BLOCK_BODIES);
        const bodies = unpacked.get(block) ?? unpack(block);
        if (unpacked.size >= MAX_UNPACKED) unpacked.clear();
        unpacked.set(block, bodies);
        return bodies[body % BLOCK_BODIES] ?? null;
      };
    },
    /** Within a transaction: removes the bodies in `dead_bodies`, and empties that table. */
    removeDead() {
      removeFromLiving.run();
      removeEmpty.run();
      for (const row of touched.all()) {
        const living = Number(row['living']);
        if (2 * bitsIn(living) <= bitsIn(Number(row['packed']))) repackBlock(Number(row['number']), living);
      }
      clearDead.run();
    },
    /**
     * Within a transaction: replaces a body, if there is one, and removes all unreferenced bodies from their blocks, also those
     * of requests that the store refused.
     */
    replace(body: number | null, by: string) {
      if (body !== null) {
        const block = Math.floor(body / BLOCK_BODIES);
        const replaced = unpack(block).map((old, place) => (place === body % BLOCK_BODIES ? by : old));
        setContent.run(encodeBodies(replaced), block);
      }
      for (const { number, living } of partlyDead.all()) repackBlock(Number(number), Number(living));
    },
  };
}

function bitsIn(bits: number) {
  let count = 0;
  for (let rest = bits; rest > 0; rest >>= 1) count += rest & 1;
  return count;
}
