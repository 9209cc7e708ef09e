import { fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SourceError } from '../model/storeferry-error.ts';

/** A SQLite database as people write its path, and where it is. */
interface DatabaseFile {
  readonly path: string;
  readonly real: string;
}

/** What the process of a query gets, and what it says where it fails. */
export interface SqliteQuery extends Pick<DatabaseFile, 'real'> {
  readonly query: string;
}
export interface SqliteProblem {
  readonly message: string;
  readonly hint: string;
}

const HEAP_MIB = 512;
const NOT_STARTED: SqliteProblem = {
  message: 'its process could not be started',
  hint: 'Does the system allow more processes, and is Node.js still where it was? Restart a running worker after an upgrade.',
};
const BEYOND_MEMORY: SqliteProblem = {
  message: 'its process ended; does a row take too much memory?',
  hint: 'Leave out columns with long values, or shorten them in the query.',
};

/**
 * The rows of a query as CSV, in one snapshot of the database, which is opened for reading only. All values are texts: integers keep
 * their digits. Read in a process of its own, because nothing else ends a query that gives no row. SourceError for a query that fails,
 * and for a column of bytes.
 */
export async function* querySqlite(
  { path, real }: DatabaseFile,
  query: string,
  signal?: AbortSignal,
): AsyncGenerator<string> {
  const script = fileURLToPath(new URL(`./sqlite-process${extname(import.meta.url)}`, import.meta.url));
  const child = fork(script, {
    execArgv: ['--disable-warning=ExperimentalWarning', `--max-old-space-size=${HEAP_MIB}`],
    stdio: ['ignore', 'pipe', 'ignore', 'ipc'],
  });
  const kill = () => child.kill('SIGKILL');
  signal?.addEventListener('abort', kill, { once: true });
  let problem: SqliteProblem | undefined;
  const ended = new Promise<boolean>((resolve) => {
    child.once('message', (message: SqliteProblem) => {
      problem = message;
    });
    // It comes twice: `send` finds the channel of a process that did not start closed.
    child.on('error', () => {
      if (child.pid === undefined) problem = NOT_STARTED;
      resolve(false);
    });
    child.once('close', (code) => resolve(code === 0));
  });
  try {
    signal?.throwIfAborted();
    child.send({ real, query } satisfies SqliteQuery);
    for await (const text of child.stdout?.setEncoding('utf8') ?? []) yield String(text);
    const isWhole = await ended;
    signal?.throwIfAborted();
    if (isWhole) return;
    const { message, hint } = problem ?? BEYOND_MEMORY;
    throw new SourceError(`The query of ${path} failed: ${message}.`, { place: { file: path }, hint });
  } finally {
    signal?.removeEventListener('abort', kill);
    kill();
  }
}
