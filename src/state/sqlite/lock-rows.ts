import type { DatabaseSync } from 'node:sqlite';
import type { LockHolder } from '../state.ts';
import { inTransaction } from './open-state-database.ts';

/** The last holder of a lock, and the file by which it is held. */
export interface LockRow extends LockHolder {
  /** Null after it was released. It remains after a crash, when the operating system has freed the file. */
  readonly token: string | null;
  /** The identity of the file, as `fileAt` returns it: a file that was deleted and created again has another one. */
  readonly file: string;
}

/** The locks in the state database; sqlite-locks.ts explains their purpose. */
export type LockRows = ReturnType<typeof createLockRows>;

/** The lock rows of an open database. */
export function createLockRows(database: DatabaseSync) {
  const select = database.prepare('SELECT token, job, run, file FROM locks WHERE name = ?');
  const replace = database.prepare(
    'INSERT OR REPLACE INTO locks (name, token, job, run, file) VALUES (?, ?, ?, ?, ?)',
  );
  const move = database.prepare('UPDATE locks SET file = ? WHERE name = ? AND token = ?');
  const free = database.prepare('UPDATE locks SET token = NULL WHERE name = ? AND token = ?');

  const lockRow = (name: string): LockRow | undefined => {
    const row = select.get(name);
    if (row === undefined) return undefined;
    const { token, job, run, file } = row;
    return {
      token: token === null ? null : String(token),
      job: String(job),
      run: String(run),
      file: String(file),
    };
  };
  return {
    lockRow,
    /**
     * Records that the process that locked the file has the lock. False if another process holds it by another file,
     * unless that is the token to supersede.
     */
    takeLock: (name: string, { token, job, run, file }: LockRow, supersedes: string | null): boolean =>
      inTransaction(database, () => {
        const known = lockRow(name);
        const others = known !== undefined && known.token !== null && known.file !== file;
        if (others && known.token !== supersedes) return false;
        replace.run(name, token, job, run, file);
        return true;
      }),
    /** Records that the holder now holds the lock by another file. False if it is no longer the holder. */
    moveLock: (name: string, token: string, file: string): boolean =>
      Number(move.run(file, name, token).changes) === 1,
    freeLock(name: string, token: string) {
      free.run(name, token);
    },
  };
}
