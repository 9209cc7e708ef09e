import { chmodSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { StateError } from '../../model/storeferry-error.ts';
import type { IdProof, LedgerTarget, OwnedKey } from '../state.ts';
import { DamagedValue, damageBehind, integer, isBusy, sqliteError, text } from './sqlite-error.ts';

/**
 * How long a write waits for another process: each write takes milliseconds, a merge of the journal a fraction of a
 * second.
 */
export const BUSY_TIMEOUT_MS = 30_000;
/** No version number can be this much higher; a higher one means damage. */
const MAX_VERSIONS_AHEAD = 500;

/** `user_version` of a database with this schema. */
const VERSION = 15;

/**
 * - `marks`: every run compares each record with its row, so rows are small and in key order. Bodies are in their own table, in
 *   order of arrival, because only changed records need theirs; marks and journal refer to them by block and place (journal.ts).
 * - `journal` holds acknowledgements in order of arrival until they are merged into `marks` (journal.ts); a row without
 *   fingerprint removes its key, and a row with a run becomes a version (journal.ts).
 * - `memo` belongs to the rows that made the body; null where the same rows may make another body.
 * - `serial` of a mark, a doubt or a delete is that of the target when it was written (`Ledger.writtenSince`); 0 in the journal keeps that
 *   of the mark. `deletes` has the newest deletes only.
 * - `outcomes.kind`: 0 applied upsert, 1 applied delete, 2 rejected, 3 unsent, 4 left. `detail` is JSON for 2 and 3 (sqlite-runs.ts).
 * - `id_proof`: 0 proven, 1 once, 2 changed (IdProof).
 * - `handles`: by which SKU, id or part of url and title a product is found (product-handle.ts), where `targets.indexed` is not 0. Merging the journal puts the
 *   keys that it changes into `unindexed`, and the next look-up brings their handles up to date.
 * - `observations`: what answers have shown of marks (observation.ts); a mark without a row was acknowledged unobserved.
 * - `doubts`: keys in doubt (sqlite-doubts.ts), with the fields in doubt as JSON, null for any; `senders`: the last heartbeat of each sender. `targets.serial` grows with every group
 *   of keys that is put in doubt; `targets.doubted_at` is the number of the newest run when the whole target was put in doubt.
 * - `locks`: the last holder of each lock, and its file (sqlite-locks.ts).
 * - `versions`: the history; `version_runs`: its runs, which stay when they are removed from `runs` (sqlite-ledger.ts).
 * - `schedules`, `queue`: the work of the worker. `checked_addresses`: successful checks of image addresses, by digest.
 *   `audit`: the log of what users did (all in sqlite-calls.ts).
 *
 * Runs are ordered by number only, because a clock may be set forward and back.
 */
const SCHEMA = `
  CREATE TABLE lineage (id TEXT NOT NULL) STRICT;
  CREATE TABLE targets (
    number INTEGER PRIMARY KEY, store_id TEXT NOT NULL, resource TEXT NOT NULL,
    serial INTEGER NOT NULL DEFAULT 0, doubted_at INTEGER, indexed INTEGER NOT NULL DEFAULT 0,
    UNIQUE (store_id, resource)
  ) STRICT;
  CREATE TABLE jobs (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

  CREATE TABLE marks (
    target INTEGER NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, id INTEGER, job INTEGER NOT NULL,
    body INTEGER NOT NULL, memo TEXT, id_proof INTEGER NOT NULL DEFAULT 0, serial INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (target, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE bodies (
    number INTEGER PRIMARY KEY, content BLOB NOT NULL, living INTEGER NOT NULL DEFAULT 1,
    packed INTEGER NOT NULL DEFAULT 1
  ) STRICT;
  CREATE TABLE journal (
    number INTEGER PRIMARY KEY, target INTEGER NOT NULL, key TEXT NOT NULL, fingerprint TEXT, id INTEGER,
    job INTEGER NOT NULL, body INTEGER, memo TEXT, id_proof INTEGER NOT NULL DEFAULT 0,
    serial INTEGER NOT NULL DEFAULT 0, run INTEGER, at INTEGER, head TEXT
  ) STRICT;
  CREATE TABLE deletes (
    number INTEGER PRIMARY KEY, target INTEGER NOT NULL, key TEXT NOT NULL, serial INTEGER NOT NULL,
    UNIQUE (target, key)
  ) STRICT;
  CREATE TABLE observations (
    target INTEGER NOT NULL, key TEXT NOT NULL, content TEXT NOT NULL, edited INTEGER NOT NULL,
    PRIMARY KEY (target, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX observations_edited ON observations (target, key) WHERE edited = 1;
  CREATE TABLE handles (
    target INTEGER NOT NULL, handle TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (target, handle, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX handles_by_key ON handles (target, key);
  CREATE TABLE unindexed (
    target INTEGER NOT NULL, key TEXT NOT NULL, PRIMARY KEY (target, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE doubts (
    target INTEGER NOT NULL, key TEXT NOT NULL, job INTEGER NOT NULL, sender TEXT NOT NULL,
    at_work INTEGER NOT NULL, prior INTEGER NOT NULL, serial INTEGER NOT NULL, fields TEXT,
    PRIMARY KEY (target, key)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE senders (
    target INTEGER NOT NULL, sender TEXT NOT NULL, everything INTEGER NOT NULL,
    wall_ms INTEGER NOT NULL, boot_ms INTEGER NOT NULL, lasts_ms INTEGER NOT NULL,
    PRIMARY KEY (target, sender)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE runs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, job TEXT NOT NULL,
    started_at INTEGER NOT NULL, document TEXT NOT NULL
  ) STRICT;
  CREATE INDEX runs_by_job ON runs (job, number);
  CREATE TABLE requests (run INTEGER PRIMARY KEY, count INTEGER NOT NULL) STRICT;
  CREATE TABLE outcomes (
    run INTEGER NOT NULL, shard INTEGER NOT NULL, operation INTEGER NOT NULL, kind INTEGER NOT NULL,
    rows INTEGER NOT NULL, detail TEXT,
    PRIMARY KEY (run, shard, operation)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX outcomes_not_applied ON outcomes (run, kind, shard, operation) WHERE kind >= 2;
  CREATE TABLE changed_ids (
    run INTEGER NOT NULL, shard INTEGER NOT NULL, operation INTEGER NOT NULL, key TEXT NOT NULL,
    known_id INTEGER NOT NULL, answered_id INTEGER NOT NULL,
    PRIMARY KEY (run, shard, operation)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE locks (
    name TEXT PRIMARY KEY, token TEXT, job TEXT NOT NULL, run TEXT NOT NULL, file TEXT NOT NULL
  ) STRICT;

  CREATE TABLE version_keys (
    number INTEGER PRIMARY KEY, target INTEGER NOT NULL, key TEXT NOT NULL, UNIQUE (target, key)
  ) STRICT;
  CREATE TABLE version_runs (
    target INTEGER NOT NULL, run INTEGER NOT NULL, id TEXT NOT NULL, at INTEGER NOT NULL, document TEXT NOT NULL,
    versions INTEGER NOT NULL DEFAULT 0, bytes INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (target, run)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE versions (
    key INTEGER NOT NULL, number INTEGER NOT NULL, run INTEGER NOT NULL, at INTEGER NOT NULL, content BLOB NOT NULL,
    PRIMARY KEY (key, number)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX versions_by_run ON versions (run, key);

  CREATE TABLE schedules (
    job TEXT PRIMARY KEY, cron TEXT NOT NULL, timezone TEXT NOT NULL, next INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE queue (
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, job TEXT NOT NULL, whole INTEGER NOT NULL, action TEXT NOT NULL,
    taken INTEGER NOT NULL DEFAULT 0, run TEXT, ended INTEGER NOT NULL DEFAULT 0, error TEXT
  ) STRICT;
  CREATE UNIQUE INDEX queue_open ON queue (job) WHERE ended = 0 AND whole = 1;
  CREATE TABLE checked_addresses (
    address TEXT PRIMARY KEY, version TEXT, at INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE audit (number INTEGER PRIMARY KEY, at INTEGER NOT NULL, entry TEXT NOT NULL) STRICT;
  CREATE INDEX audit_by_time ON audit (at);
  PRAGMA user_version = ${VERSION};
`;

/**
 * - WAL: several processes read while one writes; a commit survives the process. A power failure may
 *   lose the last ones; their records are sent again.
 * - 8 MiB of page cache; the rest comes from the system's own cache. 32 MiB were no faster with 240 000 keys. The file is not
 *   memory-mapped, which was no faster either and would count as resident memory.
 * - `journal_size_limit`, which is of the WAL, gives the disk back after a large merge.
 */
const SETTINGS = `
  PRAGMA synchronous = NORMAL;
  PRAGMA cache_size = -8192;
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA temp_store = MEMORY;
`;

/** Opens the state database at the path, creating it if it is absent. StateError if it cannot be used. */
export async function openStateDatabase(path: string): Promise<DatabaseSync> {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    isCreated(database, path);
    closeToOthers(path);
    await useWal(database);
    database.exec(SETTINGS);
    if (!isCreated(database, path)) create(database, path);
    return database;
  } catch (error) {
    if (database?.isOpen) database.close();
    throw sqliteError(error, path);
  }
}

