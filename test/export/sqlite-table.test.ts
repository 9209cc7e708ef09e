import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import type { ExportJob } from '../../src/config/job/job.ts';
import { openDatabaseTable } from '../../src/export/writing/database-table.ts';
import { openExportFile } from '../../src/export/writing/export-file.ts';
import { shapeOf } from '../../src/export/writing/row-shape.ts';

const { signal } = new AbortController();
const TABLE = 'orders';

/** A SQLite file that is not there yet, and writing orders into its table. */
async function setup() {
  const dir = await mkdtemp(join(tmpdir(), 'storeferry-sqlite-'));
  const path = join(dir, 'shop.db');
  const open = (create: boolean) => openDatabaseTable({ path, table: TABLE, create }, { workspaceDir: dir });
  return {
    dir,
    path,
    open,
    async write(create: boolean, ...orders: readonly string[]) {
      const items = async function* () {
        yield orders;
      };
      const destination = { path, table: TABLE, mode: 'replace', format: 'csv' } as const;
      const shape = await shapeOf({ export: 'orders', destination }, '', items);
      return await (await open(create)).upsert({ items, shape, signal });
    },
    query(statement: string) {
      using database = new DatabaseSync(path);
      return database.prepare(statement).all();
    },
    [Symbol.asyncDispose]: () => rm(dir, { recursive: true, force: true }),
  };
}

it('refuses a number of which a column of SQLite would lose digits, and keeps all rows as they were', async () => {
  await using shop = await setup();
  await shop.write(true, '{ "id": 1, "transactionId": 123456789012345678, "total": 12.5 }');
  for (const [member, column] of [
    ['"transactionId": 12345678901234567890', 'transactionId'],
    ['"total": 1234567890123.4567', 'total'],
    ['"total": "none" }, { "id": 3, "total": 0.12345678901234567', 'total'],
  ] as const) {
    const orders = `{ "id": 2, ${member} }`.split(/(?<=}), /);
    await expect(shop.write(false, '{ "id": 1, "total": 7 }', ...orders)).rejects.toThrow(
      `The column ${column} keeps 15 digits`,
    );
  }
  await expect(shop.write(false, '{ "id": 2, "total": "007" }')).rejects.toThrow(
    'The column total is one of numbers, and a value begins with 0',
  );
  await shop.write(false, '{ "id": 4, "total": 12345678901234567 }', '{ "id": 5, "total": 0.1234567890000 }');
  const all =
    'SELECT id, CAST(total AS text) AS total, CAST(transactionId AS text) AS transactionId FROM orders';
  expect(shop.query(all)).toEqual([
    { id: 1, total: '12.5', transactionId: '123456789012345678' },
    { id: 4, total: '12345678901234567', transactionId: null },
    { id: 5, total: '0.123456789', transactionId: null },
  ]);
});

it('is made for its owner alone where the job says so, and else not at all', async () => {
  await using shop = await setup();
  expect(await (await shop.open(false)).exists(signal)).toBe(false);
  expect(await (await shop.open(true)).exists(signal)).toBe(false);
  await expect(shop.write(false, '{ "id": 1 }')).rejects.toThrow('there is no such file');
  expect(await readdir(shop.dir)).toEqual([]);
  await shop.write(true, '{ "id": 1 }');
  expect((await stat(shop.path)).mode & 0o777).toBe(0o600);
  expect(await (await shop.open(false)).exists(signal)).toBe(true);
});

it('repeats nothing of a row that a trigger refuses', async () => {
  await using shop = await setup();
  await shop.write(true, '{ "id": 1, "name": "Bo" }');
  shop.query("CREATE TRIGGER strict BEFORE INSERT ON orders BEGIN SELECT RAISE(ABORT, 'Anna Smith'); END");
  const refused = await shop
    .write(false, '{ "id": 2, "name": "Anna Smith" }')
    .catch((error: unknown) => error);
  expect(inspect(refused)).toContain('a trigger refuses a row');
  expect(inspect(refused)).not.toContain('Anna');
});

it('is locked by one name, whatever its schema and case are written like', async () => {
  await using shop = await setup();
  const lockOf = async (path: string, table: string) =>
    (await openDatabaseTable({ path, table }, { workspaceDir: shop.dir })).lockedAs;
  const lock = await lockOf(shop.path, 'orders');
  expect(await lockOf(shop.path, 'Orders')).toBe(lock);
  expect(await lockOf(shop.path, 'public.orders')).toBe(lock);
  expect(await lockOf(shop.path, 'items')).not.toBe(lock);
  expect(await lockOf(join(shop.dir, 'other.db'), 'orders')).not.toBe(lock);
});

it.each([
  ['a table', { table: TABLE, create: true, mode: 'append', format: 'csv' }],
  ['Parquet', { mode: 'replace', format: 'parquet' }],
] as const)('%s, read twice, counts what is written once', async (_name, destination) => {
  await using shop = await setup();
  const job: ExportJob = {
    kind: 'export',
    name: 'orders',
    export: 'orders',
    store: 'main',
    destination: { ...destination, path: shop.path },
    columns: [{ path: 'id', name: 'id' }],
  };
  const file = await openExportFile({ workspaceDir: shop.dir }, job, '2030-01-01T00:00:00.000Z');
  const items = async function* () {
    yield ['{ "id": 1 }', '{ "id": 2 }'];
    yield ['{ "id": 3 }'];
  };
  const counts: number[] = [];
  await file.write({
    items,
    readAt: '2030-01-01T00:00:00.000Z',
    signal,
    onProgress: (done) => counts.push(done),
  });
  expect(counts).toEqual([2, 3]);
});
