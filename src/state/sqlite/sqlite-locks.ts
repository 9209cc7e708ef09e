import { hash, randomUUID } from 'node:crypto';
import { mkdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Promised } from '../../model/json-object.ts';
import { LockedError } from '../../model/storeferry-error.ts';
import { pollForLock } from '../poll-for-lock.ts';
import type { Fence, Lock, LockHolder, Locks } from '../state.ts';
import { inTransaction } from './open-state-database.ts';
import { isBusy, readRow, sqliteError, text, textOrNull } from './sqlite-error.ts';

const POLL_MS = 200;
/** Longer than opening and closing a lock takes. */
const PROBE_MS = 20;
/**
 * The interval at which a holder checks that its file still exists. It also checks before a write to the store if the
 * last check is older than this.
 */
const CHECK_EVERY_MS = 250;
const CHECK_VALID_MS = 100;
/** If the file of a holder was deleted, others give the holder this long to lock the new file. */
const RECLAIM_MS = 3_000;
/** How long a holder waits for the new file: another process may hold it briefly. */
const RECLAIM_TIMEOUT_MS = 50;

/** A lock that this process holds, and how many times. */
interface Held {
  readonly holder: LockHolder;
  readonly token: string;
  readonly together: boolean;
  readonly path: string;
  readonly loss: AbortController;
  database: DatabaseSync;
  file: string;
  checkedAt: number;
  times: number;
}

/** A lock whose row names a holder, although the file that the holder locked is missing. */
interface Orphan extends Pick<LockRow, 'job' | 'run'> {
  readonly orphan: string;
}

type Attempt = Lock | Orphan | { readonly heldBy: LockHolder | null };

/** The last holder of a lock, and the file by which it is held. */
interface LockRow extends LockHolder {
  /** Null after it was released. It remains after a crash, when the operating system has freed the file. */
  readonly token: string | null;
  /** The identity of the file, as `fileAt` returns it: a file that was deleted and created again has another one. */
  readonly file: string;
}

/** The calls of the database thread about locks. */
export type LockRows = ReturnType<typeof createLockRows>;

/** The calls on an open database. */
export function createLockRows(database: DatabaseSync) {
  const select = database.prepare('SELECT token, job, run, file FROM locks WHERE name = ?');
  const replace = database.prepare(
    'INSERT OR REPLACE INTO locks (name, token, job, run, file) VALUES (?, ?, ?, ?, ?)',
  );
  const move = database.prepare('UPDATE locks SET file = ? WHERE name = ? AND token = ?');
  const free = database.prepare('UPDATE locks SET token = NULL WHERE name = ? AND token = ?');

  const lockRow = (name: string): LockRow | undefined => {
    const row = select.get(name);
    return row && readRow(row, 'locks', { token: textOrNull, job: text, run: text, file: text });
  };
  return {
    lockRow,
    /**
     * Records that the process that locked the file has the lock. False if another process holds it by another file,
     * unless that is the token to supersede.
     */
    takeLock: (name: string, { token, job, run, file }: LockRow, supersedes: string | null) =>
      inTransaction(database, () => {
        const known = lockRow(name);
        const others = known !== undefined && known.token !== null && known.file !== file;
        if (others && known.token !== supersedes) return false;
        replace.run(name, token, job, run, file);
        return true;
      }),
    /** Records that the holder now holds the lock by another file. False if it is no longer the holder. */
    moveLock: (name: string, token: string, file: string) =>
      Number(move.run(file, name, token).changes) === 1,
    freeLock(name: string, token: string) {
      free.run(name, token);
    },
  };
}

/** The locks of the embedded state. */
export interface SqliteLocks extends Locks {
  /** Whether this process holds the lock of the fence. */
  holds(fence: Fence): boolean;
  releaseAll(): void;
}

/**
 * Each lock is an exclusive transaction on its own database file, and so a lock of the operating system: it ends with
 * the process, however that ends, and is kept while the process is only stopped. A row in the state database names
 * the holder and its file. If somebody deletes the file, a living holder creates it again and continues, and others
 * wait for that before they take the lock. If the whole state was deleted or replaced, the lock is lost, because
 * results can no longer be recorded.
 */
