import type { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { UsageError } from '../model/storeferry-error.ts';
import { buildServer, createFaults, createRequestCounts, type RequestCounts } from './build-server.ts';
import {
  type ContactTable,
  contactAnswer,
  contactBody,
  contactRoutes,
  openContactTable,
} from './contact-routes.ts';
import { extendedRoutes, openCategoryTable, pageQuery } from './extended-routes.ts';
import { numberColumn, openDatabase, textColumn } from './open-database.ts';
import {
  openProductTable,
  type ProductTable,
  productAnswer,
  productBody,
  productRoutes,
} from './product-routes.ts';
import type { Profile } from './profiles.ts';
import { answer, type Route, route, withQuery } from './route.ts';
import { type SeedSize, seedDatabase, seededRandom } from './seed-database.ts';

/** A subscriber list as it is answered (storefront-api.md, section 2, Subscriber list). */
const listAnswer = z.strictObject({
  id: z.int(),
  name: z.string(),
  created: z.int().meta({ description: 'Unix timestamp in seconds.' }),
  subscribers: z.int(),
  opens: z.number().min(0).max(1),
  clicks: z.number().min(0).max(1),
});

/** storefront-api.md, section 4.3: a bare array, whatever `limit` and `skip` say. */
function listRoutes(database: DatabaseSync): Route[] {
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
    route('GET', '/api/site/subscriber-lists', 'All subscriber lists, by id', 'SubscriberList[]', () =>
      answer(200, all.all()),
    ),
  ];
}

const errorBody = z.strictObject({ success: z.literal(false), message: z.string() });
const deleteResult = z.strictObject({ success: z.literal(true), message: z.literal('') });
const orderPage = z.strictObject({
  items: z.array(z.looseObject({ id: z.int() })),
  totalCount: z.int(),
  limit: z.int(),
  skip: z.int(),
});

