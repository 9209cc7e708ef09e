import type { DatabaseSync, SQLInputValue } from 'node:sqlite';

type Row = Record<string, SQLInputValue>;
/** All rows of a database, by table. */
export type TableCopy = ReadonlyMap<string, readonly Row[]>;

function tablesOf(database: DatabaseSync): string[] {
  const tables = database.prepare(
    "SELECT name FROM sqlite_master WHERE type = 'table' AND (name NOT LIKE 'sqlite_%' OR name = 'sqlite_sequence')",
  );
  return tables.all().map(({ name }) => String(name));
}

/** Copies a database as a backup would, and puts copies back. */
export function tableCopies(database: DatabaseSync) {
  const tables = tablesOf(database).map((name) => ({
    name,
    select: database.prepare(`SELECT * FROM ${name}`),
    clear: database.prepare(`DELETE FROM ${name}`),
  }));
  return {
    copy: (): TableCopy => new Map(tables.map(({ name, select }) => [name, select.all()])),
    putBack(copy: TableCopy): void {
      database.exec('BEGIN');
      for (const { name, clear } of tables) {
        clear.run();
        for (const row of copy.get(name) ?? []) {
          const columns = Object.keys(row);
          const places = columns.map(() => '?').join(', ');
          database
            .prepare(`INSERT INTO ${name} (${columns.join(', ')}) VALUES (${places})`)
            .run(...Object.values(row));
        }
      }
      database.exec('COMMIT');
    },
  };
}
