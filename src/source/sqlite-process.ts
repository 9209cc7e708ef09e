import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { csvLines } from '../model/row.ts';
import { messageOf } from '../model/storeferry-error.ts';
import type { SqliteProblem, SqliteQuery } from './query-sqlite.ts';

// Reads a query in a process of its own, which `querySqlite` starts: SQLite does not return before the next row, and a view in a
// foreign file may have none for ever. Writes CSV to standard output; a pipe is written synchronously, at the pace of its reader.

const ROWS_PER_WRITE = 500;

/** Ends this process with its parent also while SQLite works. */
const WATCH_PARENT = `
  const parent = process.ppid;
  setInterval(() => { if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL'); }, 500);
`;

class Refusal extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.hint = hint;
  }
}

function writeRows({ real, query }: SqliteQuery): void {
  using database = new DatabaseSync(real, { readOnly: true });
  const statement = database.prepare(query);
  const columns = statement.columns().map(({ name }) => name);
  if (columns.length === 0)
    throw new Refusal('it gives no columns', 'Write a SELECT as `query` of the source.');
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  process.stdout.write(csvLines([columns]));
  let rows: (string | null)[][] = [];
  for (const row of statement.iterate()) {
    const values: unknown = row;
    rows.push(Array.isArray(values) ? values.map((value, at) => textOf(value, columns[at])) : []);
    if (rows.length < ROWS_PER_WRITE) continue;
    process.stdout.write(csvLines(rows));
    rows = [];
  }
  process.stdout.write(csvLines(rows));
}

function textOf(value: SQLOutputValue, column = ''): string | null {
  if (value === null) return null;
  if (typeof value !== 'object') return String(value);
  throw new Refusal(`the column ${column} has bytes`, 'Leave it out, or convert it to text in the query.');
}

process.once('message', (query: SqliteQuery) => {
  new Worker(WATCH_PARENT, { eval: true }).unref();
  try {
    writeRows(query);
    process.disconnect();
  } catch (error) {
    const hint =
      error instanceof Refusal
        ? error.hint
        : 'Check that it is a SQLite database, and correct the query of the source.';
    // Of a text that is too long the library gives no row, which is a TypeError.
    const message = error instanceof TypeError ? 'a value is too long' : messageOf(error);
    process.exitCode = 1;
    process.send?.({ message, hint } satisfies SqliteProblem, () => process.disconnect());
  }
});
