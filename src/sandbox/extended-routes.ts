import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { type ContactTable, contactBody } from './contact-routes.ts';
import { bodyColumn, numberColumn } from './open-database.ts';
import { changedProductBody, type ProductTable, type SentCategory } from './product-routes.ts';
import {
  type Answer,
  answer,
  answerDelete,
  answerRecord,
  notFoundAnswer,
  type Route,
  route,
  withBody,
  withQuery,
} from './route.ts';

const LIMIT_RANGE = 'expected a whole number from 1 to 50';
const wholeNumber = z.string().regex(/^[0-9]{1,15}$/, 'expected a whole number, not below 0');

/** `limit` and `skip` (storefront-api.md, section 8). */
export const pageQuery = z.object({
  limit: wholeNumber
    .default('30')
    .transform(Number)
    .pipe(z.number().min(1, LIMIT_RANGE).max(50, LIMIT_RANGE)),
  skip: wholeNumber.default('0').transform(Number),
});

const periodQuery = pageQuery.extend({
  created_at_min: wholeNumber.default('0').transform(Number),
  created_at_max: wholeNumber.default('999999999999999').transform(Number),
});

const productQuery = pageQuery.extend({
  title: z.string().optional(),
  category_id: wholeNumber.transform(Number).optional(),
});
const emailQuery = z.object({ email: z.string().min(1) });
const parentQuery = z.object({ parent: wholeNumber.transform(Number).optional() });
const newContact = contactBody.extend({ email: z.string().min(1) });
const listName = z.strictObject({ name: z.string().min(1) });
const changedOrder = z.looseObject({
  status: z.enum(['PENDING', 'SHIPPED', 'COMPLETED', 'CANCELED', 'ARCHIVED']).optional(),
  notifyCustomer: z.boolean().optional(),
});
const webhook = z.strictObject({
  target: z.url(),
  events: z.array(z.string()).min(1),
  secret: z.string().optional(),
});

