import { chmodSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { StateError } from '../../model/errors.ts';
import { storeIdentity } from '../../model/store-identity.ts';
import { DamagedValue } from './columns.ts';
import { MIGRATIONS } from './migrations.ts';
import { asStateError, isBusy } from './sqlite-error.ts';
import { inTransaction } from './transaction.ts';

/** How long a write waits for another process's; each lasts milliseconds, a merge of the journal a fraction of a second. */
const BUSY_TIMEOUT_MS = 30_000;

/**
 * - WAL: several processes look while one writes; a commit outlives the process (not always a power cut, after which
 *   the last moments are sent again).
 * - 32 MiB of page cache hold the marks of half a million keys; what does not fit comes from the system's own cache.
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

/** Opens the state database at the path, creating or upgrading it. StateError when it cannot be used. */
export async function openDatabase(path: string): Promise<DatabaseSync> {
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
    throw asStateError(error, path);
  }
}

/**
 * Leaves the file to its owner: SQLite would let everybody read it, and gives what it puts beside it the same rights. Never
 * opens it, since closing a file frees the locks that SQLite holds on it in this process.
 */
function closeToOthers(path: string): void {
  try {
    chmodSync(path, 0o600);
  } catch {
    // Another user's file, or a disk without rights: its folder decides.
  }
}

/** Processes that open a new database at the same moment: SQLite lets one switch, and the others not even wait. */
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

/** No version is so far ahead of this one: then the number is damaged. */
const MOST_VERSIONS_AHEAD = 500;

function refuseNewer(database: DatabaseSync, path: string): void {
  const version = versionOf(database);
  if (version < 0 || version > MIGRATIONS.length + MOST_VERSIONS_AHEAD)
    throw new DamagedValue('user_version');
  if (version > MIGRATIONS.length) {
    throw new StateError(
      `The state database ${path} has version ${version}; this Storeferry knows versions up to ${MIGRATIONS.length}.`,
      { hint: 'A newer Storeferry has worked here: update this one.' },
    );
  }
}
