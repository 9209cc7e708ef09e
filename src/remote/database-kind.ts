import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { addProblem } from '../model/json-object.ts';
import type { DatabaseAddress } from '../model/remote-address.ts';
import { csvLines } from '../model/row.ts';
import {
  connectionFailure,
  type DatabaseSession,
  findRemoteFailure,
  permanentFailure,
  type QueryRows,
  type RemoteClient,
  RemoteFailure,
} from './remote-client.ts';
import { type RemoteKind, remoteKind } from './remote-kind.ts';

interface DatabaseDefinition {
  readonly kind: DatabaseAddress['kind'];
  readonly name: string;
  readonly schemes: readonly string[];
  /** Runs a query; its library is loaded here, on first use. */
  readonly query: (at: DatabaseAddress, signal: AbortSignal) => Promise<QueryRows>;
  /** Opens a session for writing, and loads the library. */
  readonly write: (at: DatabaseAddress, signal: AbortSignal) => Promise<DatabaseSession>;
}

const VARIABLE = 'DATABASE_URL';

/** A kind of database servers. Address and password are one secret, so the whole address comes from the environment. */
export function databaseKind({ kind, name, schemes, query: run, write }: DatabaseDefinition): RemoteKind {
  const expected = `expected an address such as ${schemes[0]}://user:password@db.example/shop, from a variable such as \${${VARIABLE}}`;
  const schema = z
    .string(expected)
    .trim()
    .superRefine((text, context) => {
      // A variable without value is reported by itself.
      if (text.startsWith('${')) return;
      const isAddress = URL.canParse(text) && schemes.includes(new URL(text).protocol.slice(0, -1));
      if (!isAddress) addProblem(context, expected);
    })
    .meta({
      id: `${kind === 'postgres' ? 'Postgres' : 'Mysql'}Database`,
      description: `A ${name} database: its address with user and password, from the environment.`,
      examples: [`\${${VARIABLE}}`],
    });
  return remoteKind<string, DatabaseAddress>({
    kind,
    schema,
    description: {
      source: `A ${name} database. Needs \`query\`, whose rows are read in one snapshot.`,
      destination: `A ${name} database. Needs \`table\`, whose rows are added, or updated by their id, in one transaction.`,
    },
    secrets: () => [{ path: [], variable: VARIABLE }],
    namesSeveral: () => false,
    complete: (url, { query = '' }) => {
      const { host, pathname } = URL.canParse(url) ? new URL(url) : { host: '', pathname: '' };
      return {
        remote: {
          kind,
          location: `${schemes[0]}://${host}${pathname}`,
          url,
          query,
          isQuery: true,
          // A database is usually in a private network, and only the owner of the files writes its address.
          allowPrivateAddresses: true,
        },
        unset: [],
      };
    },
    identity: ({ query }) => [hash('sha256', query)],
    hasExactVersions: false,
    open: async (at) => queryClient(at, run),
    session: (at, signal) => openSession(write, at, signal),
  });
}

/** A query may think for long before its first row. */
const MIN_THROUGHPUT = { windowMs: 30 * 60_000, minWindowBytes: 1 };

/** Reads the rows of a query as CSV, all of one snapshot of the database. Nothing can be written. */
function queryClient(at: DatabaseAddress, run: DatabaseDefinition['query']): RemoteClient {
  const file = { location: at.location, path: at.query };
  return {
    minThroughput: MIN_THROUGHPUT,
    find: async () => [file],
    async get(_file, { signal }) {
      const content = Readable.from(
        csvOf(() => run(at, signal), signal),
        { objectMode: false },
      );
      return { kind: 'content', content, size: null, version: null };
    },
    async put() {
      throw permanentFailure('nothing is written into a database');
    },
    async [Symbol.asyncDispose]() {},
  };
}

/** Asks when it is first read: nobody would see the failure of a query whose rows are never read. */
async function* csvOf(ask: () => Promise<QueryRows>, signal: AbortSignal): AsyncGenerator<string> {
  try {
    const { columns, batches } = await ask();
    yield csvLines([columns]);
    for await (const rows of batches) yield csvLines(rows);
  } catch (error) {
    signal.throwIfAborted();
    throw findRemoteFailure(error) ?? queryFailure(error);
  }
}

