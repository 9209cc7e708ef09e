import { hash, timingSafeEqual } from 'node:crypto';
import type { Socket } from 'node:net';
import type { DatabaseSync } from 'node:sqlite';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
} from 'fastify';
import { z } from 'zod';
import { countUnder } from '../model/json-object.ts';
import {
  type ContactTable,
  contactAnswer,
  contactBody,
  contactRoutes,
  openContactTable,
} from './contact-routes.ts';
import { extendedRoutes, openCategoryTable, openOrderPages, pageQuery } from './extended-routes.ts';
import { openDatabase } from './open-database.ts';
import {
  openProductTable,
  type ProductTable,
  productAnswer,
  productBody,
  productRoutes,
} from './product-routes.ts';
import {
  type Answer,
  answer,
  openApiDocument,
  type ProfileName,
  type Route,
  refusalAnswer,
  route,
  withQuery,
} from './route.ts';
import { type Random, type SeedSize, seedDatabase, seededRandom } from './seed-database.ts';

/** A subscriber list as it is answered (storefront-api.md, section 2, Subscriber list). */
const listAnswer = z.strictObject({
  id: z.int(),
  name: z.string(),
  created: z.int().meta({ description: 'Unix timestamp in seconds.' }),
  subscribers: z.int(),
  opens: z.number().min(0).max(1),
  clicks: z.number().min(0).max(1),
});

const errorBody = z.strictObject({ success: z.literal(false), message: z.string() });
const deleteResult = z.strictObject({ success: z.literal(true), message: z.literal('') });
const orderPage = z.strictObject({
  items: z.array(z.looseObject({ id: z.int() })),
  totalCount: z.int(),
  limit: z.int(),
  skip: z.int(),
});

/** What a sandbox holds, and how it answers. */
export interface ServerOptions {
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
  readonly profiles?: readonly ProfileName[] | undefined;
  /** What a new store holds besides the subscriber lists. Default: 320 contacts, 240 orders. */
  readonly seedSize?: Partial<SeedSize>;
}

/** The server of a sandbox, which does not listen yet; closing it closes the database. LockedError or StateError when the data folder cannot be used. */
export function buildServer(options: ServerOptions): FastifyInstance {
  const { apiKey, dataDir, seedSize, clock = Date.now, seed = 1, failRate = 0, latencyMs = 0 } = options;
  const database = openDatabase(dataDir, (empty) =>
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
  const openApi = openApiDocument(routes, SCHEMAS);
  const server = httpServer({ routes, openApi, apiKey, nextFault, latencyMs, counts });
  server.addHook('onClose', async () => database.close());
  return server;
}

/** The names of the schemas in the document. */
const SCHEMAS = {
  ProductRequest: productBody,
  Product: productAnswer,
  ContactRequest: contactBody,
  Contact: contactAnswer,
  SubscriberList: listAnswer,
  OrderPage: orderPage,
  DeleteResult: deleteResult,
  RequestCounts: z.looseObject({}),
  Any: z.unknown(),
  Error: errorBody,
};

/** A product of 200 variants with a long description fits many times over. */
const BODY_LIMIT_BYTES = 8 * 1024 * 1024;
const JSON_TYPE = 'application/json; charset=utf-8';
const API_PREFIX = '/api/';

interface ServerParts {
  readonly routes: readonly Route[];
  /** Served at `/openapi.json`, the only path that needs no key. */
  readonly openApi: unknown;
  readonly apiKey: string;
  readonly nextFault: () => Fault;
  /** How long each answer under `/api/` is held back. */
  readonly latencyMs: number;
  readonly counts: RequestCounts;
}

/** Answers every failure with the error body of storefront-api.md, section 2. */
function httpServer(parts: ServerParts): FastifyInstance {
  const server = fastify({
    bodyLimit: BODY_LIMIT_BYTES,
    forceCloseConnections: true,
    // A malformed address is answered like an unknown one.
    frameworkErrors: (_error, _request, reply) =>
      send(reply, refusalAnswer(404, 'Resource not found: the address is malformed')),
    clientErrorHandler: answerBrokenRequest,
  });
  const parseJson = server.getDefaultJsonParser('error', 'error');
  server.removeAllContentTypeParsers();
  // A DELETE may say it is JSON and have no body; where a body is needed, its schema says so.
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (request, text, done) =>
    text.length === 0 ? done(null, undefined) : parseJson(request, text.toString(), done),
  );

  const isAuthentic = authenticator(parts.apiKey);
  server.addHook('onRequest', (request, reply, done) => {
    const refusal = gate(request, isAuthentic);
    if (refusal === undefined) done();
    else send(reply, refusal);
  });
  server.addHook('onResponse', (request, reply, done) => {
    const { method, url, routeOptions } = request;
    if (url.startsWith(API_PREFIX))
      parts.counts.count(`${method} ${routeOptions.url ?? 'elsewhere'}`, reply.statusCode);
    done();
  });
  server.setErrorHandler((error: FastifyError, _request, reply) => {
    const status = error.statusCode ?? 500;
    return send(reply, refusalAnswer(status, explain(status, error)));
  });

  const openApi = JSON.stringify(parts.openApi);
  server.get('/openapi.json', (_request, reply) => send(reply, { status: 200, json: openApi }));
  for (const route of parts.routes) addRoute(server, route, parts);
  addWrongMethods(server, parts.routes);
  return server;
}

