import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { type Database, describeWithDatabases, startMariaDb, startPostgres } from '../support/databases.ts';
import { aList, setupExports } from '../support/exports.ts';
import { patience } from '../support/pace.ts';
import { until } from '../support/until.ts';

interface Kind {
  readonly name: 'postgres' | 'mysql' | 'sqlite';
  /** Undefined for a file in the workspace. */
  readonly start?: () => Promise<Database>;
  readonly types: readonly (readonly [string, string])[];
  readonly exact: string;
  readonly created: string;
}

const CREATED = 1_700_000_000;
const LARGE = 9_007_199_254_740_993n;

const POSTGRES: Kind = {
  name: 'postgres',
  start: startPostgres,
  types: [
    ['id', 'bigint'],
    ['created', 'timestamp with time zone'],
    ['total', 'numeric'],
    ['paid', 'boolean'],
    ['customer.email', 'text'],
  ],
  exact: 'SELECT sum(total)::text AS sum, max(id)::text AS id FROM orders',
  created: 'SELECT created::text AS created FROM orders WHERE id = 1',
};

const MYSQL: Kind = {
  name: 'mysql',
  start: startMariaDb,
  types: [
    ['id', 'bigint'],
    ['created', 'datetime'],
    ['total', 'decimal'],
    ['paid', 'tinyint'],
    ['customer.email', 'longtext'],
  ],
  exact: 'SELECT CAST(sum(total) AS char) AS sum, CAST(max(id) AS char) AS id FROM orders',
  created: 'SELECT CAST(created AS char) AS created FROM orders WHERE id = 1',
};

const SQLITE: Kind = {
  name: 'sqlite',
  types: [
    ['id', 'INTEGER'],
    ['created', 'TEXT'],
    ['total', 'NUMERIC'],
    ['paid', 'INTEGER'],
    ['customer.email', 'TEXT'],
  ],
  exact: 'SELECT CAST(sum(total) AS text) AS sum, CAST(max(id) AS text) AS id FROM orders',
  created: 'SELECT created FROM orders WHERE id = 1',
};

/** A database of the kind, and how a job names it. */
async function open({ name, start }: Kind) {
  const server = await start?.();
  const place = server === undefined ? 'sqlite: data/shop.db' : `${name}: "\${DATABASE_URL}"`;
  const jobs = {
    orders: `export: orders\ndestination: { ${place}, table: orders }\n`,
    made: `export: orders\ndestination: { ${place}, table: orders, create: true }\n`,
    lists: `export: subscriber-lists\ndestination: { ${place}, table: lists, create: true }\n`,
  };
  const setup = await setupExports(jobs);
  if (server !== undefined) await setup.workspace.write('.env', `DATABASE_URL=${server.url}\n`);
  return {
    ...setup,
    async query(...statements: readonly string[]): Promise<readonly Readonly<Record<string, unknown>>[]> {
      if (server !== undefined) return await server.run(...statements);
      using database = new DatabaseSync(join(setup.workspace.dir, 'data/shop.db'));
      return statements.map((statement) => database.prepare(statement).all()).at(-1) ?? [];
    },
    async run(job: string) {
      const ended = await setup.workspace.storeferry('run', job, '--json');
      const result = ended.json();
      return { ...result, code: ended.code, error: String(result['error']) };
    },
    async [Symbol.asyncDispose]() {
      await setup[Symbol.asyncDispose]();
      await server?.[Symbol.asyncDispose]();
    },
  };
}

const COLUMNS = {
  postgres:
    "SELECT column_name AS name, data_type AS type FROM information_schema.columns WHERE table_name = 'orders' ORDER BY ordinal_position",
  mysql:
    "SELECT column_name AS name, data_type AS type FROM information_schema.columns WHERE table_name = 'orders' ORDER BY ordinal_position",
  sqlite: "SELECT name, type FROM pragma_table_info('orders')",
};

