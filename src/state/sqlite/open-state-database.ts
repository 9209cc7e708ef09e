import { chmodSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { storeIdentity } from '../../model/store-identity.ts';
import { StateError } from '../../model/storeferry-error.ts';
import type { LedgerTarget } from '../state.ts';
import { MIGRATIONS } from './migrations.ts';
import { DamagedValue, damageBehind, integer, isBusy, sqliteError, text } from './sqlite-error.ts';

/**
 * How long a write waits for another process: each write takes milliseconds, a merge of the journal a fraction of a
 * second.
 */
const BUSY_TIMEOUT_MS = 30_000;
/** No version number can be this much higher; a higher one means damage. */
const MOST_VERSIONS_AHEAD = 500;

/**
 * - WAL: several processes read while one writes; a commit survives the process (not always a power cut, after which
 *   the last moments are sent again).
 * - 32 MiB of page cache hold the marks of half a million keys; the rest comes from the system's own cache.
 *   Not mapped into memory: it was no faster and would count as resident memory.
 * - The journal limit gives the disk back after a large merge.
 */
const SETTINGS = `
  PRAGMA synchronous = NORMAL;
  PRAGMA cache_size = -32768;
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA temp_store = MEMORY;
`;

/** Opens the state database at the path, creating or upgrading it. StateError if it cannot be used. */
export async function openStateDatabase(path: string): Promise<DatabaseSync> {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
    refuseNewer(database, path);
    closeToOthers(path);
    await useWal(database);
    database.exec(SETTINGS);
    migrate(database, path);
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

  const findTarget = ({ storeId, resource }: LedgerTarget) => {
    const number = selectTarget.get(storeId, resource)?.['number'];
    return number === undefined ? undefined : integer(number, 'targets.number');
  };
  return {
    /** The target's number; undefined while nothing was written for it. */
    findTarget,
    target(target: LedgerTarget): number {
      const known = findTarget(target);
      if (known !== undefined) return known;
      return Number(insertTarget.run(target.storeId, target.resource).lastInsertRowid);
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
function closeToOthers(path: string): void {
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
async function useWal(database: DatabaseSync): Promise<void> {
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

function migrate(database: DatabaseSync, path: string): void {
  if (versionOf(database) === MIGRATIONS.length) return;
  inTransaction(database, () => {
    refuseNewer(database, path);
    database.function('store_id', { deterministic: true }, (baseUrl) =>
      storeIdentity({ baseUrl: String(baseUrl) }),
    );
    for (const step of MIGRATIONS.slice(versionOf(database))) database.exec(step);
    database.exec(`PRAGMA user_version = ${MIGRATIONS.length}`);
  });
}

function versionOf(database: DatabaseSync): number {
  return Number(database.prepare('PRAGMA user_version').get()?.['user_version']);
}

function refuseNewer(database: DatabaseSync, path: string): void {
  const version = versionOf(database);
  if (version < 0 || version > MIGRATIONS.length + MOST_VERSIONS_AHEAD)
    throw new DamagedValue('user_version');
  if (version > MIGRATIONS.length) {
    throw new StateError(
      `The state database ${path} has version ${version}; this Storeferry knows versions up to ${MIGRATIONS.length}.`,
      { hint: 'A newer version of Storeferry was used here: update this one.' },
    );
  }
}
