import type { DatabaseSync } from 'node:sqlite';
import { makeContacts } from './make-contacts.ts';
import { makeOrders } from './make-orders.ts';
import { SEED_LISTS } from './seed-lists.ts';

/** How much a new sandbox holds before anything is sent to it. */
export interface SeedSize {
  readonly contacts: number;
  readonly orders: number;
}

/** Fills a new database with contacts, lists and orders; the store starts without products. */
export function seedDatabase(database: DatabaseSync, size: SeedSize): void {
  const insertContact = database.prepare('INSERT INTO contacts (id, body) VALUES (?, ?)');
  const insertList = database.prepare(
    'INSERT INTO lists (id, name, created, opens, clicks) VALUES (?, ?, ?, ?, ?)',
  );
  const insertOrder = database.prepare('INSERT INTO orders (body) VALUES (?)');

  const contacts = makeContacts(size.contacts);
  for (const contact of contacts) insertContact.run(contact.id, JSON.stringify(contact));
  for (const { id, name, created, opens, clicks } of SEED_LISTS)
    insertList.run(id, name, created, opens, clicks);
  for (const order of makeOrders(size.orders, contacts)) insertOrder.run(JSON.stringify(order));
}
