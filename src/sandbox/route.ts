import { z } from 'zod';

/** A way in which a store differs from the document; `PROFILES` in start-sandbox.ts says how. */
export type ProfileName =
  | 'extended'
  | 'replace-whole'
  | 'clears-lists'
  | 'refuses-empty-put'
  | 'flattens-variants';

/** The profiles of a running sandbox. */
export type Profiles = ReadonlySet<ProfileName>;

/** A request as a route sees it: authorised, its body parsed as JSON. */
export interface Call {
  readonly params: Readonly<Record<string, string | undefined>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

/** What a route answers: a status and JSON, whole as text or in pieces. */
export interface Answer {
  readonly status: number;
  readonly json: string | Iterable<string>;
}

/** One method of one path, with what the OpenAPI document says of it. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** As the router has it: `/api/site/contacts/:id`. */
  readonly path: string;
  readonly summary: string;
  /** The name of the schema of its answer in the document; `Contact[]` for a list. */
  readonly answers: string;
  /** That of its body. */
  readonly takes?: string;
  readonly query?: z.ZodObject;
  handle(call: Call): Answer;
}

/** Defines a route. */
export function route(
  method: Route['method'],
  path: string,
  summary: string,
  answers: string,
  handle: Route['handle'],
  more: Pick<Route, 'takes' | 'query'> = {},
): Route {
  return { method, path, summary, answers, handle, ...more };
}

/** An answer whose JSON text is still to be made. */
export function answer(status: number, body: unknown): Answer {
  return { status, json: JSON.stringify(body) };
}

/** The error body of storefront-api.md, section 2. */
export function refusalAnswer(status: number, message: string): Answer {
  return answer(status, { success: false, message });
}

/** The id in a path, or undefined when it is no positive whole number that could be one. */
function idOf(call: Call) {
  const { id = '' } = call.params;
  return /^[0-9]{1,15}$/.test(id) ? Number(id) : undefined;
}

/** 404: the record of an address, or of a query, is not there. */
export function notFoundAnswer(): Answer {
  return refusalAnswer(404, 'Resource not found: no such record');
}

/** The record that a call names, as JSON text. */
export function answerRecord(call: Call, read: (id: number) => string | undefined): Answer {
  const id = idOf(call);
  const json = id === undefined ? undefined : read(id);
  return json === undefined ? notFoundAnswer() : { status: 200, json };
}

/** The answer to a delete of the record that a call names. */
export function answerDelete(call: Call, remove: (id: number) => boolean): Answer {
  const id = idOf(call);
  return id !== undefined && remove(id) ? answer(200, { success: true, message: '' }) : notFoundAnswer();
}

/** Handles a call whose body fits a schema. */
export function withBody<Value>(
  schema: z.ZodType<Value>,
  { body }: Call,
  handle: (value: Value) => Answer,
): Answer {
  return withInput(schema, body, 'body', handle);
}

/** Handles a call whose query fits a schema. */
export function withQuery<Value>(
  schema: z.ZodType<Value>,
  { query }: Call,
  handle: (value: Value) => Answer,
): Answer {
  return withInput(schema, query, 'query', handle);
}

const ISSUES_SHOWN = 5;

/** Checks input against a schema, and refuses what does not fit; `whole` names the input itself. Values are not quoted. */
function withInput<Value>(
  schema: z.ZodType<Value>,
  input: unknown,
  whole: string,
  handle: (value: Value) => Answer,
) {
  const { success, data, error } = schema.safeParse(input);
  if (success) return handle(data);
  const shown = error.issues.slice(0, ISSUES_SHOWN).map((issue) => {
    const place = pathText(issue.path) || whole;
    return `${place}: ${issue.message.replace(/^Invalid input: /, '')}`;
  });
  const more = error.issues.length - shown.length;
  return refusalAnswer(422, `${shown.join('; ')}${more > 0 ? `; and ${more} more` : ''}`);
}

/** `variants[2].price`. */
function pathText(path: readonly PropertyKey[]) {
  return path
    .map((step, index) =>
      typeof step === 'number' ? `[${step}]` : `${index === 0 ? '' : '.'}${String(step)}`,
    )
    .join('');
}

/** The OpenAPI 3.1 document of the routes; its schemas are made of those that check the requests. */
export function openApiDocument(
  routes: readonly Route[],
  schemas: Readonly<Record<string, z.ZodType>>,
): Readonly<Record<string, unknown>> {
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
        Error: { description: 'Refused (4xx) or failed (5xx).', ...contentOf('Error') },
      },
      schemas: Object.fromEntries(
        Object.entries(schemas).map(([name, schema]) => [name, jsonSchema(schema)]),
      ),
    },
  };
}

function operation({ method, path, summary, answers, takes, query }: Route) {
  const fromPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'integer' },
  }));
  const { properties = {} } = query === undefined ? {} : jsonSchema(query);
  const fromQuery = Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }));
  const parameters = [...fromPath, ...fromQuery];
  const answered = { description: 'Done.', ...contentOf(answers) };
  return {
    operationId: `${method.toLowerCase()}${path.replaceAll(/[/:_-][A-Za-z\d]?/g, (found) => found.slice(1).toUpperCase())}`,
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(takes !== undefined && { requestBody: { required: true, ...contentOf(takes) } }),
    responses: {
      200: answered,
      ...(method === 'POST' && { 201: answered }),
      default: { $ref: '#/components/responses/Error' },
    },
  };
}

/** A media type object of OpenAPI, with a schema of the document by its name. */
function contentOf(name: string) {
  const item = { $ref: `#/components/schemas/${name.replace('[]', '')}` };
  const schema = name.endsWith('[]') ? { type: 'array', items: item } : item;
  return { content: { 'application/json': { schema } } };
}

function jsonSchema(schema: z.ZodType) {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input' });
  return rest;
}
