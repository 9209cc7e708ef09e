import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { numberColumn, textColumn } from './open-database.ts';
import { type Call, check, jsonContent, type Route, refuse } from './route.ts';

const LIMIT_RANGE = 'expected a whole number from 1 to 50';
const wholeNumber = z.string().regex(/^[0-9]{1,15}$/, 'expected a whole number, not below 0');
const pageQuery = z.object({
  limit: wholeNumber
    .default('30')
    .transform(Number)
    .pipe(z.number().min(1, LIMIT_RANGE).max(50, LIMIT_RANGE)),
  skip: wholeNumber.default('0').transform(Number),
});

/** storefront-api.md, sections 4.5 and 8: orders are seeded, and only read. */
export function orderRoutes(database: DatabaseSync): Route[] {
  const readPage = openPages(database);
  return [
    {
      method: 'GET',
      path: '/api/site/orders',
      operation: {
        operationId: 'listOrders',
        summary: 'A page of orders, newest first',
        parameters: [
          { name: 'limit', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 50, default: 30 } },
          { name: 'skip', in: 'query', schema: { type: 'integer', minimum: 0, default: 0 } },
        ],
        responses: {
          200: { description: 'The page.', ...jsonContent({ $ref: '#/components/schemas/OrderPage' }) },
        },
      },
      handle(call: Call) {
        const page = check(pageQuery, call.query, 'query');
        if ('message' in page) return refuse(422, page.message);
        return { status: 200, json: readPage(page.value.limit, page.value.skip) };
      },
    },
  ];
}

/** Reads a page as the JSON text of the pagination envelope (storefront-api.md, section 2), newest order first. */
function openPages(database: DatabaseSync): (limit: number, skip: number) => string {
  const page = database.prepare('SELECT body FROM orders ORDER BY id DESC LIMIT ? OFFSET ?');
  const count = database.prepare('SELECT count(*) AS total FROM orders');
  return (limit, skip) => {
    const items = page.all(limit, skip).map((row) => textColumn(row, 'body'));
    const totalCount = numberColumn(count.get() ?? {}, 'total');
    return `{"items":[${items.join(',')}],"totalCount":${totalCount},"limit":${limit},"skip":${skip}}`;
  };
}