/** The checks before every route but /openapi.json: the key is right, the address is known, and a request of the API has a User-Agent. */
function gate(request: FastifyRequest, isAuthentic: (header: string | undefined) => boolean) {
  if (request.routeOptions.url === '/openapi.json') return undefined;
  if (!isAuthentic(request.headers.authorization))
    return refusalAnswer(401, 'Unauthorized: send the API key as "Authorization: Bearer <API_KEY>"');
  if (request.is404) return refusalAnswer(404, 'Resource not found: no such address');
  if (request.url.startsWith(API_PREFIX) && !request.headers['user-agent']?.trim())
    return refusalAnswer(400, 'The User-Agent header is missing: every request names its client');
  return undefined;
}

function addRoute(server: FastifyInstance, route: Route, { nextFault, latencyMs, counts }: ServerParts) {
  const respond = (
    request: FastifyRequest<{ Params: Record<string, string>; Querystring: Record<string, unknown> }>,
  ) => route.handle({ params: request.params, query: request.query, body: request.body });
  const underApi = route.path.startsWith(API_PREFIX);

  server.route<{ Params: Record<string, string>; Querystring: Record<string, unknown> }>({
    method: route.method,
    url: route.path,
    async handler(request, reply) {
      if (!underApi) return send(reply, respond(request));
      const fault = nextFault();
      if (fault.kind !== 'none') counts.countFault(fault.kind);
      if (latencyMs > 0) await sleep(latencyMs);
      switch (fault.kind) {
        case 'none':
          return send(reply, respond(request));
        case 'too-many':
          reply.header('retry-after', fault.retryAfterSeconds);
          return send(reply, refusalAnswer(429, 'Too many requests: wait as long as Retry-After says'));
        case 'fail-before':
        case 'fail-after': {
          const when = fault.kind === 'fail-after' ? 'after' : 'before';
          if (when === 'after') respond(request);
          return send(
            reply,
            refusalAnswer(503, `The service is unavailable (injected ${when} the request was carried out)`),
          );
        }
        default:
          return fault satisfies never;
      }
    },
  });
}

/** The other methods of each path are answered with 405 before their body is read. */
function addWrongMethods(server: FastifyInstance, routes: readonly Route[]) {
  const methodsByPath = Map.groupBy(routes, (route) => route.path);
  for (const [url, known] of methodsByPath) {
    const allowed = known.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method]));
    server.route({
      method: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter(
        (name) => !allowed.includes(name),
      ),
      url,
      onRequest: (_request, reply) => {
        reply.header('allow', allowed.join(', '));
        send(reply, refusalAnswer(405, `Method not allowed: this address knows ${allowed.join(', ')}`));
      },
      handler: () => undefined,
    });
  }
}

function send(reply: FastifyReply, { status, json }: Answer): FastifyReply {
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  reply.code(status).type(JSON_TYPE);
  return reply.send(typeof json === 'string' ? json : Readable.from(json));
}

function explain(status: number, { message }: Error) {
  if (status === 413) return `The body is too large: at most ${BODY_LIMIT_BYTES} bytes`;
  if (status === 415) return 'The body must be sent with "Content-Type: application/json"';
  return status < 500 ? message : `The sandbox failed: ${message}`;
}

