import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';

/** A subscriber list as it is answered (storefront-api.md, section 2, Subscriber list). */
export const listAnswer = z.strictObject({
  id: z.int(),
  name: z.string(),
  created: z.int().meta({ description: 'Unix timestamp in seconds.' }),
  subscribers: z.int(),
  opens: z.number().min(0).max(1),
  clicks: z.number().min(0).max(1),
});

/** The subscriber lists of the sandbox. */
export interface ListTable {
  /** All lists, by id. `subscribers` are the contacts that are subscribed and name the list. */
  all(): unknown;
}

/** Statements over the subscriber lists of an open database. */
export function openListTable(database: DatabaseSync): ListTable {
  const all = database.prepare(`
    SELECT id, name, created, coalesce(members.subscribers, 0) AS subscribers, opens, clicks
    FROM lists LEFT JOIN (
      SELECT list.value AS list, count(DISTINCT contacts.id) AS subscribers
      FROM contacts, json_each(contacts.body, '$.subscriberLists') AS list
      WHERE contacts.body ->> '$.subscribed'
      GROUP BY list.value
    ) AS members ON members.list = lists.id
    ORDER BY id
  `);
  return { all: () => all.all() };
}
