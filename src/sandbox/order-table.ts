import type { DatabaseSync } from 'node:sqlite';
import { numberColumn, textColumn } from './column.ts';

/** The orders of the sandbox: seeded, and only read. */
export interface OrderTable {
  /** One page as the JSON text of the pagination envelope (storefront-api.md, section 2), newest order first. */
  page(limit: number, skip: number): string;
}

/** Statements over the orders of an open database. */
export function openOrderTable(database: DatabaseSync): OrderTable {
  const page = database.prepare('SELECT body FROM orders ORDER BY id DESC LIMIT ? OFFSET ?');
  const count = database.prepare('SELECT count(*) AS total FROM orders');

  return {
    page(limit, skip) {
      const items = page.all(limit, skip).map((row) => textColumn(row, 'body'));
      const totalCount = numberColumn(count.get() ?? {}, 'total');
      return `{"items":[${items.join(',')}],"totalCount":${totalCount},"limit":${limit},"skip":${skip}}`;
    },
  };
}
