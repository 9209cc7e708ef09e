import type { DatabaseSync, SQLOutputValue } from 'node:sqlite';
import { StateError, StateUnavailableError } from '../../model/storeferry-error.ts';

/** Primary result codes of SQLite (https://www.sqlite.org/rescode.html) for which a user can do something. */
const ERROR = 1;
const PERMISSION = 3;
const BUSY = 5;
const LOCKED = 6;
const NO_MEMORY = 7;
const READ_ONLY = 8;
const IO_ERROR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const PROTOCOL = 15;
const CONSTRAINT = 19;
const MISMATCH = 20;
const NOT_DATABASE = 26;
const PASSING: readonly number[] = [BUSY, LOCKED, PROTOCOL, NO_MEMORY, IO_ERROR, FULL];

/** Node's error for an integer that is too large to be one of ours. */
const OUT_OF_RANGE = 'ERR_OUT_OF_RANGE';

const MOVE_ASIDE =
  'Restore it from a backup, or move it to another folder together with its -wal and -shm files. Then type `storeferry run JOB --resend` for each import: all records are sent again and update the same records. Jobs with `mode: mirror` delete nothing until then.';

/**
 * The StateError for an error of SQLite, or for a value that only damage can explain; any other error is returned
 * unchanged.
 */
export function sqliteError(error: unknown, path: string): unknown {
  if (error instanceof DamagedValue) return damaged(path, error.message, error);
  if (!(error instanceof Error)) return error;
  const code = sqliteCode(error);
  if (code === undefined) {
    return 'code' in error && error.code === OUT_OF_RANGE ? damaged(path, error.message, error) : error;
  }
  const [problem, hint] = explain(code);
  const kind = PASSING.includes(code) ? StateUnavailableError : StateError;
  return new kind(`The state database ${path} ${problem} (SQLite: ${error.message}).`, {
    hint,
    cause: error,
  });
}

/** Whether another connection holds the database. */
export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === BUSY;
}

/** For an error that may be a bug: the StateError to raise if the database is damaged. */
export function damageBehind(error: unknown, database: DatabaseSync, path: string): unknown {
  if (error instanceof StateError) return error;
  try {
    const [found] = database.prepare('PRAGMA quick_check(1)').all();
    const problem = found?.['quick_check'];
    return problem === 'ok' ? error : damaged(path, `quick_check: ${String(problem)}`, error);
  } catch (failure) {
    return sqliteError(failure, path);
  }
}

/** For a record from the database that no version of Storeferry writes. */
export function damagedDatabase(path: string, { message }: Error): StateError {
  return damaged(path, message.replace(/\.$/, ''), undefined);
}

function damaged(path: string, found: string, cause: unknown) {
  return new StateError(`The state database ${path} is damaged (${found}).`, { hint: MOVE_ASIDE, cause });
}

function sqliteCode(error: unknown) {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number')
    return undefined;
  return error.errcode & 0xff;
}

function explain(code: number): readonly [problem: string, hint: string] {
  switch (code) {
    case BUSY:
    case LOCKED:
    case PROTOCOL:
      return [
        'stayed locked by another process',
        'Find the other storeferry process, wait for its end, then run again.',
      ];
    case PERMISSION:
    case READ_ONLY:
      return ['cannot be written', 'Give this user write access to the file and its folder.'];
    case FULL:
    case IO_ERROR:
      return [
        'cannot be read or written: the disk is full, over quota or failing',
        'Free disk space, then run again: acknowledged records are kept, and the run continues.',
      ];
    case CANNOT_OPEN:
      return ['cannot be opened', 'Check that its folder exists and that this user may read and write it.'];
    case NO_MEMORY:
      return ['cannot be used: not enough memory', 'Free memory, then run again to continue.'];
    case CORRUPT:
    case NOT_DATABASE:
      return ['is damaged', MOVE_ASIDE];
    case ERROR:
    case CONSTRAINT:
    case MISMATCH:
      // Statements and constraints are our own: they fail only if a table was changed.
      return ['is damaged, or was changed by another program', MOVE_ASIDE];
    default:
      return ['cannot be used', 'Run again to continue.'];
  }
}

/**
 * A value that no version of Storeferry writes: the file is damaged, although SQLite has not noticed. It checks the
 * structure of its pages, not the bytes of the rows in them.
 */
export class DamagedValue extends Error {
  constructor(what: string) {
    super(`unexpected value: ${what}`);
    this.name = 'DamagedValue';
  }
}

type Stored = SQLOutputValue | undefined;

/** A text from the database; DamagedValue for anything else. `what` names the column. */
export function text(value: Stored, what: string): string {
  if (typeof value === 'string') return value;
  throw new DamagedValue(what);
}

/** The same if the column may be null. */
export function textOrNull(value: Stored, what: string): string | null {
  return value === null ? null : text(value, what);
}

/** An integer from the database; DamagedValue for anything else. */
export function integer(value: Stored, what: string): number {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value;
  throw new DamagedValue(what);
}

/** The same if the column may be null. */
export function integerOrNull(value: Stored, what: string): number | null {
  return value === null ? null : integer(value, what);
}

/** Whether a flag is set. */
export function isOne(value: Stored): boolean {
  return value === 1;
}

/** The object of a JSON text; the caller checks its members. */
export function jsonObject(value: Stored, what: string): object {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text(value, what));
  } catch {
    throw new DamagedValue(what);
  }
  if (typeof parsed !== 'object' || parsed === null) throw new DamagedValue(what);
  return parsed;
}

/** How the columns of a row are read, by their names. */
type Columns = Readonly<Record<string, (value: Stored, what: string) => unknown>>;

/** The columns of a row of this table. */
export function readRow<Read extends Columns>(
  row: Readonly<Record<string, SQLOutputValue>>,
  table: string,
  columns: Read,
): { readonly [Name in keyof Read]: ReturnType<Read[Name]> };
export function readRow(
  row: Readonly<Record<string, SQLOutputValue>>,
  table: string,
  columns: Columns,
): object {
  return Object.fromEntries(
    Object.entries(columns).map(([name, read]) => [name, read(row[name], `${table}.${name}`)]),
  );
}

/** A page of rows. DamagedValue if their keys do not ascend, byte by byte, from `after` on: reading pages of a damaged index might never end. */
export function inOrder<Row extends { readonly key: string }>(
  after: string | null,
  table: string,
  page: Row[],
): Row[] {
  let last = after === null ? null : Buffer.from(after);
  for (const { key } of page) {
    const bytes = Buffer.from(key);
    if (last !== null && last.compare(bytes) >= 0) throw new DamagedValue(`order of ${table}.key`);
    last = bytes;
  }
  return page;
}
