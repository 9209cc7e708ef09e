import { Client } from 'pg';
import Cursor from 'pg-cursor';
import type { DatabaseAddress } from '../model/remote-address.ts';
import type { DatabaseSession, QueryRows } from './remote-client.ts';
import { CONNECTION_TIMEOUTS } from './remote-deadlines.ts';

const ROWS_PER_FETCH = 1_000;

/** Values as the server writes them: numbers keep their digits, times their zone. */
const AS_TEXT = { getTypeParser: () => (value: string | Buffer) => String(value) };

/** The server looks so often whether the client is still there: it ends the query of a killed process. */
const PEER_CHECK = "SET client_connection_check_interval = '5s'";

/** A connection that ends with the signal, also while a query runs. */
async function connectPostgres({ url }: Pick<DatabaseAddress, 'url'>, signal: AbortSignal) {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECTION_TIMEOUTS.connectMs,
    keepAlive: true,
    application_name: 'storeferry',
  });
  // A connection that is lost while nothing is asked is noticed by the next question.
  client.on('error', () => {});
  const end = () => void client.end().catch(() => {});
  signal.addEventListener('abort', end, { once: true });
  const close = async () => {
    signal.removeEventListener('abort', end);
    await client.end().catch(() => {});
  };
  try {
    await client.connect();
    // Older servers, and those on other systems than Linux, do not know it.
    await client.query(PEER_CHECK).catch(() => {});
    return { client, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** A session for writing, in UTC. */
export async function postgresSession(
  at: Pick<DatabaseAddress, 'url'>,
  signal: AbortSignal,
): Promise<DatabaseSession> {
  const { client, close } = await connectPostgres(at, signal);
  await client.query("SET TIME ZONE 'UTC'");
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
export async function queryPostgres(at: DatabaseAddress, signal: AbortSignal): Promise<QueryRows> {
  const { client, close } = await connectPostgres(at, signal);
  try {
    await client.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const cursor = client.query(
      new Cursor<(string | null)[]>(at.query, [], { rowMode: 'array', types: AS_TEXT }),
    );
    const read = () =>
      new Promise<{ readonly rows: (string | null)[][]; readonly columns: string[] }>((resolve, reject) => {
        cursor.read(ROWS_PER_FETCH, (error: Error | null | undefined, rows, result) => {
          if (error) reject(error);
          else resolve({ rows, columns: result.fields.map(({ name }) => name) });
        });
      });
    const first = await read();
    async function* batches() {
      try {
        for (let { rows } = first; rows.length > 0; { rows } = await read()) {
          signal.throwIfAborted();
          yield rows;
        }
      } finally {
        await close();
      }
    }
    return { columns: first.columns, batches: batches() };
  } catch (error) {
    await close();
    throw error;
  }
}
