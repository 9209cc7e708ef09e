import { z } from 'zod';
import { check } from './check.ts';
import type { OrderTable } from './order-table.ts';
import { type Call, jsonContent, type Route, refuse } from './route.ts';

const LIMIT_RANGE = 'expected a whole number from 1 to 50';
const wholeNumber = z.string().regex(/^[0-9]{1,15}$/, 'expected a whole number, not below 0');
const pageQuery = z.object({
  limit: wholeNumber
    .default('30')
    .transform(Number)
    .pipe(z.number().min(1, LIMIT_RANGE).max(50, LIMIT_RANGE)),
  skip: wholeNumber.default('0').transform(Number),
});

/** storefront-api.md, sections 4.5 and 8. */
export function orderRoutes(orders: OrderTable): Route[] {
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
        return { status: 200, json: orders.page(page.value.limit, page.value.skip) };
      },
    },
  ];
}
