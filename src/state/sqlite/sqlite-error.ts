import type { DatabaseSync } from 'node:sqlite';
import { StateError } from '../../model/errors.ts';
import { DamagedValue } from './columns.ts';

/** Primary result codes of SQLite (https://www.sqlite.org/rescode.html) that a user can do something about. */
const BUSY = 5;
const LOCKED = 6;
const NO_MEMORY = 7;
const READ_ONLY = 8;
const IO_ERROR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANNOT_OPEN = 14;
const NOT_A_DATABASE = 26;

/** SQLite's primary result code, or undefined when the error is not SQLite's. */
function sqliteCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number')
    return undefined;
  return error.errcode & 0xff;
}

/** Whether another connection holds the database. */
export function isBusy(error: unknown): boolean {
  return sqliteCode(error) === BUSY;
}

/** Node's error for an integer that is too large to be one of ours. */
const OUT_OF_RANGE = 'ERR_OUT_OF_RANGE';

/** The StateError to raise for an error of SQLite, or for what only damage can have written; any other error is given back. */
export function asStateError(error: unknown, path: string): unknown {
  if (error instanceof DamagedValue) return damaged(path, error.message, error);
  const code = sqliteCode(error);
  if (!(error instanceof Error)) return error;
  if (code === undefined) {
    return 'code' in error && error.code === OUT_OF_RANGE ? damaged(path, error.message, error) : error;
  }
  const [problem, hint] = explain(code);
  return new StateError(`The state database ${path} ${problem} (SQLite: ${error.message}).`, {
    hint,
    cause: error,
  });
}

/** For an error that may be a bug of ours: the StateError to raise if the database is damaged. */
export function damageBehind(error: unknown, database: DatabaseSync, path: string): unknown {
  if (error instanceof StateError) return error;
  try {
    const [found] = database.prepare('PRAGMA quick_check(1)').all();
    const problem = found?.['quick_check'];
    return problem === 'ok' ? error : damaged(path, `quick_check: ${String(problem)}`, error);
  } catch (failure) {
    return asStateError(failure, path);
  }
}

const MOVE_ASIDE =
  'Restore it from a backup, or move it aside: the next run then sends everything again, updating by url, and deletes nothing.';

/** For what was read from the database and cannot have been written by us. */
export function damagedDatabase(path: string, { message }: Error): StateError {
  return damaged(path, message.replace(/\.$/, ''), undefined);
}

function damaged(path: string, found: string, cause: unknown): StateError {
  return new StateError(`The state database ${path} is damaged (${found}).`, { hint: MOVE_ASIDE, cause });
}

function explain(code: number): readonly [problem: string, hint: string] {
  switch (code) {
    case BUSY:
    case LOCKED:
      return ['stayed locked by another process', 'Look which other storeferry is at work, then run again.'];
    case READ_ONLY:
      return ['cannot be written', 'Give this user write access to the file and its folder.'];
    case FULL:
    case IO_ERROR:
      return [
        'cannot be read or written: the disk is full, over quota or failing',
        'Make room on the disk, then run again: what was acknowledged is kept, the run is continued.',
      ];
    case CANNOT_OPEN:
      return ['cannot be opened', 'Check that its folder exists and that this user may read and write it.'];
    case NO_MEMORY:
      return ['cannot be used: memory is short', 'Free memory, then run again to continue.'];
    case CORRUPT:
    case NOT_A_DATABASE:
      return ['is damaged', MOVE_ASIDE];
    default:
      // Statements and constraints are our own: they fail where a table is not as we made it.
      return ['is damaged, or was changed by another program', MOVE_ASIDE];
  }
}
