import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { LockedError, messageOf, StateError } from '../model/storeferry-error.ts';

const SCHEMA_VERSION = 1;

/** Ids of products are never used again: a deleted product must not be mistaken for a new one. */
const SCHEMA = `
  CREATE TABLE products (id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL UNIQUE, body TEXT NOT NULL) STRICT;
  CREATE TABLE contacts (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
  CREATE TABLE lists (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, created INTEGER NOT NULL, opens REAL NOT NULL, clicks REAL NOT NULL
  ) STRICT;
  CREATE TABLE orders (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT;
`;

/**
 * Opens the sandbox's database: `sandbox.db` in the folder, or in memory. A new one gets its tables and what `seed`
 * puts in, all or nothing. Answered requests survive the death of the process, since the write-ahead log is with the
 * operating system; a power cut may lose the last seconds. A sync per answer would be too slow for a sandbox.
 *
 * @throws LockedError when another sandbox uses the folder; StateError when it cannot be used.
 */
export function openDatabase(
  dataDir: string | undefined,
  seed: (database: DatabaseSync) => void,
): DatabaseSync {
  const path = dataDir === undefined ? ':memory:' : join(dataDir, 'sandbox.db');
  try {
    if (dataDir !== undefined) mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    const database = new DatabaseSync(path);
    try {
      prepareDatabase(database, seed);
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  } catch (error) {
    if (error instanceof StateError) throw error;
    const reason = messageOf(error);
    if (/database is locked/.test(reason))
      throw new LockedError(`Another sandbox is using ${path}`, {
        cause: error,
        hint: 'stop it, or use another folder',
      });
    throw new StateError(`The sandbox's database ${path} cannot be opened: ${reason}`, {
      cause: error,
      hint: 'Name another folder with --data, or remove this one.',
    });
  }
}

function prepareDatabase(database: DatabaseSync, seed: (database: DatabaseSync) => void) {
  database.exec(`
    PRAGMA locking_mode = EXCLUSIVE;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = 8000;
    BEGIN IMMEDIATE;
  `);
  const version = numberColumn(database.prepare('PRAGMA user_version').get() ?? {}, 'user_version');
  if (version === 0) {
    database.exec(SCHEMA);
    seed(database);
    database.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  } else if (version !== SCHEMA_VERSION)
    throw new StateError(
      `The sandbox's database has format ${version}; this version of Storeferry writes ${SCHEMA_VERSION}`,
      { hint: 'use another folder' },
    );
  database.exec('COMMIT');
}

const DAMAGED = { hint: 'Name another folder with --data, or remove this one.' };

type SqlRow = Readonly<Record<string, SQLOutputValue>>;

/** The stored body of a row; StateError when the database holds something else. */
export function bodyColumn({ body }: SqlRow): string {
  if (typeof body === 'string') return body;
  throw new StateError(`The sandbox's database is damaged: column body should hold text`, DAMAGED);
}

/** The value of a numeric column; StateError when the database holds something else. */
export function numberColumn(row: SqlRow, name: string): number {
  const value = row[name];
  if (typeof value === 'number') return value;
  throw new StateError(`The sandbox's database is damaged: column ${name} should hold a number`, DAMAGED);
}
