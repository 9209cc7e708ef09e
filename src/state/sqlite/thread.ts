import { parentPort, workerData } from 'node:worker_threads';
import { StateError } from '../../model/errors.ts';
import { type PlainError, perform, type SqliteAnswer, type SqliteCall } from './calls.ts';
import { createSqliteCalls } from './create-calls.ts';
import { openDatabase } from './open-database.ts';
import { asStateError, damageBehind } from './sqlite-error.ts';

/** The thread that owns the connection to the database; database-thread.ts starts it and speaks to it. */
async function main(path: string, port: NonNullable<typeof parentPort>): Promise<void> {
  const answer = (message: SqliteAnswer) => port.postMessage(message);
  try {
    const database = await openDatabase(path);
    const calls = createSqliteCalls(database);
    port.on('message', (call: SqliteCall | 'close') => {
      if (call === 'close') {
        database.close();
        port.close();
        return;
      }
      try {
        answer({ number: call.number, value: perform(calls, call) });
      } catch (error) {
        const known = asStateError(error, path);
        answer({ number: call.number, error: plainError(damageBehind(known, database, path)) });
      }
    });
    answer({ number: 0, value: undefined });
  } catch (error) {
    answer({ number: 0, error: plainError(asStateError(error, path)) });
    port.close();
  }
}

function plainError(error: unknown): PlainError {
  if (!(error instanceof Error)) {
    return { state: false, message: String(error), hint: undefined, stack: undefined };
  }
  const hint = error instanceof StateError ? error.hint : undefined;
  return { state: error instanceof StateError, message: error.message, hint, stack: error.stack };
}

// Loaded by `require`, which knows no waiting at the top.
if (parentPort !== null) void main(String(workerData), parentPort);
