import { createServer } from 'node:net';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { openSession, REMOTE_KINDS } from '../../src/remote/remote-kinds.ts';
import { type Database, describeWithDatabases, startMariaDb, startPostgres } from '../support/databases.ts';
import { startMutingProxy } from '../support/muting-proxy.ts';
import { patience } from '../support/pace.ts';
import { until } from '../support/until.ts';
import { failureOf, fetchOne } from './trials.ts';

const LIMIT = 1_000_000;

/** Reads a query as a job does, up to a million bytes. */
async function read(kind: 'postgres' | 'mysql', { url }: Pick<Database, 'url'>, query: string) {
  const at = {
    kind,
    location: `${kind}://test`,
    url,
    query,
    isQuery: true as const,
    allowPrivateAddresses: true,
  };
  return (await fetchOne(await REMOTE_KINDS[kind].open(at), { limitBytes: LIMIT }))?.content;
}

/** Without what the process has given back, or not yet: other files may have run in it. */
function memory(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const WIDE = Array.from({ length: 1_600 }, (_, index) => `${index} AS c${index}`).join(', ');

describeWithDatabases('a hostile database', () => {
  vi.setConfig({ testTimeout: patience(60_000), hookTimeout: patience(60_000) });
  let postgres: Database;
  let mysql: Database;
  let before: number | undefined;
  beforeAll(async () => {
    [postgres, mysql] = await Promise.all([startPostgres(), startMariaDb()]);
    await mysql.run(
      'SET GLOBAL max_allowed_packet = 1073741824',
      'CREATE TABLE kept (id int)',
      'CREATE TABLE bits (a bit(1), b bit(64))',
      'INSERT INTO bits VALUES (0, 65), (1, 18446744073709551615)',
    );
    await postgres.run(
      "CREATE DATABASE bytes ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0",
    );
  });
  afterAll(async () => {
    await postgres[Symbol.asyncDispose]();
    await mysql[Symbol.asyncDispose]();
  });

  it.each([
    ['infinite numbers', "SELECT 'NaN'::numeric AS a, '-Infinity'::float8 AS b", 'a,b\nNaN,-Infinity\n'],
    [
      'dates beyond those of JavaScript',
      "SELECT 'infinity'::date AS a, '294276-12-31 00:00'::timestamp AS b, '4713-01-01 BC'::date AS c",
      'a,b,c\ninfinity,294276-12-31 00:00:00,4713-01-01 BC\n',
    ],
    [
      'exact numbers',
      'SELECT 19.90::numeric AS a, 9007199254740993::bigint AS b',
      'a,b\n19.90,9007199254740993\n',
    ],
    ['delimiters, quotes and NULL', `SELECT E'a,"\\n' AS a, NULL AS b, '' AS c`, 'a,b,c\n"a,""\n",,\n'],
  ])('PostgreSQL: %s come as texts', async (_, query, expected) => {
    expect((await read('postgres', postgres, query))?.replaceAll('\r\n', '\n')).toBe(expected);
  });

  it.each([
    [
      'dates',
      "SELECT CAST('9999-12-31' AS date) AS a, 19.90 AS b, 9007199254740993 AS c",
      'a,b,c\n9999-12-31,19.90,9007199254740993\n',
    ],
    ['zeros and NULL', "SELECT 'a\\0b' AS a, NULL AS b", 'a,b\na\0b,\n'],
    ['bits', 'SELECT * FROM bits ORDER BY a', 'a,b\n0,65\n1,18446744073709551615\n'],
    ['bytes in ASCII', "SELECT CAST('SKU-1' AS BINARY) AS a, CAST('' AS BINARY) AS b", 'a,b\nSKU-1,\n'],
    ['JSON', `SELECT JSON_OBJECT('a', 'ä') AS a`, 'a\n"{""a"": ""ä""}"\n'],
    ['other encodings', "SELECT CONVERT(_latin1 x'e9' USING latin1) AS a", 'a\n\u00e9\n'],
  ])('MariaDB: %s come as texts', async (_, query, expected) => {
    expect((await read('mysql', mysql, query))?.replaceAll('\r\n', '\n')).toBe(expected);
  });

  it.each([
    ['postgres', `SELECT ${WIDE}`],
    ['mysql', `SELECT ${WIDE}`],
  ] as const)('%s: 1,600 columns are read', async (kind, query) => {
    const content = await read(kind, kind === 'postgres' ? postgres : mysql, query);
    expect(content?.split('\n')[0]?.split(',')).toHaveLength(1_600);
  });

  it.each([
    ['postgres', "SELECT repeat('x', 300000000) AS a"],
    ['postgres', "SELECT repeat('x', 2000000) AS a FROM generate_series(1, 1000)"],
    ['mysql', "SELECT repeat('x', 300000000) AS a"],
    ['mysql', "SELECT repeat('x', 2000000) AS a FROM seq_1_to_1000"],
    ['postgres', 'SELECT generate_series(1, 1000000000000)'],
    ['mysql', "SELECT seq, 'x' FROM seq_1_to_1000000000"],
  ] as const)('%s: %s ends at a limit, in little memory', async (kind, query) => {
    // What a case before has left behind counts too.
    before ??= memory();
    let most = 0;
    const timer = setInterval(() => {
      most = Math.max(most, memory());
    }, 20);
    await expect(read(kind, kind === 'postgres' ? postgres : mysql, query)).rejects.toThrow();
    clearInterval(timer);
    expect((most - before) / 1024 / 1024).toBeLessThan(500);
  });

  it.each([
    ['postgres', 'SELECT nothing', /column "nothing" does not exist/],
    ['postgres', 'DELETE FROM pg_class', /read-only transaction/],
    ['mysql', 'DROP TABLE kept', /READ ONLY/],
    ['mysql', 'DO 1', /no columns/],
    ['postgres', 'SELECT 1/0', /division by zero/],
    ['postgres', "SELECT 'Anna Smith'::int", /^the database answered: a value is no integer, 22P02$/],
    [
      'postgres',
      "SELECT '99999999999'::int",
      /^the database answered: a value does not fit its column, 22003$/,
    ],
  ] as const)('%s: %s is an error with what the server says', async (kind, query, message) => {
    expect((await failureOf(read(kind, kind === 'postgres' ? postgres : mysql, query))).message).toMatch(
      message,
    );
  });

  it.each([
    ['postgres', "SELECT 1, NULL::bytea AS n, '\\x00ff'::bytea AS des", /convert_from\(des, 'UTF8'\)/],
    [
      'mysql',
      "SELECT 1, CAST(NULL AS BINARY) AS n, CAST('für' AS BINARY) AS des",
      /CONVERT\(des USING utf8mb4\)/,
    ],
    ['mysql', 'SELECT POINT(1, 2) AS des', /CONVERT\(des USING utf8mb4\)/],
  ] as const)('%s: bytes are refused with their column: %s', async (kind, query, hint) => {
    const failure = await failureOf(read(kind, kind === 'postgres' ? postgres : mysql, query));
    expect([failure.message, failure.hint]).toEqual([
      'the column des has bytes',
      expect.stringMatching(hint),
    ]);
  });

  it.each([
    ['fails', '(SELECT s.seq FROM seq_1_to_2 s WHERE s.seq < t.seq)', /more than 1 row/],
    ['has bytes', "CAST('ä' AS BINARY)", /has bytes/],
  ])('MariaDB: a query that %s after its first rows is no shorter table', async (_, value, message) => {
    const query = `SELECT seq, REPEAT('x', 100), IF(seq < 300, 1, IF(seq < 310, SLEEP(0.02), ${value})) AS a FROM seq_1_to_400 t`;
    expect((await failureOf(read('mysql', mysql, query))).message).toMatch(message);
  });

  it('PostgreSQL: a connection ends though the server neither answers nor closes it', async () => {
    await using proxy = await startMutingProxy(Number(new URL(postgres.url).port), 'postgres');
    const url = `${proxy.url.replace('//', '//shop:secret@')}/postgres`;
    const at = {
      kind: 'postgres',
      location: 'x',
      url,
      query: '',
      isQuery: true,
      allowPrivateAddresses: true,
    } as const;
    const session = await openSession(at, new AbortController().signal);
    await session.run('SELECT 1');
    proxy.mute();
    await session[Symbol.asyncDispose]();
  });

  it('PostgreSQL: a server that is silent after the login is given up', async () => {
    let asked = false;
    await using stack = new AsyncDisposableStack();
    const server = createServer((socket) => {
      socket.once('data', () => {
        // The login is accepted, and a query may come.
        socket.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]));
        socket.once('data', () => {
          asked = true;
        });
      });
      stack.defer(() => void socket.destroy());
    });
    stack.defer(() => void server.close());
    const port = await new Promise<number>((resolve) => {
      server.listen(0, '127.0.0.1', () => resolve(Number(Object(server.address()).port)));
    });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    stack.defer(() => void vi.useRealTimers());
    const url = `postgres://shop@127.0.0.1:${port}/postgres`;
    const at = {
      kind: 'postgres',
      location: 'x',
      url,
      query: '',
      isQuery: true,
      allowPrivateAddresses: true,
    } as const;
    const failure = failureOf(openSession(at, new AbortController().signal));
    while (!asked) await new Promise((resolve) => setImmediate(resolve));
    vi.advanceTimersByTime(5 * 60_000);
    await vi.advanceTimersByTimeAsync(1_000);
    expect((await failure).message).toBe('the database did not answer within 5 minutes');
  });

  it('PostgreSQL without an encoding: bytes that are not UTF-8 are refused', async () => {
    const bytes = { url: postgres.url.replace(/postgres$/, 'bytes') };
    const query = "SELECT convert_from('\\xe9'::bytea, 'SQL_ASCII') AS a";
    expect((await failureOf(read('postgres', bytes, query))).message).toContain('invalid byte sequence');
    expect(await read('postgres', bytes, "SELECT E'caf\\xc3\\xa9' AS a")).toContain('café');
  });

  it.each([
    ['postgres', 'SELECT pg_sleep(1000000)'],
    ['mysql', 'SELECT sleep(1000000)'],
  ] as const)(
    '%s: a query that never ends ends with the signal, and its session too',
    async (kind, query) => {
      const server = kind === 'postgres' ? postgres : mysql;
      const at = {
        kind,
        location: 'x',
        url: server.url,
        query,
        isQuery: true as const,
        allowPrivateAddresses: true,
      };
      const stop = new AbortController();
      await using client = await REMOTE_KINDS[kind].open(at);
      const [file] = await client.find(stop.signal);
      if (file === undefined) throw new Error('no file');
      const got = await client.get(file, { signal: stop.signal, unless: null });
      if (got.kind !== 'content') throw new Error('no content');
      const ended = got.content.toArray().then(
        () => 'whole',
        () => 'ended',
      );
      const sessions =
        kind === 'postgres'
          ? "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(1%' AND pid <> pg_backend_pid()"
          : "SELECT 1 FROM information_schema.processlist WHERE info LIKE 'SELECT sleep(1%'";
      await until(async () => (await server.run(sessions)).length > 0);
      stop.abort(new Error('stop'));
      expect(await ended).toBe('ended');
      await until(async () => (await server.run(sessions)).length === 0);
    },
  );
});