/** What the extended routes serve. */
interface ExtendedParts {
  readonly database: DatabaseSync;
  readonly products: ProductTable;
  readonly contacts: ContactTable;
  readonly categories: CategoryTable;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * The endpoints that stores are seen to have beyond the document: reads of products, contacts, categories and orders,
 * contacts created or updated by their e-mail address, updates by id, lists and webhooks.
 */
export function extendedRoutes({ database, products, contacts, categories, now }: ExtendedParts): Route[] {
  const orderById = database.prepare("SELECT body FROM orders WHERE body ->> '$.id' = ?");
  const ordersPage = openOrderPages(database);
  const updateOrder = database.prepare("UPDATE orders SET body = ? WHERE body ->> '$.id' = ?");
  const listById = database.prepare(
    'SELECT id, name, created, 0 AS subscribers, opens, clicks FROM lists WHERE id = ?',
  );
  const addList = database.prepare(
    'INSERT INTO lists (name, created, opens, clicks) VALUES (?, ?, 0, 0) RETURNING id',
  );
  const nameList = database.prepare('UPDATE lists SET name = ? WHERE id = ?');
  const removeList = database.prepare('DELETE FROM lists WHERE id = ?');
  const webhooks = new Map<number, z.infer<typeof webhook>>();
  const seconds = () => Math.floor(now() / 1_000);
  const order = (id: number) => {
    const row = orderById.get(id);
    return row === undefined ? undefined : bodyColumn(row);
  };

  return [
    route('GET', '/api/site/products', 'A page of products', 'Any', (call) =>
      withQuery(productQuery, call, ({ limit, skip, title, category_id }) =>
        page(products.find(title, category_id), limit, skip),
      ),
    ),
    route('GET', '/api/site/products/categories', 'The categories', 'Any[]', (call) =>
      withQuery(parentQuery, call, ({ parent }) => answer(200, categories.list(parent))),
    ),
    route('GET', '/api/site/products/:id', 'One product', 'Any', (call) => answerRecord(call, products.read)),
    route('PUT', '/api/site/products/:id', 'Set fields of a product', 'Any', (call) =>
      withBody(changedProductBody, call, (body) => answerRecord(call, (id) => products.updateById(id, body))),
    ),
    route('GET', '/api/site/contacts', 'A page of contacts', 'Any', (call) =>
      withQuery(periodQuery, call, ({ limit, skip, created_at_min, created_at_max }) =>
        page(contacts.createdBetween(created_at_min, created_at_max), limit, skip),
      ),
    ),
    route(
      'POST',
      '/api/site/contacts',
      'Create a contact, or update the one with this e-mail',
      'Any',
      (call) =>
        withBody(newContact, call, (body) => {
          const known = contacts.findByEmail(body.email);
          return known === undefined
            ? { status: 201, json: contacts.add(body, seconds()) }
            : { status: 200, json: contacts.update(known.id, body) ?? known.json };
        }),
    ),
    route('GET', '/api/site/contacts/search-by-email', 'The contact with an e-mail address', 'Any', (call) =>
      withQuery(emailQuery, call, ({ email }) => {
        const known = contacts.findByEmail(email);
        return known === undefined ? notFoundAnswer() : { status: 200, json: known.json };
      }),
    ),
    route('GET', '/api/site/contacts/:id', 'One contact', 'Any', (call) => answerRecord(call, contacts.read)),
    route('DELETE', '/api/site/contacts/:id', 'Delete a contact', 'DeleteResult', (call) =>
      answerDelete(call, contacts.remove),
    ),
    route('GET', '/api/site/orders', 'A page of orders, newest first', 'Any', (call) =>
      withQuery(periodQuery, call, ({ limit, skip, created_at_min, created_at_max }) =>
        ordersPage(limit, skip, created_at_min, created_at_max),
      ),
    ),
    route('GET', '/api/site/orders/:id', 'One order', 'Any', (call) => answerRecord(call, order)),
    route('PUT', '/api/site/orders/:id', 'Set fields of an order', 'Any', (call) =>
      withBody(changedOrder, call, ({ notifyCustomer: _notify, status, ...fields }) =>
        answerRecord(call, (id) => {
          const stored = order(id);
          if (stored === undefined) return undefined;
          const changed = { ...fields, ...(status !== undefined && { status: status.toLowerCase() }) };
          const json = JSON.stringify({ ...JSON.parse(stored), ...changed });
          updateOrder.run(json, id);
          return json;
        }),
      ),
    ),
    route('POST', '/api/site/subscriber-lists', 'Create a list', 'Any', (call) =>
      withBody(listName, call, ({ name }) => {
        const { id = 0 } = addList.get(name, seconds()) ?? {};
        return answer(201, listById.get(id));
      }),
    ),
    route('GET', '/api/site/subscriber-lists/:id', 'One list', 'Any', (call) =>
      answerRecord(call, (id) => jsonOfRow(listById.get(id))),
    ),
    route('PUT', '/api/site/subscriber-lists/:id', 'Name a list', 'Any', (call) =>
      withBody(listName, call, ({ name }) =>
        answerRecord(call, (id) => {
          nameList.run(name, id);
          return jsonOfRow(listById.get(id));
        }),
      ),
    ),
    route('DELETE', '/api/site/subscriber-lists/:id', 'Delete a list', 'DeleteResult', (call) =>
      answerDelete(call, (id) => removeList.run(id).changes > 0),
    ),
    route('GET', '/api/site/webhooks', 'The webhooks, which the sandbox never calls', 'Any[]', () =>
      answer(
        200,
        [...webhooks].map(([id, { secret: _secret, ...hook }]) => ({ id, ...hook })),
      ),
    ),
    route('POST', '/api/site/webhooks', 'Register a webhook', 'Any', (call) =>
      withBody(webhook, call, ({ secret, ...hook }) => {
        const id = Math.max(0, ...webhooks.keys()) + 1;
        webhooks.set(id, { secret, ...hook });
        return answer(201, { id, ...hook });
      }),
    ),
    route('DELETE', '/api/site/webhooks/:id', 'Remove a webhook', 'DeleteResult', (call) =>
      answerDelete(call, (id) => webhooks.delete(id)),
    ),
  ];
}

/** The categories of the store. */
type CategoryTable = ReturnType<typeof openCategoryTable>;

const SEED_CATEGORIES = ['Kitchen', 'Clothing', 'Prints'];

/** Opens the categories: seeded, and added to where a product names a new one. */
export function openCategoryTable(database: DatabaseSync) {
  database.exec(
    'CREATE TABLE IF NOT EXISTS categories (id INTEGER PRIMARY KEY, name TEXT NOT NULL, url TEXT NOT NULL, parentCategory INTEGER NOT NULL) STRICT',
  );
  const all = database.prepare(
    'SELECT * FROM categories WHERE ?1 IS NULL OR parentCategory = ?1 ORDER BY id',
  );
  const known = database.prepare(
    'SELECT * FROM categories WHERE id = ?1 OR (name = ?2 AND url = coalesce(?3, url)) ORDER BY id = ?1 DESC, id',
  );
  const insert = database.prepare(
    'INSERT INTO categories (name, url, parentCategory) VALUES (?, ?, ?) RETURNING *',
  );
  const add = (name: string, url: string | undefined, parent: number) =>
    insert.get(name, url ?? name.toLowerCase().replaceAll(/\W+/g, '-'), parent);
  if (all.get(null) === undefined) for (const name of SEED_CATEGORIES) add(name, undefined, 0);

  return {
    list: (parent: number | undefined): readonly unknown[] => all.all(parent ?? null),
    /** The categories of a product as they are kept; a number that is no id is left out. */
    store: (sent: readonly SentCategory[]): readonly unknown[] =>
      sent.flatMap((entry) => {
        const { id, name, url, parentCategory } = typeof entry === 'number' ? { id: entry } : entry;
        const found =
          known.get(id ?? null, name ?? null, url ?? null) ?? (name && add(name, url, parentCategory ?? 0));
        return found ? [found] : [];
      }),
  };
}

/** Reads pages of the orders that were created in a period, in seconds, newest order first. */
export function openOrderPages(database: DatabaseSync) {
  const inPeriod = "FROM orders WHERE body ->> '$.created' BETWEEN ? AND ?";
  const select = database.prepare(`SELECT body ${inPeriod} ORDER BY id DESC LIMIT ? OFFSET ?`);
  const count = database.prepare(`SELECT count(*) AS total ${inPeriod}`);
  return (limit: number, skip: number, from = 0, to = Number.MAX_SAFE_INTEGER): Answer => {
    const items = select.all(from, to, limit, skip).map(bodyColumn);
    return envelope(items, numberColumn(count.get(from, to) ?? {}, 'total'), limit, skip);
  };
}

function page(items: readonly string[], limit: number, skip: number): Answer {
  return envelope(items.slice(skip, skip + limit), items.length, limit, skip);
}

/** A page in the pagination envelope (storefront-api.md, section 2). */
function envelope(items: readonly string[], totalCount: number, limit: number, skip: number): Answer {
  return {
    status: 200,
    json: `{"items":[${items.join()}],"totalCount":${totalCount},"limit":${limit},"skip":${skip}}`,
  };
}

function jsonOfRow(row: object | undefined) {
  return row === undefined ? undefined : JSON.stringify(row);
}
