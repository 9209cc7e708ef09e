import { StateError } from '../../model/errors.ts';

/** Primary result codes of SQLite (https://www.sqlite.org/rescode.html) that a user can do something about. */
const BUSY = 5;
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

/** The StateError to raise for an error of SQLite; any other error is given back as it is. */
export function asStateError(error: unknown, path: string): unknown {
  const code = sqliteCode(error);
  if (code === undefined || !(error instanceof Error)) return error;
  const [problem, hint] = explain(code);
  return new StateError(`The state database ${path} ${problem} (SQLite: ${error.message}).`, {
    hint,
    cause: error,
  });
}

function explain(code: number): readonly [problem: string, hint: string] {
  switch (code) {
    case BUSY:
      return ['stayed locked by another process', 'Look which other storeferry is at work, then run again.'];
    case READ_ONLY:
      return ['cannot be written', 'Give this user write access to the file and its folder.'];
    case FULL:
    case IO_ERROR:
      return [
        'cannot be read or written: the disk is full, over quota or failing',
        'Make room on the disk, then run again: what was acknowledged is kept, the run is continued.',
      ];
    case CORRUPT:
    case NOT_A_DATABASE:
      return [
        'is damaged',
        'Restore it from a backup, or move it aside: the next run then sends everything again, updating by url, and deletes nothing.',
      ];
    case CANNOT_OPEN:
      return ['cannot be opened', 'Check that its folder exists and that this user may read and write it.'];
    default:
      return ['cannot be used', 'Run again; if it stays so, move the file aside and report this message.'];
  }
}
