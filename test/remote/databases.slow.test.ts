import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { watchedCommand } from '../faults/watched-command.ts';
import { type Database, describeWithDatabases, startMariaDb, startPostgres } from '../support/databases.ts';
import { patience } from '../support/pace.ts';
import { delay } from '../support/store/faults.ts';
import { startStore } from '../support/store.ts';
import { until } from '../support/until.ts';
import { makeWorkspace } from '../support/workspace.ts';

const MAPPING = `import: products
columns: { key: [item, key], title: title, price: price, sku: sku }
required: [key, title, price, sku]
product: { url: key, title: title }
variants: { sku: sku, pricing: { price: [price, number] } }
`;

const QUERY = 'SELECT id AS item, title, price, sku FROM shop.items ORDER BY id';

/** A store, and a workspace with a job that reads a query. */
async function setup(source: string, env: Readonly<Record<string, string>>) {
  const store = await startStore({ seed: 1 });
  const workspace = await makeWorkspace(
    {
      'stores.yaml': `main:\n  baseUrl: ${store.baseUrl}\n  apiKey: \${STORE_API_KEY}\n`,
      'mappings/items.yaml': MAPPING,
      'jobs/items.yaml': `import: products\nstore: main\nsource: { ${source} }\nmapping: items\nsafety: { maxPriceMoves: off }\n`,
    },
    { STORE_API_KEY: store.apiKey, ...env },
  );
  return {
    store,
    workspace,
    run: async (...options: readonly string[]) =>
      await workspace.storeferry('run', 'items', '--json', ...options),
    async [Symbol.asyncDispose]() {
      await workspace[Symbol.asyncDispose]();
      await store.close();
    },
  };
}

const ROWS = 5_000;

interface Kind {
  readonly name: 'postgres' | 'mysql';
  readonly start: () => Promise<Database>;
  readonly fill: readonly string[];
  readonly drop: string;
  /** Counts the other sessions of the server. */
  readonly sessions: string;
  /** Makes queries wait, where the session that does is not counted by `sessions`. */
  readonly hold: readonly string[];
}

const KINDS: readonly Kind[] = [
  {
    name: 'postgres',
    start: startPostgres,
    fill: [
      'CREATE SCHEMA shop',
      'CREATE TABLE shop.items (id bigint PRIMARY KEY, title text, price numeric(20,2), sku text, updated_at timestamptz DEFAULT now())',
      `INSERT INTO shop.items SELECT 9007199254740993 + n, 'Item ' || n, 19.90, '00' || n FROM generate_series(1, ${ROWS}) AS n`,
    ],
    drop: 'DROP SCHEMA shop CASCADE',
    sessions: "SELECT pid FROM pg_stat_activity WHERE application_name = 'storeferry'",
    hold: ['BEGIN', 'LOCK TABLE shop.items IN ACCESS EXCLUSIVE MODE'],
  },
  {
    name: 'mysql',
    start: startMariaDb,
    fill: [
      'CREATE DATABASE shop',
      'CREATE TABLE shop.items (id bigint PRIMARY KEY, title text, price decimal(20,2), sku text, updated_at datetime DEFAULT now())',
      `INSERT INTO shop.items (id, title, price, sku) SELECT 9007199254740993 + seq, concat('Item ', seq), 19.90, concat('00', seq) FROM seq_1_to_${ROWS}`,
    ],
    drop: 'DROP DATABASE shop',
    sessions: "SELECT id FROM information_schema.processlist WHERE db = 'mysql' AND id <> connection_id()",
    hold: [],
  },
];

