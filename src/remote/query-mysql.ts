import { createConnection } from 'mysql2';
import type { DatabaseAddress } from '../model/remote-address.ts';
import type { QueryRows } from './remote-client.ts';
import { CONNECTION_TIMEOUTS } from './remote-deadlines.ts';

/** The connection is paused while so many rows wait for the reader. */
const MAX_WAITING_ROWS = 2_000;

/** Runs a query in one read-only transaction that sees one snapshot; the server waits while the reader does. */
export async function queryMysql({ url, query }: DatabaseAddress, signal: AbortSignal): Promise<QueryRows> {
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const connection = createConnection({
    host: decodeURIComponent(hostname),
    port: port === '' ? 3306 : Number(port),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    ...(searchParams.get('ssl') === 'true' ? { ssl: { verifyIdentity: true } } : {}),
    connectTimeout: CONNECTION_TIMEOUTS.connectMs,
    charset: 'utf8mb4',
    rowsAsArray: true,
    // Values as the server writes them: numbers keep their digits, times their form.
    typeCast: (field) => field.string(),
  });
  const failed = Promise.withResolvers<never>();
  failed.promise.catch(() => {});
  connection.on('error', failed.reject);
  const end = () => connection.destroy();
  signal.addEventListener('abort', end, { once: true });
  const close = () => {
    signal.removeEventListener('abort', end);
    connection.destroy();
  };
  const ask = (sql: string) =>
    Promise.race([
      failed.promise,
      new Promise<void>((resolve, reject) => {
        connection.query(sql, (error) => (error === null ? resolve() : reject(error)));
      }),
    ]);
  try {
    await ask('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ');
    await ask('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
    const waiting: (string | null)[][] = [];
    const columns = Promise.withResolvers<string[]>();
    columns.promise.catch(() => {});
    let ended = false;
    let wake = Promise.withResolvers<void>();
    const fail = (error: unknown) => {
      columns.reject(error);
      failed.reject(error);
    };
    connection
      .query(query)
      .on('error', fail)
      .on('fields', (fields: { readonly name: string }[]) => columns.resolve(fields.map(({ name }) => name)))
      .on('result', (row: (string | null)[]) => {
        waiting.push(row);
        if (waiting.length >= MAX_WAITING_ROWS) connection.pause();
        wake.resolve();
      })
      .on('end', () => {
        ended = true;
        wake.resolve();
      });
    async function* batches() {
      try {
        for (;;) {
          await Promise.race([wake.promise, failed.promise]);
          wake = Promise.withResolvers<void>();
          if (waiting.length > 0) yield waiting.splice(0);
          else if (ended) return;
          if (ended && waiting.length === 0) return;
          connection.resume();
        }
      } finally {
        close();
      }
    }
    return { columns: await Promise.race([columns.promise, failed.promise]), batches: batches() };
  } catch (error) {
    close();
    throw error;
  }
}
