import { Worker } from 'node:worker_threads';
import { type PlainError, raisedError, threadScript } from '../../isolation/run-isolated.ts';
import type { Promised } from '../../model/json-object.ts';
import { StateError } from '../../model/storeferry-error.ts';
import type { SqliteCalls } from './sqlite-calls.ts';

/** The calls of the database thread, answered by promises. */
export type RemoteCalls = Promised<SqliteCalls>;

/**
 * The database in its own thread. SQLite and zlib work synchronously, and a commit, a checkpoint on a slow disk or a
 * merge of the journal takes from microseconds to seconds: requests to the store must not wait for them.
 */
export interface DatabaseThread {
  readonly calls: RemoteCalls;
  /** Waits for the calls in progress. */
  close(): Promise<void>;
}

/** A call to the thread (sqlite-thread.ts). */
export interface ThreadCall {
  readonly number: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

/** The answer: a value, or an error. Number 0 is about the thread itself: opened, or not. */
export type ThreadAnswer =
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly error: PlainError };

/** Starts the thread and opens the database in it. StateError if it cannot be opened. */
export async function startDatabaseThread(path: string): Promise<DatabaseThread> {
  // Most of its values are short-lived: a small nursery keeps 100 MiB less resident and is no slower. The flags of
  // the process are not passed to the thread: `--input-type` alone would prevent its start.
  const worker = new Worker(threadScript('sqlite-thread', import.meta.url), {
    eval: true,
    workerData: path,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 8 },
  });
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: unknown) => void }>();
  let closed = false;
  let last = 0;

  const failAll = (error: unknown) => {
    closed = true;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  worker.on('message', (answer: ThreadAnswer) => {
    const call = waiting.get(answer.number);
    waiting.delete(answer.number);
    // An idle thread does not keep the process running; one that closes does.
    if (waiting.size === 0 && !closed) worker.unref();
    if ('error' in answer) call?.reject(raisedError(answer.error));
    else call?.resolve(answer.value);
  });
  worker.on('error', failAll);
  worker.on('exit', () => failAll(new StateError(`The state database ${path} was closed.`)));

  await new Promise<unknown>((resolve, reject) => waiting.set(0, { resolve, reject }));
  return {
    calls: remoteCalls((method, args) => {
      if (closed) return Promise.reject(new StateError(`The state database ${path} is closed.`));
      last += 1;
      const call: ThreadCall = { number: last, method, args };
      return new Promise((resolve, reject) => {
        if (waiting.size === 0) worker.ref();
        waiting.set(call.number, { resolve, reject });
        worker.postMessage(call);
      });
    }),
    async close() {
      if (closed) return;
      closed = true;
      const gone = new Promise((resolve) => worker.once('exit', resolve));
      worker.ref();
      worker.postMessage('close');
      await gone;
    },
  };
}

/** The same on this thread, which its calls block: for a command that reads little. StateError if it cannot be opened. */
export async function openDatabaseHere(path: string): Promise<DatabaseThread> {
  const [{ openStateDatabase }, { createSqliteCalls }, { damageBehind, sqliteError }] = await Promise.all([
    import('./open-state-database.ts'),
    import('./sqlite-calls.ts'),
    import('./sqlite-error.ts'),
  ]);
  const database = await openStateDatabase(path);
  const close = async () => {
    if (database.isOpen) database.close();
  };
  try {
    const calls = createSqliteCalls(database);
    return {
      calls: remoteCalls(async (method, args) => {
        if (!database.isOpen) throw new StateError(`The state database ${path} is closed.`);
        try {
          return Reflect.apply(Reflect.get(calls, method), calls, args);
        } catch (error) {
          throw damageBehind(sqliteError(error, path), database, path);
        }
      }),
      close,
    };
  } catch (error) {
    await close();
    throw sqliteError(error, path);
  }
}

/** Calls that one function answers. They are no promise: a `then` would be called by each `await`. */
export function remoteCalls<Calls = RemoteCalls>(
  answer: (method: string, args: readonly unknown[]) => Promise<unknown>,
): Calls {
  return new Proxy(Object.create(null), {
    get: (_, method) =>
      method === 'then' ? undefined : (...args: readonly unknown[]) => answer(String(method), args),
  });
}
