import { z } from 'zod';
import { contactAnswer, contactBody } from './contact-routes.ts';
import { listAnswer } from './list-routes.ts';
import { productAnswer, productBody } from './product-routes.ts';
import type { Route } from './route.ts';

const errorBody = z.strictObject({ success: z.literal(false), message: z.string() });
const deleteResult = z.strictObject({ success: z.literal(true), message: z.literal('') });
const orderPage = z.strictObject({
  items: z.array(z.looseObject({ id: z.int() })),
  totalCount: z.int(),
  limit: z.int(),
  skip: z.int(),
});

/** The OpenAPI 3.1 document of the routes; its schemas are made of those that check the requests. */
export function openApiDocument(routes: readonly Route[]): Readonly<Record<string, unknown>> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(route) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Storeferry sandbox: Storefront Management API',
      version: '1',
      description: 'The documented API, for tests, and the data of the sandbox under `/_sandbox/`.',
    },
    servers: [{ url: '/' }],
    security: [{ apiKey: [] }],
    paths,
    components: {
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer' } },
      responses: {
        Error: {
          description: 'Refused (4xx) or failed (5xx).',
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
        },
      },
      schemas: {
        ProductRequest: jsonSchema(productBody),
        Product: jsonSchema(productAnswer),
        ContactRequest: jsonSchema(contactBody),
        Contact: jsonSchema(contactAnswer),
        SubscriberList: jsonSchema(listAnswer),
        OrderPage: jsonSchema(orderPage),
        DeleteResult: jsonSchema(deleteResult),
        Error: jsonSchema(errorBody),
      },
    },
  };
}

function operation({
  path,
  operation: { parameters, responses, ...rest },
}: Route): Readonly<Record<string, unknown>> {
  const fromPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'integer' },
  }));
  const fromQuery = Array.isArray(parameters) ? parameters : [];
  const all = [...fromPath, ...fromQuery];
  return {
    ...rest,
    ...(all.length > 0 && { parameters: all }),
    responses: {
      ...(typeof responses === 'object' ? responses : {}),
      default: { $ref: '#/components/responses/Error' },
    },
  };
}

function jsonSchema(schema: z.ZodType): unknown {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input' });
  return rest;
}