/** The result of a check of the embedded state: no file yet, an empty file, or an intact database of this size. */
export type StateCheck =
  | { readonly kind: 'absent' | 'empty' }
  | { readonly kind: 'sound'; readonly bytes: number };

/**
 * Opens the state database of a folder (`.storeferry`) like every command, and reads all of it once (`quick_check`),
 * which blocks this thread. StateError if it is damaged or cannot be used.
 */
export async function checkStateDatabase(folder: string): Promise<StateCheck> {
  const path = join(folder, 'state.db');
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return { kind: 'absent' };
  if (found.size === 0) return { kind: 'empty' };
  const database = await openStateDatabase(path);
  try {
    const problem = damageBehind(null, database, path);
    if (problem !== null) throw sqliteError(problem, path);
    return { kind: 'sound', bytes: found.size };
  } finally {
    database.close();
  }
}

/** Runs the work in one write transaction: either all of it is committed or, if it throws, nothing. */
export function inTransaction<Result>(database: DatabaseSync, work: () => Result): Result {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    // After some errors, including a full disk, SQLite has already rolled back.
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Keys as a JSON array, which SQLite reads as a table. SQLite replaced a lone surrogate when the key was stored, which JSON would keep:
 * it is replaced here as well.
 */
export function keysJson(keys: readonly string[]): string {
  const json = JSON.stringify(keys);
  return json.includes('\\ud') ? JSON.stringify(keys.map((key) => key.toWellFormed())) : json;
}

/**
 * Reads columns of the rows of a target that have one of these keys, by one statement for all: arrays of the position of the key, then
 * the columns. Measured per key of a million: 1.6 to 2.3 microseconds; a prepared `get` per key took 4 to 6, a list of 500 parameters
 * 2.1 to 3. Rows as arrays cost half as much as objects.
 */
export function selectByKeys(database: DatabaseSync, table: string, columns: readonly string[]) {
  const select = database.prepare(
    `SELECT ${['wanted.key', ...columns.map((name) => `${table}.${name}`)].join()} FROM json_each(?) AS wanted
     CROSS JOIN ${table} WHERE ${table}.target = ? AND ${table}.key = wanted.value`,
  );
  select.setReturnArrays(true);
  return (target: number, keys: readonly string[]) =>
    keys.length === 0 ? [] : select.all(keysJson(keys), target);
}

/** `marks.id_proof`: the position in this list. */
export const ID_PROOFS: readonly IdProof[] = ['proven', 'once', 'changed'];

/** The stored proof of an id as a mark has it: omitted if the id is proven. */
export function proofOf(stored: number): Pick<OwnedKey, 'idProof'> {
  const idProof = ID_PROOFS[stored] ?? 'changed';
  return idProof === 'proven' ? {} : { idProof };
}

/** The numbers of targets and jobs in the large tables. They are assigned once and never change. */
export type Names = ReturnType<typeof createNames>;

/** The names in an open database. */
export function createNames(database: DatabaseSync) {
  const selectTarget = database.prepare('SELECT number FROM targets WHERE store_id = ? AND resource = ?');
  const insertTarget = database.prepare('INSERT OR IGNORE INTO targets (store_id, resource) VALUES (?, ?)');
  const selectJob = database.prepare('SELECT number FROM jobs WHERE name = ?');
  const insertJob = database.prepare('INSERT OR IGNORE INTO jobs (name) VALUES (?)');
  const selectJobName = database.prepare('SELECT name FROM jobs WHERE number = ?');
  const jobNames = new Map<number, string>();

  const findTarget = ({ storeId, resource }: LedgerTarget) =>
    integer(selectTarget.get(storeId, resource)?.['number'] ?? 0, 'targets.number');
  return {
    /** The target's number; 0, which no row has, while nothing was written for it. */
    findTarget,
    target(target: LedgerTarget): number {
      return findTarget(target) || Number(insertTarget.run(target.storeId, target.resource).lastInsertRowid);
    },
    job(name: string): number {
      const known = selectJob.get(name)?.['number'];
      return known === undefined
        ? Number(insertJob.run(name).lastInsertRowid)
        : integer(known, 'jobs.number');
    },
    jobName(number: number): string {
      const known = jobNames.get(number);
      if (known !== undefined) return known;
      const name = text(selectJobName.get(number)?.['name'], 'jobs.name');
      jobNames.set(number, name);
      return name;
    },
  };
}

/**
 * Restricts the file to its owner: by default everybody could read it, and SQLite gives the files beside it the same
 * permissions. Never opens it, because closing a file frees the locks that SQLite holds on it in this process.
 */
function closeToOthers(path: string) {
  try {
    chmodSync(path, 0o600);
  } catch {
    // Another user's file, or a disk without permissions: its folder decides.
  }
}

/**
 * If processes open a new database at the same moment, SQLite lets one switch the mode and refuses the others at
 * once.
 */
async function useWal(database: DatabaseSync) {
  const deadline = performance.now() + BUSY_TIMEOUT_MS;
  for (;;) {
    try {
      database.exec('PRAGMA journal_mode = WAL');
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw error;
      await sleep(10);
    }
  }
}

function create(database: DatabaseSync, path: string) {
  inTransaction(database, () => {
    // Another process may have created it meanwhile.
    if (!isCreated(database, path)) database.exec(SCHEMA);
  });
}

/** Whether the schema is there. StateError for that of another version. */
function isCreated(database: DatabaseSync, path: string) {
  const version = Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
  if (version < 0 || version > VERSION + MAX_VERSIONS_AHEAD) throw new DamagedValue('user_version');
  if (version === 0 || version === VERSION) return version === VERSION;
  throw new StateError(
    `The state database ${path} has version ${version}; this Storeferry knows version ${VERSION}.`,
    {
      hint:
        version > VERSION
          ? 'A newer version of Storeferry was used here: update this one.'
          : 'It is from before the first release. Move it to another folder together with its -wal and -shm files; the next run sends all records.',
    },
  );
}