/** The OpenAPI 3.1 document of the routes; its schemas are made of those that check the requests. */
function openApiDocument(routes: readonly Route[]): Readonly<Record<string, unknown>> {
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
      schemas: {
        ProductRequest: jsonSchema(productBody),
        Product: jsonSchema(productAnswer),
        ContactRequest: jsonSchema(contactBody),
        Contact: jsonSchema(contactAnswer),
        SubscriberList: jsonSchema(listAnswer),
        OrderPage: jsonSchema(orderPage),
        DeleteResult: jsonSchema(deleteResult),
        RequestCounts: { type: 'object' },
        Any: {},
        Error: jsonSchema(errorBody),
      },
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

/** storefront-api.md, sections 4.5 and 8: orders are seeded, and only read. */
function orderRoutes(database: DatabaseSync): Route[] {
  const readPage = openPages(database);
  const read: Route['handle'] = (call) =>
    withQuery(pageQuery, call, ({ limit, skip }) => ({ status: 200, json: readPage(limit, skip) }));
  return [
    route('GET', '/api/site/orders', 'A page of orders, newest first', 'OrderPage', read, {
      query: pageQuery,
    }),
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

export interface SandboxOptions {
  /** 0: any free port. */
  readonly port: number;
  /** The address to listen on; default: loopback. */
  readonly host?: string;
  /** The folder that keeps what the store holds; in memory, gone at close, when absent. */
  readonly dataDir?: string | undefined;
  /** The key every request must carry. */
  readonly apiKey: string;
  /** Share of requests answered with 503, 0 to 1; half of them are applied all the same. Default 0. */
  readonly failRate?: number;
  /** How long each answer is held back. Default 0. */
  readonly latencyMs?: number;
  /** More requests in a second are answered with 429 and `Retry-After`. Default: no limit. */
  readonly requestsPerSecond?: number | undefined;
  /** Of the chance that picks the failing requests: the same seed fails the same ones. Default 1. */
  readonly seed?: number;
  /** Milliseconds since the epoch, for `requestsPerSecond`. Default `Date.now`. */
  readonly clock?: (() => number) | undefined;
  /** How the store differs from the document. Default: not at all. */
  readonly profiles?: readonly Profile[] | undefined;
  /** What a new store holds besides the subscriber lists. Default: 320 contacts, 240 orders. */
  readonly seedSize?: Partial<SeedSize>;
}

/** A running sandbox. */
interface Sandbox {
  /** The base URL: `http://127.0.0.1:4010`. */
  readonly url: string;
  /** Ends connections and closes the database. */
  close(): Promise<void>;
}

/**
 * Starts the storefront service of storefront-api.md, to rehearse against. How it decides what the document leaves
 * open is written in README.md beside this file.
 *
 * @throws UsageError for options that cannot be; LockedError or StateError when the data folder cannot be used.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  refuseBadOptions(options);
  const { host = '127.0.0.1', seedSize, clock = Date.now, seed = 1, failRate = 0, latencyMs = 0 } = options;
  const database = openDatabase(options.dataDir, (empty) =>
    seedDatabase(empty, { contacts: seedSize?.contacts ?? 320, orders: seedSize?.orders ?? 240 }),
  );
  const profiles = new Set(options.profiles);
  const categories = profiles.has('extended') ? openCategoryTable(database) : undefined;
  const products = openProductTable(database, { profiles, storeCategories: categories?.store });
  const contacts = openContactTable(database, profiles);
  const counts = createRequestCounts();
  const documented = [
    ...productRoutes(products, profiles),
    ...contactRoutes(contacts, profiles),
    ...listRoutes(database),
    ...orderRoutes(database),
  ];
  const extended =
    categories === undefined ? [] : extendedRoutes({ database, products, contacts, categories, now: clock });
  const isExtended = ({ method, path }: Route) =>
    extended.some((route) => route.method === method && route.path === path);
  const routes = [
    ...documented.filter((route) => !isExtended(route)),
    ...extended,
    ...inspectionRoutes(products, contacts, counts),
  ];
  const { requestsPerSecond } = options;
  const nextFault = createFaults({ failRate, requestsPerSecond, random: seededRandom(seed), now: clock });
  const openApi = openApiDocument(routes);
  const server = buildServer({ routes, openApi, apiKey: options.apiKey, nextFault, latencyMs, counts });
  server.addHook('onClose', async () => database.close());

  try {
    const url = await server.listen({ port: options.port, host });
    return { url, close: () => server.close() };
  } catch (error) {
    await server.close();
    const why = String(error).includes('EADDRINUSE') ? 'the port is in use' : String(error);
    throw new UsageError(`The sandbox cannot listen on ${host}:${options.port}: ${why}.`, {
      cause: error,
      hint: 'Name another port with --port.',
    });
  }
}

function refuseBadOptions({ apiKey, failRate = 0, latencyMs = 0, requestsPerSecond }: SandboxOptions): void {
  if (!/^\S+$/.test(apiKey)) throw new UsageError('The API key must not be empty or contain spaces');
  if (!(failRate >= 0 && failRate <= 1)) throw new UsageError('The fail rate must be between 0 and 1');
  if (!(latencyMs >= 0)) throw new UsageError('The latency must not be below 0 ms');
  if (requestsPerSecond !== undefined && !(requestsPerSecond > 0))
    throw new UsageError('The requests per second must be more than 0');
}

/** What the sandbox shows of itself; no part of the storefront API, so no fault is injected here. */
function inspectionRoutes(products: ProductTable, contacts: ContactTable, counts: RequestCounts): Route[] {
  const all = (name: string, schema: string, batches: () => Iterable<readonly string[]>) =>
    route('GET', `/_sandbox/${name}`, `All ${name}, by id`, schema, () => ({
      status: 200,
      json: arrayPieces(batches()),
    }));
  return [
    all('products', 'Product[]', products.batches),
    all('contacts', 'Contact[]', contacts.batches),
    route(
      'GET',
      '/_sandbox/requests',
      'How many requests to /api/ were answered since the start, in all, by route, status and fault',
      'RequestCounts',
      () => answer(200, counts.read()),
    ),
  ];
}

/** A JSON array in pieces of a batch each, so that a large store is never held in memory as a whole. */
function* arrayPieces(batches: Iterable<readonly string[]>): Iterable<string> {
  let separator = '[';
  for (const batch of batches) {
    yield separator + batch.join(',');
    separator = ',';
  }
  yield separator === '[' ? '[]' : ']';
}
