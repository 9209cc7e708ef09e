import type { DatabaseSync } from 'node:sqlite';
import { type DatabaseThread, remoteCalls } from '../../../src/state/sqlite/database-thread.ts';
import { sqliteState } from '../../../src/state/sqlite/open-sqlite-state.ts';
import { createSqliteCalls } from '../../../src/state/sqlite/sqlite-calls.ts';
import type { SqliteLocks } from '../../../src/state/sqlite/sqlite-locks.ts';
import type { FaultyProcess } from './process.ts';
import { type TableCopy, tableCopies } from './table-copy.ts';
import type { Keeping } from './world.ts';

const WRITES: ReadonlySet<string> = new Set([
  ...['begin', 'withdraw', 'endSender', 'reconcile', 'create', 'update', 'record', 'remember', 'confirm'],
  ...['proveIdsAgain', 'beginHistory', 'observe'],
]);

const LOCKS: SqliteLocks = {
  holds: () => true,
  releaseAll: () => {},
  tryAcquire: () => Promise.reject(new Error('the model holds every lock')),
  acquire: () => Promise.reject(new Error('the model holds every lock')),
  holderOf: async () => undefined,
};

/** The embedded state in a database of this process, which is emptied first: one serves many histories. */
export async function keepInSqlite(database: DatabaseSync, keepsCopies: boolean): Promise<Keeping> {
  const tables = tableCopies(database);
  tables.putBack(new Map());
  const copies: TableCopy[] = [];
  // Made again only where the database is another one: the statements of a process take longer than all else it does here.
  let calls = createSqliteCalls(database);
  const putBack = (copy: TableCopy) => {
    tables.putBack(copy);
    calls = createSqliteCalls(database);
  };

  const thread = (process: FaultyProcess): DatabaseThread => ({
    calls: remoteCalls(async (method, args) => {
      if (method === 'heartbeat') {
        process.refuseDead();
      } else if (WRITES.has(method)) {
        process.strike();
        process.refuse(method);
        if (keepsCopies) copies.push(tables.copy());
      } else {
        process.refuseDead();
      }
      const answer = Reflect.apply(Reflect.get(calls, method), calls, args);
      if (WRITES.has(method)) process.strikeAfterWrite();
      return answer;
    }),
    close: async () => {},
  });
  return {
    open: async (process, artifacts) =>
      sqliteState({ thread: thread(process), path: 'state.db', locks: LOCKS, artifacts }),
    async restore(writes) {
      const from = Math.max(0, copies.length - writes);
      const [copy] = copies.splice(from);
      if (copy !== undefined) putBack(copy);
    },
    async empty() {
      if (keepsCopies) copies.push(tables.copy());
      putBack(new Map());
    },
  };
}