/** Answers bytes that are no HTTP request at all with the error body of storefront-api.md, section 2, and hangs up. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket) {
  if (error.code === 'ECONNRESET' || !socket.writable) return;
  const status =
    error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
  const body = JSON.stringify({ success: false, message: 'The request is not valid HTTP' });
  socket.end(
    [
      `HTTP/1.1 ${status}`,
      `Content-Type: application/json; charset=utf-8`,
      `Content-Length: ${body.length}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

/**
 * Whether an `Authorization` header carries the key as a bearer token (storefront-api.md, section 5). Compares
 * digests, so that the time taken reveals nothing of the key, not even its length.
 */
function authenticator(apiKey: string): (header: string | undefined) => boolean {
  const expected = digest(apiKey);
  return (header) => {
    const token = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1];
    return token !== undefined && timingSafeEqual(digest(token), expected);
  };
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer');
}

/** How many requests the API answered since the start; not kept over a restart. */
type RequestCounts = ReturnType<typeof createRequestCounts>;

/** Counts from zero. */
function createRequestCounts() {
  let total = 0;
  const routes = new Map<string, number>();
  const statuses = new Map<string, number>();
  const faults = new Map<string, number>();
  const add = (counts: Map<string, number>, name: string) => countUnder(counts, name);
  return {
    count(route: string, status: number) {
      total += 1;
      add(routes, route);
      add(statuses, String(status));
    },
    countFault: (kind: string) => add(faults, kind),
    read: () => ({
      total,
      routes: Object.fromEntries(routes),
      statuses: Object.fromEntries(statuses),
      faults: Object.fromEntries(faults),
    }),
  };
}

/** The fault injected into one request. */
type Fault =
  | { readonly kind: 'none' }
  /** 429 with `Retry-After` in whole seconds; nothing is applied. */
  | { readonly kind: 'too-many'; readonly retryAfterSeconds: number }
  /** 503; nothing is applied. */
  | { readonly kind: 'fail-before' }
  /** 503 after the request was applied; for a client it looks like `fail-before`. */
  | { readonly kind: 'fail-after' };

interface FaultOptions {
  /** Share of requests answered with 503, 0 to 1; half of them are applied all the same. */
  readonly failRate: number;
  /** Requests let through in a second, with a burst of as many (at least one); more are answered with 429. */
  readonly requestsPerSecond: number | undefined;
  readonly random: Random;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Decides the fault of each request in turn: a token bucket first, then chance. */
export function createFaults({ failRate, requestsPerSecond, random, now }: FaultOptions): () => Fault {
  const takeToken = requestsPerSecond === undefined ? () => 0 : tokenBucket(requestsPerSecond, now);
  return () => {
    const waitMs = takeToken();
    if (waitMs > 0) return { kind: 'too-many', retryAfterSeconds: Math.ceil(waitMs / 1000) };
    if (failRate === 0 || random() >= failRate) return { kind: 'none' };
    return { kind: random() < 0.5 ? 'fail-before' : 'fail-after' };
  };
}

/** Takes a token and gives 0, or gives the milliseconds until there will be one. */
function tokenBucket(perSecond: number, now: () => number) {
  const capacity = Math.max(1, perSecond);
  let tokens = capacity;
  let filledAt = now();
  return () => {
    const time = now();
    tokens = Math.min(capacity, tokens + (Math.max(0, time - filledAt) * perSecond) / 1000);
    filledAt = time;
    if (tokens < 1) return ((1 - tokens) * 1000) / perSecond;
    tokens -= 1;
    return 0;
  };
}

/** storefront-api.md, section 4.3: a bare array, whatever `limit` and `skip` say. */
function listRoutes(database: DatabaseSync) {
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

/** storefront-api.md, sections 4.5 and 8: orders are seeded, and only read. */
function orderRoutes(database: DatabaseSync) {
  const readPage = openOrderPages(database);
  const read: Route['handle'] = (call) =>
    withQuery(pageQuery, call, ({ limit, skip }) => readPage(limit, skip));
  return [
    route('GET', '/api/site/orders', 'A page of orders, newest first', 'OrderPage', read, {
      query: pageQuery,
    }),
  ];
}

/** What the sandbox shows of itself; no part of the storefront API, so no fault is injected here. */
function inspectionRoutes(products: ProductTable, contacts: ContactTable, counts: RequestCounts) {
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
