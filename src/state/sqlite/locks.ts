import { createHash, randomUUID } from 'node:crypto';
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { pollForLock } from '../poll-for-lock.ts';
import type { Fence, Lock, LockHolder, Locks } from '../state.ts';
import { asStateError, isBusy } from './sqlite-error.ts';

const POLL_MS = 200;
/** Longer than it takes to open and close a lock. */
const PROBE_MS = 20;

const HOLDER = z.object({ job: z.string(), run: z.string() });

/** A lock that this process has, and how often. */
interface Held {
  readonly database: DatabaseSync;
  readonly holder: LockHolder;
  readonly token: string;
  readonly together: boolean;
  readonly holderFile: string;
  times: number;
}

/** The locks of the embedded state. */
export interface SqliteLocks extends Locks {
  /** Whether this process holds the lock that the fence was given for. */
  holds(fence: Fence): boolean;
  releaseAll(): void;
}

/**
 * Each lock is an exclusive transaction on a database file of its own, so it is the operating system's: gone with
 * the process, however it ends, and kept while the process is merely stopped. A holder file beside it says who it is.
 */
export function createSqliteLocks(folder: string): SqliteLocks {
  const heldLocks = new Map<string, Held>();

  const free = (name: string, held: Held) => {
    if (heldLocks.get(name) !== held) return;
    heldLocks.delete(name);
    rmSync(held.holderFile, { force: true });
    held.database.close();
  };
  const handle = (name: string, held: Held): Lock => {
    let left = false;
    const release = async () => free(name, held);
    return {
      fence: { name, token: held.token },
      // The operating system takes no lock away from a process that lives.
      lost: new AbortController().signal,
      isHeld: () => !left && heldLocks.get(name) === held,
      release,
      async leave() {
        if (left) return;
        left = true;
        held.times -= 1;
        if (held.times === 0) free(name, held);
      },
      [Symbol.asyncDispose]: release,
    };
  };

  const attempt = (...[name, holder, options]: Parameters<Locks['tryAcquire']>) => {
    const together = options?.together ?? false;
    const own = heldLocks.get(name);
    if (own !== undefined) {
      if (!(together && own.together && own.holder.run === holder.run)) return { heldBy: own.holder };
      own.times += 1;
      return handle(name, own);
    }
    const file = join(folder, fileName(name));
    const holderFile = `${file}.holder.json`;
    const database = openExclusively(`${file}.lock`);
    if (database === undefined) return { heldBy: readHolder(holderFile) };
    writeHolder(holderFile, holder);
    const held = { database, holder, token: randomUUID(), together, holderFile, times: 1 };
    heldLocks.set(name, held);
    return handle(name, held);
  };

  const locks: Pick<Locks, 'tryAcquire'> = {
    async tryAcquire(...request) {
      const first = attempt(...request);
      if (!('heldBy' in first)) return first;
      // Whoever only asks for the holder has the lock for a moment.
      await sleep(PROBE_MS);
      return attempt(...request);
    },
  };
  return {
    ...locks,
    async holderOf(name) {
      const own = heldLocks.get(name);
      if (own !== undefined) return own.holder;
      const file = join(folder, fileName(name));
      if (!existsSync(`${file}.lock`)) return undefined;
      const database = openExclusively(`${file}.lock`);
      if (database === undefined) return readHolder(`${file}.holder.json`);
      database.close();
      return undefined;
    },
    acquire: (...request) => pollForLock(locks, POLL_MS, request),
    holds: ({ name, token }) => heldLocks.get(name)?.token === token,
    releaseAll() {
      for (const [name, held] of heldLocks) free(name, held);
    },
  };
}

/** The connection that holds the lock, or undefined when another one does. */
function openExclusively(file: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined;
  try {
    database = new DatabaseSync(file, { timeout: 0 });
    // Nothing is ever written, so nothing needs a journal file.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return database;
  } catch (error) {
    database?.close();
    if (isBusy(error)) return undefined;
    throw asStateError(error, file);
  }
}

/** Readable, and one to one: names may hold characters that file names may not. */
function fileName(name: string): string {
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 16);
  return `${name.replaceAll(/[^\w-]+/g, '-').slice(0, 60)}-${digest}`;
}

/** A disk too full for it takes nothing but the name from whoever waits. */
function writeHolder(file: string, { job, run }: LockHolder): void {
  const written = `${file}.${process.pid}`;
  try {
    writeFileSync(written, JSON.stringify({ job, run }));
    renameSync(written, file);
  } catch {
    rmSync(written, { force: true });
  }
}

/** Null while a new holder has not yet said who it is. */
function readHolder(file: string): LockHolder | null {
  try {
    return HOLDER.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    return null;
  }
}
