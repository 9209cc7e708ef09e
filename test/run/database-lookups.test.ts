import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';

const mappingOf = (stock: string) => `import: products
columns: { code: Code, price: Price, colour: Colour }
lookups:
  stock: { ${stock}, match: code, join: { on: code, columns: { qty: { sum: pieces } } } }
  colours: { sqlite: shop.db, query: "SELECT id, name FROM colours", match: id }
product: { url: code, title: code, description: [colour, { table: colours, column: name }] }
variants: { pricing: { price: price }, quantity: stock.qty }
`;
const QUERY = 'sqlite: shop.db, query: "SELECT code, pieces FROM stock';

it('lookups and joins read the rows of a query, and its change plans the products again', async () => {
  const store = await startStore({ seed: 1 });
  await using workspace = await makeWorkspace(
    {
      'stores.yaml': `main:\n  baseUrl: ${store.baseUrl}\n  apiKey: \${STORE_API_KEY}\n`,
      'jobs/goods.yaml':
        'import: products\nstore: main\nmapping: goods\nsource: { sqlite: shop.db, query: SELECT * FROM goods }\n',
      'mappings/goods.yaml': mappingOf(`${QUERY}"`),
    },
    { STORE_API_KEY: store.apiKey },
  );
  const run = async () => (await workspace.storeferry('run', 'goods', '--json')).json();
  try {
    const missing = await workspace.storeferry('check');
    expect(missing.stdout).toContain('lookups.stock.sqlite: this file does not exist (yet)');
    using database = new DatabaseSync(join(workspace.dir, 'shop.db'));
    database.exec(`CREATE TABLE stock (code TEXT, place TEXT, pieces INTEGER);
      INSERT INTO stock VALUES ('A', 'x', 2), ('A', 'y', 3), ('B', 'x', 7);
      CREATE TABLE goods (Code TEXT, Price REAL, Colour INTEGER);
      INSERT INTO goods VALUES ('A', 10, 1), ('B', 12, 2);
      CREATE TABLE colours (id INTEGER, name TEXT);
      INSERT INTO colours VALUES (1, 'Red'), (2, 'Blue')`);
    const online = await workspace.storeferry('check', '--online');
    expect([online.code, online.stdout]).toEqual([0, expect.stringContaining('has the column code')]);
    expect(await run()).toMatchObject({ status: 'done', applied: 2 });
    const shown = await workspace.storeferry('plan', 'goods', '--show', 'A');
    expect(shown.stdout).toMatch(/Red[\s\S]*quantity\s+5/);
    await workspace.write('mappings/goods.yaml', mappingOf(`${QUERY} WHERE place = 'x'"`));
    expect(await run()).toMatchObject({ status: 'done', applied: 1 });
  } finally {
    await store.close();
  }
});

it.each([
  [`postgres: "\${PG}"`, 'postgres needs `query`'],
  ['sqlite: shop.db', 'sqlite needs `query`'],
  ['path: stock.csv, query: SELECT 1', '`query` is for postgres, mysql and sqlite'],
  ['sheet: Stock', 'names no file; give one of path, url, s3, sftp, postgres, mysql, sqlite, custom and of'],
  ['path: stock.csv, of: subscriber-lists', 'there is path already'],
])('check refuses a lookup { %s }', async (stock, message) => {
  await using workspace = await makeWorkspace(
    {
      'stores.yaml': `main:\n  baseUrl: http://127.0.0.1:9\n  apiKey: \${STORE_API_KEY}\n`,
      'jobs/goods.yaml': 'import: products\nstore: main\nmapping: goods\nsource: { path: goods.csv }\n',
      'mappings/goods.yaml': mappingOf(stock),
      'goods.csv': 'Code,Price,Colour\n',
    },
    { STORE_API_KEY: 'k', PG: 'postgres://shop@db.example/shop' },
  );
  const { code, stdout, stderr } = await workspace.storeferry('check');
  expect([code, `${stdout}${stderr}`]).toEqual([2, expect.stringContaining(message)]);
});