/** For a column of bytes, whose characters nobody knows. */
export function bytesFailure(column: string, conversion: string): RemoteFailure {
  return permanentFailure(
    `the column ${column} has bytes`,
    `Leave it out, or convert it to text in the query: ${conversion}.`,
  );
}

/** How long a server may think about a statement that writes. */
const STATEMENT_MS = 5 * 60_000;

/** A session for writing, whose statements have a deadline. Rejects with RemoteFailure, or the signal's reason. */
async function openSession(
  write: DatabaseDefinition['write'],
  at: DatabaseAddress,
  signal: AbortSignal,
): Promise<DatabaseSession> {
  const late = new AbortController();
  const session = await failing(write(at, AbortSignal.any([signal, late.signal])));
  return {
    kind: session.kind,
    run: (sql, values) => failing(session.run(sql, values)),
    [Symbol.asyncDispose]: () => session[Symbol.asyncDispose](),
  };

  async function failing<T>(asked: Promise<T>) {
    const timer = setTimeout(() => late.abort(), STATEMENT_MS);
    try {
      return await asked;
    } catch (error) {
      signal.throwIfAborted();
      if (late.signal.aborted)
        throw permanentFailure(`the database did not answer within ${STATEMENT_MS / 60_000} minutes`);
      throw queryFailure(error, 'Correct the table, or the rights of the user. No row was written.');
    } finally {
      clearTimeout(timer);
    }
  }
}

/** SQLSTATE classes and codes of MySQL of failures that a retry may not meet again: connection, resources, shutdown, deadlock. */
const TRANSIENT_CODES =
  /^(?:08|53|57P|40)|^(?:PROTOCOL_CONNECTION_LOST|ER_CON_COUNT_ERROR|ER_LOCK_DEADLOCK)$/;
const OF_SERVER = /^(?:[0-9A-Z]{5}$|ER_)/;

/**
 * SQLSTATE classes and codes whose messages name parts of the database or of a statement. Others quote values of rows, such as 22P02, or
 * 23000 of MySQL; so may those of triggers.
 */
const SHOWN =
  /^(?:08|0A|21|22001|22012|22021|23(?!000)|25|28|3[DF]|4[02]|5[34578]|ER_(?:BAD_NULL_ERROR|NO_DEFAULT_FOR_FIELD|HOST_|CON_|LOCK_))/;
/** The column that MySQL names after a value. */
const COLUMN_AT_END = / for column (?:`[^`]*`\.)*[`']([^`']{1,64})[`'] at row \d+$/;

/** What the server said of the query, a row or the login; its message has no secret, and no value of a row. */
function queryFailure(error: unknown, hint = 'Correct the query of the source, or the rights of its user.') {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (!(error instanceof Error) || !(OF_SERVER.test(code) || 'sqlState' in error))
    return connectionFailure(error);
  const state = 'sqlState' in error ? String(error.sqlState) : code;
  const message = SHOWN.test(state) || SHOWN.test(code) ? error.message : withoutValues(error, state, code);
  // Without a cause: it has the values too.
  return new RemoteFailure(
    TRANSIENT_CODES.test(code) ? 'transient' : 'permanent',
    `the database answered: ${message}`,
    {
      hint,
    },
  );
}

function withoutValues(error: Error, state: string, code: string) {
  const column = 'column' in error ? error.column : COLUMN_AT_END.exec(error.message)?.[1];
  // The type is a word of the server, and what follows it is not.
  const [, type] = state === '22P02' ? (/ for type ([a-z ]{3,40}): "/.exec(error.message) ?? []) : [];
  if (type !== undefined) return `a value is no ${type}, ${code}`;
  if (typeof column === 'string') return `a value does not fit the column ${column}, ${code}`;
  return state.startsWith('22') ? `a value does not fit its column, ${code}` : code;
}
