import { Socket } from 'node:net';
import { rejectOnAbort } from '../model/clock.ts';
import type { DatabaseAddress } from '../model/remote-address.ts';
import { bytesFailure, databaseKind } from './database-kind.ts';
import { connectionLost, type DatabaseSession, type QueryRows, watchAnswerBytes } from './remote-client.ts';
import { CLOSE_MS, CONNECTION_TIMEOUTS } from './remote-deadlines.ts';

/** PostgreSQL. */
export const postgresKind = databaseKind({
  kind: 'postgres',
  name: 'PostgreSQL',
  schemes: ['postgres', 'postgresql'],
  query: queryPostgres,
  write: postgresSession,
});

/** Rows per fetch: of the first, the most, and the largest growth from one to the next. `BYTES_PER_FETCH` limits them as well. */
const ROWS_PER_FETCH = { first: 10, max: 1_000, growth: 4 };
const BYTES_PER_FETCH = 8 * 1024 * 1024;

/** Values as the server writes them: numbers keep their digits, times their zone. */
const AS_TEXT = { getTypeParser: () => (value: string | Buffer) => String(value) };

/** The numbers of the types `bytea` and `bytea[]`. */
const BYTES_TYPES = [17, 1001];

/** How often the server checks that the client is connected: it ends the query of a killed process. */
const PEER_CHECK = "SET client_connection_check_interval = '5s'";

/** A connection that ends with the signal, also while a query runs. */
async function connectPostgres({ url }: DatabaseAddress, signal: AbortSignal) {
  const { Client } = await import('pg');
  signal.throwIfAborted();
  const socket = new Socket();
  const client = new Client({
    stream: () => socket,
    connectionString: url,
    connectionTimeoutMillis: CONNECTION_TIMEOUTS.connectMs,
    keepAlive: true,
    application_name: 'storeferry',
  });
  // If the connection is lost while it is idle, the next query fails.
  client.on('error', () => {});
  const destroySocket = () => void socket.destroy();
  signal.addEventListener('abort', destroySocket, { once: true });
  const close = async () => {
    signal.removeEventListener('abort', destroySocket);
    // A pooler or a stopped server may never close its side.
    const timer = setTimeout(destroySocket, CLOSE_MS);
    await client.end().catch(() => {});
    clearTimeout(timer);
  };
  try {
    await client.connect();
    // Older servers, and servers on other systems than Linux, do not have this setting.
    await client.query(PEER_CHECK).catch(() => {});
    return { client, socket, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A session for writing, in UTC. */
async function postgresSession(at: DatabaseAddress, signal: AbortSignal): Promise<DatabaseSession> {
  const { client, close } = await connectPostgres(at, signal);
  try {
    await client.query("SET TIME ZONE 'UTC'");
  } catch (error) {
    await close();
    throw error;
  }
  return {
    kind: 'postgres',
    run: async (text, values = []) => {
      const { rows } = await client.query<(string | null)[]>({
        text,
        values: [...values],
        rowMode: 'array',
        types: AS_TEXT,
      });
      return rows;
    },
    [Symbol.asyncDispose]: close,
  };
}

/** Runs a query with a cursor, in one read-only transaction that sees one snapshot. */
async function queryPostgres(at: DatabaseAddress, signal: AbortSignal): Promise<QueryRows> {
  const { default: Cursor } = await import('pg-cursor');
  const { client, socket, close } = await connectPostgres(at, signal);
  // A cursor never answers after its connection has closed.
  const connectionEnd = new AbortController();
  client.once('end', () => connectionEnd.abort(connectionLost()));
  const watch = watchAnswerBytes(socket, (excess) => {
    connectionEnd.abort(excess);
    socket.destroy();
  });
  const end = async () => {
    watch[Symbol.dispose]();
    await close();
  };
  try {
    await client.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const cursor = client.query(
      new Cursor<(string | null)[]>(at.query, [], { rowMode: 'array', types: AS_TEXT }),
    );
    let count = ROWS_PER_FETCH.first;
    const fetchRows = () =>
      new Promise<{
        readonly rows: (string | null)[][];
        readonly columns: string[];
        readonly isLast: boolean;
      }>((resolve, reject) => {
        const asked = count;
        cursor.read(asked, (error: Error | null | undefined, rows, result) => {
          const bytes = result?.fields.find(
            ({ dataTypeID }, at) => BYTES_TYPES.includes(dataTypeID) && rows.some((row) => row[at] !== null),
          );
          if (error) reject(error);
          else if (bytes !== undefined)
            reject(bytesFailure(bytes.name, `convert_from(${bytes.name}, 'UTF8')`));
          else resolve({ rows, columns: result.fields.map(({ name }) => name), isLast: rows.length < asked });
        });
      });
    const read = async () => {
      watch.bytesSinceLast();
      const answer = await rejectOnAbort(fetchRows(), connectionEnd.signal);
      const bytesPerRow = Math.max(1, watch.bytesSinceLast() / Math.max(1, answer.rows.length));
      const { growth, max } = ROWS_PER_FETCH;
      count = Math.max(1, Math.min(count * growth, max, Math.floor(BYTES_PER_FETCH / bytesPerRow)));
      return answer;
    };
    const first = await read();
    async function* batches() {
      try {
        // A cursor that has ended is not read again: it would give no fields.
        for (let answer = first; ; answer = await read()) {
          signal.throwIfAborted();
          yield answer.rows;
          if (answer.isLast) return;
        }
      } finally {
        await end();
      }
    }
    return { columns: first.columns, batches: batches() };
  } catch (error) {
    await end();
    throw error;
  }
}
