import { DatabaseSync, type SQLOutputValue } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { csvLines } from '../model/row.ts';
import { messageOf, SourceError } from '../model/storeferry-error.ts';

const ROWS_PER_TURN = 500;

/** A SQLite database as people write its path, and where it is. */
interface DatabaseFile {
  readonly path: string;
  readonly real: string;
}

/**
 * The rows of a query as CSV, in one snapshot of the database, which is opened for reading only. All values are texts: integers keep
 * their digits. SourceError for a query that fails, and for a column of bytes.
 */
export async function* querySqlite({ path, real }: DatabaseFile, query: string): AsyncGenerator<string> {
  using database = open({ path, real });
  const statement = attempt(path, () => database.prepare(query));
  const columns = statement.columns().map(({ name }) => name);
  if (columns.length === 0) {
    throw new SourceError(`The query of ${path} gives no columns.`, {
      place: { file: path },
      hint: 'Write a SELECT as `query` of the source.',
    });
  }
  statement.setReadBigInts(true);
  statement.setReturnArrays(true);
  yield csvLines([columns]);
  let rows: (string | null)[][] = [];
  const iterator = attempt(path, () => statement.iterate());
  for (;;) {
    const next = attempt(path, () => iterator.next());
    if (next.done === true) break;
    const values: unknown = next.value;
    rows.push(Array.isArray(values) ? values.map((value, at) => textOf(value, path, columns[at])) : []);
    if (rows.length < ROWS_PER_TURN) continue;
    yield csvLines(rows);
    rows = [];
    await nextTurn();
  }
  yield csvLines(rows);
}

function open({ path, real }: DatabaseFile): DatabaseSync {
  return attempt(path, () => new DatabaseSync(real, { readOnly: true }));
}

function attempt<Value>(path: string, action: () => Value): Value {
  try {
    return action();
  } catch (cause) {
    throw new SourceError(`${path}: ${messageOf(cause)}.`, {
      cause,
      place: { file: path },
      hint: 'Check that it is a SQLite database, and correct the query of the source.',
    });
  }
}

function textOf(value: SQLOutputValue, path: string, column = ''): string | null {
  if (value === null) return null;
  if (typeof value !== 'object') return String(value);
  throw new SourceError(`The column ${column} of the query of ${path} has bytes.`, {
    place: { file: path },
    hint: 'Leave it out, or convert it to text in the query.',
  });
}