describeWithDatabases('an export into a table', () => {
  it.each([POSTGRES, MYSQL, SQLITE])(
    'of $name adds and updates by id, exactly, all or nothing',
    { timeout: patience(180_000) },
    async (kind) => {
      await using shop = await open(kind);
      const { orders } = shop.store.shop;
      const order = (id: number, total: unknown) => ({
        id,
        created: CREATED,
        total,
        paid: id === 1,
        customer: { email: `a"'${id}\\\0@mail.example` },
        'odd"name?': '\ud800; DROP TABLE orders',
      });
      orders.push(order(1, 19.9), order(2, '0.10'));

      const checked = await shop.workspace.storeferry('check', '--online');
      if (kind !== SQLITE) expect(checked.stdout).toContain('table orders\n');
      const missing = await shop.run('orders');
      expect(missing).toMatchObject({ code: 1 });
      expect(missing.error).toMatch(kind.name === 'sqlite' ? /no such file/ : /no such table/);
      expect(await shop.run('made')).toMatchObject({ code: 0, status: 'done', rows: 2 });
      const types = (await shop.query(COLUMNS[kind.name])).map(({ name, type }) => [name, type]);
      expect(types).toEqual([...kind.types, ['odd"name?', kind.types.at(-1)?.[1]]]);
      expect(String((await shop.query(kind.created))[0]?.['created'])).toMatch(
        /^2023-11-14[ T]22:13:20(?:\.000)?(?:\+00|Z)?$/,
      );

      // 2 changes, 3 is new and has a field that no column has, and an id beyond numbers of JavaScript.
      Object.assign(orders[1] ?? {}, { total: 5.25 });
      orders.push({ ...order(3, 1.005), note: 'new' });
      shop.store.shop.orders.push(JSON.parse(`{ "id": "${LARGE}", "created": ${CREATED}, "total": 0 }`));
      const lacking = await shop.run('orders');
      expect(lacking).toMatchObject({ code: 1 });
      expect(lacking.error).toContain('has no column note');
      expect(await shop.run('made')).toMatchObject({ code: 0, rows: 4 });
      expect(await shop.run('orders')).toMatchObject({ code: 0, rows: 4 });
      const [found] = await shop.query(kind.exact);
      expect(found?.['id']).toBe(String(LARGE));
      // A sum of SQLite is a binary number.
      expect(Number(found?.['sum'])).toBeCloseTo(26.155, kind === SQLITE ? 9 : 15);
      expect(await shop.query('SELECT total FROM orders')).toHaveLength(4);

      // Nothing of a run whose last order does not fit.
      Object.assign(orders[0] ?? {}, { total: 777 });
      orders.push(order(9, 'Anna Smith'));
      const before = await shop.query(kind.exact);
      if (kind.name !== 'sqlite') {
        const refused = await shop.run('orders');
        expect(refused.error).toMatch(
          /a value (?:is no numeric, 22P02|does not fit the column total, (?:ER|WARN)_)/,
        );
        const { dir } = shop.workspace;
        const files = await Promise.all(
          (await readdir(dir, { recursive: true })).map((name) =>
            readFile(join(dir, name), 'latin1').catch(() => ''),
          ),
        );
        expect(files.some((text) => text.includes('the database answered'))).toBe(true);
        for (const text of [JSON.stringify(refused), ...files]) expect(text).not.toMatch(/Anna|Smith/);
        expect(await shop.query(kind.exact)).toEqual(before);
      }

      shop.store.shop.lists.push(aList(1, 'News'), aList(2, 'Trade'));
      expect(await shop.run('lists')).toMatchObject({ code: 0, rows: 2 });
      expect(await shop.run('lists')).toMatchObject({ code: 0, rows: 2 });
      expect(await shop.query('SELECT id FROM lists')).toHaveLength(4);
      expect((await shop.workspace.storeferry('stats', 'lists')).code).toBe(2);
    },
  );

  it('refuses to round, and to update by another key', { timeout: patience(120_000) }, async () => {
    await using postgres = await open(POSTGRES);
    postgres.store.shop.orders.push({ id: 1, total: 19.995 });
    await postgres.query('CREATE TABLE orders (id bigint PRIMARY KEY, total numeric(10, 2))');
    const rounded = await postgres.run('orders');
    expect([rounded.code, rounded.error]).toEqual([
      1,
      expect.stringContaining('The column total keeps 2 decimals, and a number has 3'),
    ]);
    await postgres.query('ALTER TABLE orders ALTER total TYPE real');
    postgres.store.shop.orders.push({ id: 2, total: 16777.217 });
    expect((await postgres.run('orders')).error).toContain('The column total keeps 6 digits');
    await postgres.query('ALTER TABLE orders ALTER total TYPE numeric');
    postgres.store.shop.orders.push({ id: 3, total: '007' });
    expect((await postgres.run('orders')).error).toContain('The column total is one of numbers');
    await using mysql = await open(MYSQL);
    mysql.store.shop.orders.push({ id: 1, total: 19.9 });
    await mysql.query('CREATE TABLE orders (id bigint, total decimal(10, 2))');
    expect((await mysql.run('orders')).error).toContain('no unique key of id');
    await mysql.query('ALTER TABLE orders ADD PRIMARY KEY (id), ADD UNIQUE (total)');
    expect((await mysql.run('orders')).error).toContain('a row could replace another one');
    await mysql.query('ALTER TABLE orders DROP INDEX total, MODIFY total double');
    mysql.store.shop.orders.push({ id: 2, total: '1234567890123.4567' });
    expect((await mysql.run('orders')).error).toContain('The column total keeps 15 digits');
  });

  it('leaves nothing of a killed process, and no session', { timeout: patience(120_000) }, async () => {
    await using shop = await open(POSTGRES);
    const { orders } = shop.store.shop;
    orders.push(...Array.from({ length: 2_000 }, (_, id) => ({ id: id + 1, total: 1 })));
    expect(await shop.run('made')).toMatchObject({ code: 0, rows: 2_000 });
    for (const order of orders) order['total'] = 2;
    // Holds the last row, so that the process waits in its transaction.
    const blocked = shop
      .query('BEGIN', 'UPDATE orders SET total = 1 WHERE id = 2000', 'SELECT pg_sleep(600)')
      .catch(() => []);
    const killed = shop.workspace.start('run', 'made');
    const sessions = "SELECT wait_event_type FROM pg_stat_activity WHERE application_name = 'storeferry'";
    await until(async () => (await shop.query(sessions)).some((row) => row['wait_event_type'] === 'Lock'));
    killed.process.kill('SIGKILL');
    await killed.ended;
    await until(async () => (await shop.query(sessions)).length === 0);
    await shop.query(
      "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(600)'",
    );
    await blocked;
    expect(await shop.query('SELECT id FROM orders WHERE total <> 1')).toHaveLength(0);
    expect(await shop.run('made')).toMatchObject({ code: 0, rows: 2_000 });
    expect(await shop.query('SELECT id FROM orders WHERE total = 2')).toHaveLength(2_000);
  });
});
