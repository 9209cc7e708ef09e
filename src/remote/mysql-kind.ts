import { connect } from 'node:net';
import type { TypeCastField, TypeCastNext } from 'mysql2';
import { rejectOnAbort } from '../model/clock.ts';
import { sumOf } from '../model/json-object.ts';
import type { DatabaseAddress } from '../model/remote-address.ts';
import { bytesFailure, databaseKind } from './database-kind.ts';
import { bareHost } from './guarded-lookup.ts';
import { type DatabaseSession, permanentFailure, type QueryRows, watchAnswerBytes } from './remote-client.ts';
import { CONNECTION_TIMEOUTS } from './remote-deadlines.ts';

/** MySQL and MariaDB. */
export const mysqlKind = databaseKind({
  kind: 'mysql',
  name: 'MySQL or MariaDB',
  schemes: ['mysql', 'mariadb'],
  query: queryMysql,
  write: mysqlSession,
});

/** The connection is paused while so many rows, or characters of them, wait for the reader. */
const MAX_WAITING = { rows: 2_000, characters: 4_000_000 };

/**
 * A value as the server writes it: numbers keep their digits, times their form. Without a charset only ASCII is text. Throws
 * RemoteFailure for other bytes.
 */
function readText(field: TypeCastField, next: TypeCastNext) {
  const { type, name } = field;
  if (!/BLOB|STRING|VARCHAR|ENUM|SET|BIT|GEOMETRY|VECTOR/.test(type)) return field.string('utf8');
  // The library gives a Buffer where there is no charset.
  const value = /BIT|GEOMETRY|VECTOR/.test(type) ? field.buffer() : next();
  if (!Buffer.isBuffer(value)) return value;
  if (type === 'BIT') return String(BigInt(`0x${value.toString('hex')}`));
  const text = value.toString('latin1');
  if (/^[\t\n\r -~]*$/.test(text)) return text;
  throw bytesFailure(name, `CONVERT(${name} USING utf8mb4)`);
}

/** A connection that ends with the signal. */
async function connectMysql({ url }: DatabaseAddress, signal: AbortSignal) {
  const { createConnection } = await import('mysql2');
  signal.throwIfAborted();
  const { hostname, port, username, password, pathname, searchParams } = new URL(url);
  const host = bareHost(decodeURIComponent(hostname));
  const socket = connect({
    host,
    port: port === '' ? 3306 : Number(port),
    keepAlive: true,
    noDelay: true,
  });
  const connection = createConnection({
    stream: () => socket,
    host,
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
    ...(searchParams.get('ssl') === 'true' && { ssl: { verifyIdentity: true } }),
    connectTimeout: CONNECTION_TIMEOUTS.connectMs,
    charset: 'utf8mb4',
    rowsAsArray: true,
    jsonStrings: true,
    typeCast: readText,
  });
  const failed = new AbortController();
  const fail = (error: unknown) => failed.abort(error);
  connection.on('error', fail);
  const cut = () => {
    connection.destroy();
    // `destroy` of the library only ends the sending side: the rest of an answer would come into memory.
    socket.destroy();
  };
  const end = () => {
    cut();
    fail(signal.reason);
  };
  signal.addEventListener('abort', end, { once: true });
  const close = () => {
    signal.removeEventListener('abort', end);
    cut();
  };
  const ask = (sql: string, values?: readonly (string | null)[]) =>
    rejectOnAbort(
      new Promise<unknown>((resolve, reject) => {
        const done = (error: Error | null, found: unknown) =>
          error === null ? resolve(found) : reject(error);
        // With values, prepared by the server: no value becomes a part of a statement.
        if (values === undefined) connection.query(sql, done);
        else connection.execute(sql, [...values], done);
      }),
      failed.signal,
    );
  return { connection, socket, failed: failed.signal, fail, close, ask };
}

/** A session for writing, in UTC; the server refuses what it cannot keep, and takes names in `"`. */
async function mysqlSession(at: DatabaseAddress, signal: AbortSignal): Promise<DatabaseSession> {
  const { close, ask } = await connectMysql(at, signal);
  try {
    await ask("SET SESSION sql_mode = 'TRADITIONAL,ANSI_QUOTES', time_zone = '+00:00'");
  } catch (error) {
    close();
    throw error;
  }
  return {
    kind: 'mysql',
    run: async (sql, values) => {
      const found = await ask(sql, values);
      return Array.isArray(found) ? found : [];
    },
    async [Symbol.asyncDispose]() {
      close();
    },
  };
}

function withoutColumns() {
  return permanentFailure('the query gives no columns', 'Write a SELECT as `query`.');
}

/** Runs a query in one read-only transaction that sees one snapshot; the server waits while the reader does. */
export async function queryMysql(at: DatabaseAddress, signal: AbortSignal): Promise<QueryRows> {
  const { connection, socket, failed, fail, close, ask } = await connectMysql(at, signal);
  const watch = watchAnswerBytes(socket, (excess) => {
    fail(excess);
    close();
  });
  const end = () => {
    watch[Symbol.dispose]();
    close();
  };
  try {
    // Also of the session: a statement such as DROP ends the transaction before it is executed.
    await ask('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY');
    await ask('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
    const waiting: (string | null)[][] = [];
    const columns = Promise.withResolvers<string[]>();
    let ended = false;
    let characters = 0;
    let wake = Promise.withResolvers<void>();
    connection
      .query(at.query)
      .on('error', fail)
      .on('fields', (fields: { readonly name: string }[] | undefined) => {
        if (fields === undefined) fail(withoutColumns());
        else columns.resolve(fields.map(({ name }) => name));
      })
      .on('result', (row: (string | null)[] | object) => {
        watch.bytesSinceLast();
        if (!Array.isArray(row)) return;
        waiting.push(row);
        characters += sumOf(row, (value) => value?.length ?? 0);
        if (waiting.length >= MAX_WAITING.rows || characters >= MAX_WAITING.characters) connection.pause();
        wake.resolve();
      })
      .on('end', () => {
        ended = true;
        wake.resolve();
      });
    async function* batches() {
      try {
        for (;;) {
          await rejectOnAbort(wake.promise, failed);
          wake = Promise.withResolvers<void>();
          if (waiting.length > 0) {
            characters = 0;
            yield waiting.splice(0);
          }
          // A failure ends the query too, also one that came with rows.
          failed.throwIfAborted();
          if (ended && waiting.length === 0) return;
          connection.resume();
        }
      } finally {
        end();
      }
    }
    return { columns: await rejectOnAbort(columns.promise, failed), batches: batches() };
  } catch (error) {
    end();
    throw error;
  }
}
