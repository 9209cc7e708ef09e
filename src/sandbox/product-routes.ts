import { z } from 'zod';
import { check } from './check.ts';
import { productBody } from './product-body.ts';
import type { ProductTable } from './product-table.ts';
import { answer, type Call, idOf, jsonContent, type Route, refuse } from './route.ts';

const createQuery = z.object({
  update_existing_product_by_url: z.enum(['true', 'false']).default('false'),
});

const deleteAnswer = { success: true, message: '' };

/** storefront-api.md, sections 4.1 and 4.4. */
export function productRoutes(products: ProductTable): Route[] {
  return [
    {
      method: 'POST',
      path: '/api/site/products',
      operation: {
        operationId: 'createProduct',
        summary: 'Create a product, or update the one that has its url',
        parameters: [
          {
            name: 'update_existing_product_by_url',
            in: 'query',
            description: 'When true and a product with the same url exists, that product is updated.',
            schema: { type: 'boolean', default: false },
          },
        ],
        requestBody: { required: true, ...jsonContent({ $ref: '#/components/schemas/ProductRequest' }) },
        responses: {
          200: { description: 'Updated.', ...jsonContent({ $ref: '#/components/schemas/Product' }) },
          201: { description: 'Created.', ...jsonContent({ $ref: '#/components/schemas/Product' }) },
        },
      },
      handle(call: Call) {
        const query = check(createQuery, call.query, 'query');
        if ('message' in query) return refuse(422, query.message);
        const body = check(productBody, call.body, 'body');
        if ('message' in body) return refuse(422, body.message);
        const byUrl = query.value.update_existing_product_by_url === 'true';
        const { created, json } = byUrl ? products.upsert(body.value) : products.create(body.value);
        return { status: created ? 201 : 200, json };
      },
    },
    {
      method: 'DELETE',
      path: '/api/site/products/:id',
      operation: {
        operationId: 'deleteProduct',
        summary: 'Delete a product',
        responses: {
          200: { description: 'Deleted.', ...jsonContent({ $ref: '#/components/schemas/DeleteResult' }) },
        },
      },
      handle(call: Call) {
        const id = idOf(call);
        const removed = id !== undefined && products.remove(id);
        return removed ? answer(200, deleteAnswer) : refuse(404, 'Resource not found: no such product');
      },
    },
  ];
}
