import { getCompileCacheDir } from 'node:module';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { StateError } from '../../model/errors.ts';
import type { PlainError, SqliteAnswer, SqliteCalls } from './calls.ts';

/**
 * The database in a thread of its own. SQLite and zlib work synchronously, and a commit, a checkpoint on a slow disk
 * or a merge of the journal may take from microseconds to seconds: requests to the store must not wait for them.
 */
export interface DatabaseThread {
  call<Method extends keyof SqliteCalls>(
    method: Method,
    ...args: Parameters<SqliteCalls[Method]>
  ): Promise<ReturnType<SqliteCalls[Method]>>;
  /** Waits for the calls under way. */
  close(): Promise<void>;
}

/** A method, not a function property: so that waiting for one type fits a map of waiting for any. */
interface Waiting<Value> {
  resolve(value: Value): void;
  reject(error: unknown): void;
}

/**
 * What the thread runs: its module, with the compile cache if the process has one. A thread begins without it and would
 * strip the types of a dozen modules again: 110 ms instead of 40. Plain JavaScript, since the type stripper alone takes
 * half of that.
 */
function threadScript(): string {
  const module = fileURLToPath(new URL(`./thread${extname(import.meta.url)}`, import.meta.url));
  const cache = getCompileCacheDir() === undefined ? '' : "require('node:module').enableCompileCache();";
  return `${cache} require(${JSON.stringify(module)});`;
}

/** Starts the thread and opens the database there. StateError when it cannot be opened. */
export async function startDatabaseThread(path: string): Promise<DatabaseThread> {
  // What it handles dies young: a small nursery keeps 100 MiB less resident and is no slower. The process's own flags
  // are not for the thread: `--input-type` alone would keep it from starting.
  const worker = new Worker(threadScript(), {
    eval: true,
    workerData: path,
    execArgv: [],
    resourceLimits: { maxYoungGenerationSizeMb: 8 },
  });
  const waiting = new Map<number, Waiting<unknown>>();
  let closed = false;
  let last = 0;

  const failAll = (error: unknown) => {
    closed = true;
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  worker.on('message', (answer: SqliteAnswer) => {
    const call = waiting.get(answer.number);
    waiting.delete(answer.number);
    // An idle thread does not keep the process from ending.
    if (waiting.size === 0) worker.unref();
    if ('error' in answer) call?.reject(raise(answer.error));
    else call?.resolve(answer.value);
  });
  worker.on('error', failAll);
  worker.on('exit', () => failAll(new StateError(`The state database ${path} was closed.`)));

  await new Promise<unknown>((resolve, reject) => waiting.set(0, { resolve, reject }));
  return {
    call(method, ...args) {
      if (closed) return Promise.reject(new StateError(`The state database ${path} is closed.`));
      last += 1;
      const number = last;
      return new Promise((resolve, reject) => {
        if (waiting.size === 0) worker.ref();
        waiting.set(number, { resolve, reject });
        worker.postMessage({ number, method, args });
      });
    },
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

function raise({ state, message, hint, stack }: PlainError): Error {
  const cause = new Error(message);
  if (stack !== undefined) cause.stack = stack;
  return state ? new StateError(message, { hint, cause }) : cause;
}
