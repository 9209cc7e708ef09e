import type { ListTable } from './list-table.ts';
import { answer, jsonContent, type Route } from './route.ts';

/** storefront-api.md, section 4.3: a bare array, whatever `limit` and `skip` say. */
export function listRoutes(lists: ListTable): Route[] {
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
      handle: () => answer(200, lists.all()),
    },
  ];
}
