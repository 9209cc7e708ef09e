import type { DatabaseSync } from 'node:sqlite';
import { numberColumn, textColumn } from './column.ts';
import type { ProductBody } from './product-body.ts';

/** Everything the service holds on a product but its id, as one JSON object. */
type StoredProduct = Readonly<Record<string, unknown>>;

/** A product as JSON text, and whether it is new. */
export interface SavedProduct {
  readonly created: boolean;
  readonly json: string;
}

/** The products of the sandbox. `url` is unique; a product is saved whole or not at all. */
export interface ProductTable {
  /** Updates the product that has the body's url, or creates one. */
  upsert(body: ProductBody): SavedProduct;
  /** Creates a product; its url gets a number appended when it is taken, and is made of the title when absent. */
  create(body: ProductBody): SavedProduct;
  /** False when there is no such product. */
  remove(id: number): boolean;
  /** JSON texts of all products, by id, in batches. */
  batches(): Iterable<readonly string[]>;
}

const BATCH_SIZE = 500;
/** Answers always carry a period unit (storefront-api.md, section 2); requests may leave it out. */
const DEFAULT_PERIOD_UNIT = 'MONTHLY';

/** Products as answered carry these when nothing was sent for them. */
const DEFAULTS = {
  type: 'physical',
  title: '',
  description: '',
  url: '',
  hidden: false,
  images: [],
  categories: [],
  options: [],
  variants: [],
} as const;

/** Statements over the products of an open database. */
export function openProductTable(database: DatabaseSync): ProductTable {
  const byUrl = database.prepare('SELECT id, body FROM products WHERE url = ?');
  const insert = database.prepare('INSERT INTO products (url, body) VALUES (?, ?)');
  const update = database.prepare('UPDATE products SET body = ? WHERE id = ?');
  const remove = database.prepare('DELETE FROM products WHERE id = ?');
  const after = database.prepare(
    `SELECT id, body FROM products WHERE id > ? ORDER BY id LIMIT ${BATCH_SIZE}`,
  );

  function add(body: ProductBody, url: string): SavedProduct {
    const json = JSON.stringify({ ...DEFAULTS, ...storable(body), url });
    const { lastInsertRowid } = insert.run(url, json);
    return { created: true, json: withId(Number(lastInsertRowid), json) };
  }

  function freeUrl(wanted: string): string {
    let url = wanted;
    for (let number = 2; byUrl.get(url) !== undefined; number += 1) url = `${wanted}-${number}`;
    return url;
  }

  return {
    // The look-up and the write are one step because nothing awaits between them and the database is ours alone
    // (exclusive lock); the unique index would refuse a second product of the url even so.
    upsert(body) {
      const row = body.url === undefined ? undefined : byUrl.get(body.url);
      if (row === undefined) return add(body, freeUrl(body.url ?? urlFromTitle(body.title)));
      const id = numberColumn(row, 'id');
      const stored: StoredProduct = JSON.parse(textColumn(row, 'body'));
      const json = JSON.stringify({ ...stored, ...storable(body) });
      update.run(json, id);
      return { created: false, json: withId(id, json) };
    },
    create: (body) => add(body, freeUrl(body.url ?? urlFromTitle(body.title))),
    remove: (id) => remove.run(id).changes > 0,
    *batches() {
      let last = 0;
      for (;;) {
        const rows = after.all(last);
        const lastRow = rows.at(-1);
        if (lastRow === undefined) return;
        last = numberColumn(lastRow, 'id');
        yield rows.map((row) => withId(numberColumn(row, 'id'), textColumn(row, 'body')));
      }
    },
  };
}

function storable({ id: _ignored, subscription, ...body }: ProductBody): StoredProduct {
  if (subscription === undefined) return body;
  const periodUnit = subscription.periodUnit?.toUpperCase() ?? DEFAULT_PERIOD_UNIT;
  return { ...body, subscription: { ...subscription, periodUnit } };
}

function withId(id: number, json: string): string {
  return `{"id":${id},${json.slice(1)}`;
}

function urlFromTitle(title: string): string {
  const words = title.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu);
  return words?.join('-') ?? 'product';
}
