import { parentPort, workerData } from 'node:worker_threads';
import { StateError } from '../../model/errors.ts';
import { createBodies } from './bodies.ts';
import { type PlainError, perform, type SqliteAnswer, type SqliteCall } from './calls.ts';
import { createDoubts } from './doubts.ts';
import { createJournal } from './journal.ts';
import { createSqliteLedger } from './ledger.ts';
import { createSqliteLockRows } from './lock-rows.ts';
import { createNames } from './names.ts';
import { openDatabase } from './open-database.ts';
import { createSqliteOutcomes } from './outcomes.ts';
import { createSqliteRuns } from './runs.ts';
import { asStateError, damageBehind } from './sqlite-error.ts';

/** The thread that owns the connection to the database; database-thread.ts starts it and speaks to it. */
async function main(path: string, port: NonNullable<typeof parentPort>): Promise<void> {
  const answer = (message: SqliteAnswer) => port.postMessage(message);
  try {
    const database = await openDatabase(path);
    const names = createNames(database);
    const bodies = createBodies(database);
    const journal = createJournal(database, bodies);
    const { endDoubts, ...doubts } = createDoubts(database, names, journal);
    const calls = {
      ...createSqliteLedger(database, names, journal, bodies),
      ...doubts,
      ...createSqliteRuns(database),
      ...createSqliteLockRows(database),
      ...createSqliteOutcomes(database, names, journal, bodies, endDoubts),
    };
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
