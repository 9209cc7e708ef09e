import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { answer, jsonContent, type Route } from './route.ts';

/** A subscriber list as it is answered (storefront-api.md, section 2, Subscriber list). */
export const listAnswer = z.strictObject({
  id: z.int(),
  name: z.string(),
  created: z.int().meta({ description: 'Unix timestamp in seconds.' }),
  subscribers: z.int(),
  opens: z.number().min(0).max(1),
  clicks: z.number().min(0).max(1),
});

/** storefront-api.md, section 4.3: a bare array, whatever `limit` and `skip` say. */
export function listRoutes(database: DatabaseSync): Route[] {
  // `subscribers` are the contacts that are subscribed and name the list.
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
  return [
    {
      method: 'GET',
      path: '/api/site/subscriber-lists',
      operation: {
        operationId: 'listSubscriberLists',
        summary: 'All subscriber lists',
        responses: {
          200: {
            description: 'The lists, by id.',
            ...jsonContent({ type: 'array', items: { $ref: '#/components/schemas/SubscriberList' } }),
          },
        },
      },
      handle: () => answer(200, all.all()),
    },
  ];
}
