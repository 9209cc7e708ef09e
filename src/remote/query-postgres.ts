import { Client } from 'pg';
import Cursor from 'pg-cursor';
import type { DatabaseAddress } from '../model/remote-address.ts';
import type { QueryRows } from './remote-client.ts';
import { CONNECTION_TIMEOUTS } from './remote-deadlines.ts';

const ROWS_PER_FETCH = 1_000;

/** Values as the server writes them: numbers keep their digits, times their zone. */
const AS_TEXT = { getTypeParser: () => (value: string | Buffer) => String(value) };

/** Runs a query with a cursor, in one read-only transaction that sees one snapshot. */
export async function queryPostgres(
  { url, query }: DatabaseAddress,
  signal: AbortSignal,
): Promise<QueryRows> {
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
    await client.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
    const cursor = client.query(
      new Cursor<(string | null)[]>(query, [], { rowMode: 'array', types: AS_TEXT }),
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
