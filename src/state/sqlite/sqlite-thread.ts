import { parentPort, workerData } from 'node:worker_threads';
import { plainError } from '../../isolation/run-isolated.ts';
import type { ThreadAnswer, ThreadCall } from './database-thread.ts';
import { openStateDatabase } from './open-state-database.ts';
import { createSqliteCalls } from './sqlite-calls.ts';
import { damageBehind, sqliteError } from './sqlite-error.ts';

/** The thread that owns the connection to the database; database-thread.ts starts it. */
async function main(path: string, port: NonNullable<typeof parentPort>) {
  const answer = (message: ThreadAnswer) => port.postMessage(message);
  try {
    const database = await openStateDatabase(path);
    const calls = createSqliteCalls(database);
    port.on('message', (call: ThreadCall | 'close') => {
      if (call === 'close') {
        database.close();
        port.close();
        return;
      }
      const { number, method, args } = call;
      try {
        answer({ number, value: Reflect.apply(Reflect.get(calls, method), calls, args) });
      } catch (error) {
        answer({ number, error: plainError(damageBehind(sqliteError(error, path), database, path)) });
      }
    });
    answer({ number: 0, value: undefined });
  } catch (error) {
    answer({ number: 0, error: plainError(sqliteError(error, path)) });
    port.close();
  }
}

// Loaded by `require`, which does not allow a top-level await.
if (parentPort !== null) void main(String(workerData), parentPort);
