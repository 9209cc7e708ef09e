import { z } from 'zod';
import { API, type Endpoint, runSchema } from './endpoint.ts';

const problemSchema = z.strictObject({ title: z.string(), status: z.int(), detail: z.string() });

/** The OpenAPI 3.1 document of the endpoints, from the schemas that check the requests. */
export function openApiDocument(endpoints: readonly Endpoint[]): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: operationOf(endpoint) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Storeferry',
      version: '1',
      description:
        'Runs and their results, for programs. Each scope of a token includes those before it: view, operate, approve.',
    },
    servers: [{ url: API }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Run: schemaOf(runSchema), Problem: schemaOf(problemSchema) },
    },
  };
}

function operationOf({ method, path, scope, summary, query, body, takes, answer, status = 200 }: Endpoint) {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inQuery = Object.entries(query?.shape ?? {}).map(([name, schema]) => ({
    name,
    in: 'query',
    schema: schemaOf(schema),
  }));
  const key = {
    name: 'Idempotency-Key',
    in: 'header',
    schema: { type: 'string' },
    description:
      'Repeated with the same key, the request starts nothing again and is answered with the same run.',
  };
  const files = (types: readonly string[]) =>
    Object.fromEntries(types.map((type) => [type, { schema: { type: 'string' } }]));
  const json = (schema: object) => ({ 'application/json': { schema } });
  const content = body === undefined ? takes && files(takes) : json(schemaOf(body));
  return {
    operationId: `${method} ${path}`.replaceAll(/\W+/g, '-').replace(/-$/, ''),
    summary,
    description: `Scope: ${scope}.`,
    parameters: [...inPath, ...inQuery, ...(status === 202 ? [key] : [])],
    ...(content === undefined ? {} : { requestBody: { content } }),
    responses: {
      [status]: {
        description: status === 202 ? 'Stored: a worker will execute it.' : 'The answer.',
        content: 'safeParse' in answer ? json(schemaOf(answer)) : files(answer),
      },
      default: {
        description: 'Refused: why, and what to do.',
        content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
      },
    },
  };
}

function schemaOf(schema: z.core.$ZodType): object {
  if (schema === runSchema) return { $ref: '#/components/schemas/Run' };
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return rest;
}