export function createSqliteLocks(folder: string, rows: Promised<LockRows>): SqliteLocks {
  const locksFolder = join(folder, 'locks');
  const statePath = join(folder, 'state.db');
  const stateFile = fileAt(statePath);
  const heldLocks = new Map<string, Held>();
  let checkTimer: NodeJS.Timeout | undefined;
  let turn: Promise<unknown> = Promise.resolve();

  /** One at a time, so that calls of one process for one lock do not lock each other out. */
  const inTurn = (...request: Parameters<typeof attempt>): Promise<Attempt> => {
    const next = turn.then(() => attempt(...request));
    turn = next.catch(() => {});
    return next;
  };

  const free = (name: string, held: Held) => {
    if (heldLocks.get(name) !== held) return false;
    heldLocks.delete(name);
    if (heldLocks.size === 0) clearInterval(checkTimer);
    held.database.close();
    return true;
  };
  const loseToAnother = (name: string, held: Held) => {
    const hint = 'Wait until that process has ended, then run again.';
    const message = `The lock ${name} was lost: its file was deleted, and another process has taken it.`;
    held.loss.abort(new LockedError(message, { hint }));
  };
  const loseState = (held: Held) => {
    const hint =
      'Run again: without the state all records are sent again, with an older state the records that it does not know.';
    const message = `${statePath} was deleted or replaced while this process used it: nothing more is sent.`;
    held.loss.abort(new LockedError(message, { hint }));
  };
  const checkFiles = (name: string, held: Held) => {
    if (held.loss.signal.aborted) return;
    held.checkedAt = performance.now();
    const isStateLost = fileAt(statePath) !== stateFile;
    // Before the loss is reported: other processes must find the lock held while requests are in flight.
    if (fileAt(held.path) !== held.file) reclaim(name, held);
    if (isStateLost) loseState(held);
  };
  /** Locks the file that replaced the deleted one. Also if the state is lost, until requests in flight have ended. */
  const reclaim = (name: string, held: Held) => {
    const database = reopen(held.path);
    const file = fileAt(held.path);
    if (database === undefined || file === undefined) {
      database?.close();
      loseToAnother(name, held);
      return;
    }
    held.database.close();
    held.database = database;
    held.file = file;
    rows.moveLock(name, held.token, file).then(
      (moved) => moved || loseToAnother(name, held),
      // Without the state nothing can be recorded: that ends the run.
      () => {},
    );
  };
  const checkAllFiles = () => {
    for (const [name, held] of heldLocks) checkFiles(name, held);
  };

  const handle = (name: string, held: Held): Lock => {
    let left = false;
    const freeForAll = async () => {
      // A row that cannot be freed is equal to one that a crash leaves.
      if (free(name, held)) await rows.freeLock(name, held.token).catch(() => {});
    };
    const release = async () => {
      if (!left) await freeForAll();
    };
    return {
      fence: { name, token: held.token },
      lost: held.loss.signal,
      isHeld() {
        if (left || heldLocks.get(name) !== held) return false;
        if (performance.now() - held.checkedAt >= CHECK_VALID_MS) checkFiles(name, held);
        return !held.loss.signal.aborted;
      },
      release,
      async leave() {
        if (left) return;
        left = true;
        held.times -= 1;
        if (held.times === 0) await freeForAll();
      },
      [Symbol.asyncDispose]: release,
    };
  };

  const attempt = async (
    [name, holder, options]: Parameters<Locks['tryAcquire']>,
    supersedes: string | null = null,
  ): Promise<Attempt> => {
    const together = options?.together ?? false;
    const own = heldLocks.get(name);
    if (own !== undefined) {
      if (!(together && own.together && own.holder.run === holder.run)) return { heldBy: own.holder };
      own.times += 1;
      return handle(name, own);
    }
    const path = join(locksFolder, fileName(name));
    const known = await rows.lockRow(name);
    if (known !== undefined && known.token !== null && known.token !== supersedes) {
      // Its holder first gets the time to create and lock the file.
      if (fileAt(path) !== known.file) return { orphan: known.token, job: known.job, run: known.run };
    }
    const database = openExclusively(path);
    if (database === undefined) return { heldBy: holderIn(await rows.lockRow(name)) };
    const file = fileAt(path);
    const token = randomUUID();
    const { job, run } = holder;
    if (file === undefined || !(await recordHolder(name, { token, job, run, file }, supersedes, database))) {
      database.close();
      return { heldBy: holderIn(await rows.lockRow(name)) };
    }
    const checkedAt = performance.now();
    const loss = new AbortController();
    const held: Held = { holder, token, together, path, loss, database, file, checkedAt, times: 1 };
    heldLocks.set(name, held);
    if (heldLocks.size === 1) checkTimer = setInterval(checkAllFiles, CHECK_EVERY_MS).unref();
    return handle(name, held);
  };
  const recordHolder = async (
    name: string,
    row: LockRow,
    supersedes: string | null,
    database: DatabaseSync,
  ) => {
    try {
      return await rows.takeLock(name, row, supersedes);
    } catch (error) {
      database.close();
      throw error;
    }
  };

  /** Waits until the holder has locked the new file, or must be dead. */
  const settle = async (
    request: Parameters<Locks['tryAcquire']>,
    { orphan, job, run }: Orphan,
  ): Promise<Exclude<Attempt, Orphan>> => {
    const deadline = performance.now() + RECLAIM_MS;
    while (performance.now() < deadline) {
      await sleep(CHECK_VALID_MS);
      const again = await inTurn(request);
      if (!('orphan' in again)) return again;
      if (again.orphan !== orphan) return { heldBy: { job: again.job, run: again.run } };
    }
    const last = await inTurn(request, orphan);
    return 'orphan' in last ? { heldBy: { job, run } } : last;
  };

  const locks: Omit<SqliteLocks, 'acquire'> = {
    async tryAcquire(...request) {
      const first = await inTurn(request);
      if ('orphan' in first) return await settle(request, first);
      if (!('heldBy' in first)) return first;
      // `holderOf` in another process may hold the lock for a moment.
      await sleep(PROBE_MS);
      const second = await inTurn(request);
      return 'orphan' in second ? await settle(request, second) : second;
    },
    async holderOf(name) {
      const own = heldLocks.get(name);
      if (own !== undefined) return own.holder;
      const path = join(locksFolder, fileName(name));
      const known = await rows.lockRow(name);
      if (known !== undefined && known.token !== null && fileAt(path) !== known.file) {
        await sleep(2 * CHECK_EVERY_MS);
      }
      if (fileAt(path) === undefined) return undefined;
      const database = openExclusively(path);
      if (database === undefined) return holderIn(await rows.lockRow(name));
      database.close();
      return undefined;
    },
    holds({ name, token }) {
      const held = heldLocks.get(name);
      return held?.token === token && !held.loss.signal.aborted;
    },
    releaseAll() {
      for (const [name, held] of heldLocks) free(name, held);
    },
  };
  return pollForLock(locks, POLL_MS);
}