describeWithDatabases('a query as a source', () => {
  describe.each(KINDS)(
    'of $name',
    { timeout: patience(180_000) },
    ({ name, start, fill, drop, sessions, hold }) => {
      let database: Database;
      beforeAll(async () => {
        database = await start();
      });
      afterEach(() => database.run(drop));
      afterAll(() => database[Symbol.asyncDispose]());

      it('is read exactly, in one snapshot, and sends only what changed', async () => {
        await database.run(...fill);
        await using shop = await setup(`${name}: "\${DATABASE_URL}", query: "${QUERY}"`, {
          DATABASE_URL: database.url,
        });
        const { store, workspace } = shop;
        const first = (await shop.run()).json();
        expect(first).toMatchObject({ status: 'done', records: ROWS, new: ROWS });
        const sent = [...store.shop.products.values()].find(({ url }) => url === '9007199254740994');
        expect(sent).toMatchObject({ title: 'Item 1', variants: [{ price: 19.9, sku: '001' }] });
        expect((await shop.run()).json()).toMatchObject({ unchanged: ROWS, operations: 0 });

        // A change whose time lies in the past, which a cursor over updated_at would never see.
        await database.run(
          "UPDATE shop.items SET title = 'Renamed', updated_at = '2001-01-01 00:00:00' WHERE id = 9007199254740999",
        );
        expect((await shop.run()).json()).toMatchObject({
          changed: 1,
          operations: 1,
          fieldsChanged: { title: 1 },
        });

        // One that began before a run and commits while it sends: its time is older than that of the run.
        const [begun, commit] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        const late = database.run(
          'BEGIN',
          "UPDATE shop.items SET title = 'Late', updated_at = '2001-01-01 00:00:00' WHERE id = 9007199254741000",
          async () => begun.resolve(),
          () => commit.promise,
          'COMMIT',
        );
        await begun.promise;
        await database.run("UPDATE shop.items SET title = 'During' WHERE id = 9007199254741001");
        const asked = store.requests.length;
        store.misbehave({ does: delay(60_000) });
        const during = shop.run();
        await until(() => store.requests.length > asked);
        commit.resolve();
        await late;
        store.behave();
        expect((await during).json()).toMatchObject({ changed: 1, operations: 1 });
        expect((await shop.run()).json()).toMatchObject({ changed: 1, operations: 1 });
        const titles = [...store.shop.products.values()].filter(({ title }) => title === 'Late');
        expect(titles).toMatchObject([{ url: '9007199254741000' }]);

        // A short query would be over before anybody looks.
        const [held, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
        const holding = database.run(
          ...hold,
          async () => held.resolve(),
          () => release.promise,
        );
        await held.promise;
        if (hold.length === 0) {
          release.resolve();
          await holding;
        }
        const killed = workspace.start('plan', 'items');
        await until(async () => (await database.run(sessions)).length > 0);
        killed.process.kill('SIGKILL');
        await killed.ended;
        release.resolve();
        await holding;
        await until(async () => (await database.run(sessions)).length === 0);

        await database.run('ALTER TABLE shop.items DROP COLUMN price');
        const before = store.requests.length;
        const dropped = await shop.run();
        expect(dropped.code).toBe(1);
        expect(String(dropped.json()['error'])).toMatch(/price/);
        expect(dropped.stdout + dropped.stderr).not.toContain('secret');
        expect(store.requests).toHaveLength(before);
      });

      it('takes at most 300 MiB for 100,000 rows', async () => {
        await database.run(...fill.map((statement) => statement.replace(String(ROWS), '100000')));
        const files = {
          'stores.yaml': `main: { baseUrl: "https://shop.example", apiKey: "\${KEY}" }\n`,
          'mappings/items.yaml': MAPPING,
          'jobs/items.yaml': `import: products\nstore: main\nsource: { ${name}: "\${DATABASE_URL}", query: "${QUERY}" }\nmapping: items\n`,
        };
        const env = { KEY: 'k', DATABASE_URL: database.url };
        const { ended, watched } = await watchedCommand(
          files,
          env,
          async () => {},
          'plan',
          'items',
          '--json',
        );
        expect(ended.json()).toMatchObject({ records: 100_000, new: 100_000, rejected: 0 });
        expect(watched.maxRssMib).toBeLessThan(300);
      });
    },
  );

  it('of a SQLite file is read without its server, and nothing is written', async () => {
    await using shop = await setup('sqlite: shop.db, query: "SELECT key, title, price, sku FROM items"', {});
    const path = join(shop.workspace.dir, 'shop.db');
    const database = new DatabaseSync(path);
    database.exec('CREATE TABLE items (key INTEGER, title TEXT, price REAL, sku TEXT)');
    database.exec(
      "INSERT INTO items VALUES (9007199254740993, 'A, \"b\"', 19.9, '007'), (2, 'B;b', 0.5, NULL)",
    );
    database.close();
    expect((await shop.run()).json()).toMatchObject({ status: 'done', new: 2 });
    expect([...shop.store.shop.products.values()]).toMatchObject([
      { url: '9007199254740993', title: 'A, "b"', variants: [{ price: 19.9, sku: '007' }] },
      { url: '2', title: 'B;b', variants: [{ price: 0.5 }] },
    ]);
    const job = (query: string) =>
      shop.workspace.write(
        'jobs/items.yaml',
        `import: products\nstore: main\nsource: { sqlite: shop.db, query: "${query}" }\nmapping: items\n`,
      );
    for (const query of [
      "ATTACH DATABASE '/etc/other' AS other",
      'DELETE FROM items',
      'SELECT nothing FROM items',
    ]) {
      await job(query);
      expect((await shop.run()).code).toBe(1);
    }
    expect(new DatabaseSync(path, { readOnly: true }).prepare('SELECT title FROM items').all()).toHaveLength(
      2,
    );
  });
});