/** The connection that holds the lock, or undefined if another one does. */
function openExclusively(path: string, timeoutMs = 0) {
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    database = new DatabaseSync(path, { timeout: timeoutMs });
    // Nothing is ever written, so no journal file is needed.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    if (isBusy(error)) return undefined;
    throw sqliteError(error, path);
  }
}

/**
 * The same for a file that was deleted; undefined also if it cannot be created, for example because the workspace was
 * deleted.
 */
function reopen(path: string) {
  try {
    const stateFolder = dirname(dirname(path));
    // Without parent folders: a deleted workspace is not created again.
    if (fileAt(stateFolder) === undefined) mkdirSync(stateFolder, { mode: 0o700 });
    return openExclusively(path, RECLAIM_TIMEOUT_MS);
  } catch {
    return undefined;
  }
}

/** Identifies the file at a path: a later file at the same path has another identity. Undefined if there is none. */
function fileAt(path: string) {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
}

/** Null while a new holder has not recorded itself yet. */
function holderIn(row: LockRow | undefined): LockHolder | null {
  return row === undefined || row.token === null ? null : { job: row.job, run: row.run };
}

/** Readable and unique: names may contain characters that file names may not. */
function fileName(name: string) {
  const digest = hash('sha256', name).slice(0, 16);
  return `${name.replaceAll(/[^\w-]+/g, '-').slice(0, 60)}-${digest}.lock`;
}
