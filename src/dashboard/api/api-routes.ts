import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { includesRole, mayDo } from '../../model/action.ts';
import { RECORD_FORMATS, RECORD_OUTCOMES, type Run } from '../../model/run.ts';
import { NO_TOTALS, withoutPersonalData } from '../../report/run-facts.ts';
import { listedRun } from '../../report/run-summary.ts';
import { shownRejectsFile } from '../../run/report/read-stored-report.ts';
import { refuseExcess } from '../access/sign-in.ts';
import { openRecords, RUN_FILES, sendExport, sendRunFile, XLSX } from '../file-routes.ts';
import { refuseInvalidNames } from '../guard/guard-requests.ts';
import { notFoundError, PageError } from '../guard/page-error.ts';
import { keptRun, type RouteParts } from '../route-parts.ts';
import { runEvents } from '../run-feed.ts';
import {
  API_PREFIX,
  type Call,
  type Endpoint,
  FILE_TYPES,
  findRun,
  openApiDocument,
  parseInput,
  runSchema,
  scopeRefusal,
} from './endpoint.ts';

const BODY_LIMIT_BYTES = 64 * 1_024;
const RECORD_TYPES = {
  jsonl: 'application/x-ndjson',
  csv: 'text/csv',
  xlsx: XLSX,
  parquet: 'application/vnd.apache.parquet',
} as const satisfies Readonly<Record<(typeof RECORD_FORMATS)[number], string>>;
const recordsQuery = z.strictObject({
  outcome: z.enum(RECORD_OUTCOMES).exactOptional(),
  format: z.enum(RECORD_FORMATS).default('jsonl'),
});
const runsQuery = z.strictObject({
  job: z.string().exactOptional(),
  limit: z.coerce.number().int().min(1).max(1_000).default(20),
});

/**
 * The API for programs: what people do in the dashboard, by a token, with JSON. What begins a run is stored in the queue before it is
 * answered, under an id that follows from its `Idempotency-Key`: a worker executes it, though processes are killed, and
 * once, though it is asked again.
 */
export async function apiRoutes(
  app: FastifyInstance,
  parts: RouteParts,
  acting: readonly Endpoint[],
): Promise<void> {
  const { apiTokens, dashboard } = parts;
  const endpoints = [...readingEndpoints(parts, app), ...acting];
  const wrong = [
    app.createRateLimit({ max: 10, timeWindow: 5 * 60_000 }),
    app.createRateLimit({ max: 50, timeWindow: 5 * 60_000, keyGenerator: () => 'api' }),
  ];

  const readToken = async (request: FastifyRequest, reply: FastifyReply) => {
    const [, text = ''] = /^Bearer ([\w-]{1,200})$/.exec(request.headers.authorization ?? '') ?? [];
    const token = apiTokens.find(text);
    if (token !== undefined) return [text, token] as const;
    await refuseExcess(wrong, request, reply, () => 'Too many requests without a valid token.');
    reply.header('www-authenticate', 'Bearer');
    dashboard.log.warn({ address: request.ip }, 'API request without a valid token');
    throw new PageError(
      401,
      'No valid token',
      'Send an API token that has not expired: Authorization: Bearer TOKEN',
    );
  };
  // Nobody without a token learns which addresses there are.
  app.all('/api/*', {
    config: { role: 'anyone', rateLimit: { keyGenerator: tokenKey } },
    async onRequest(request, reply) {
      await readToken(request, reply);
      const [path = ''] = request.url.split('?', 1);
      const allowed = endpoints.flatMap((one) =>
        isAt(path, API_PREFIX + one.path) ? one.method.toUpperCase() : [],
      );
      if (allowed.length === 0) throw notFoundError('The API has no such address.');
      reply.header('allow', allowed.join(', '));
      throw new PageError(405, 'Method not allowed', `This address takes ${allowed.join(', ')}.`);
    },
    handler: () => undefined,
  });

  await app.register(
    async (scope) => {
      const parseJson = scope.getDefaultJsonParser('error', 'error');
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser(
        'application/json',
        { parseAs: 'string', bodyLimit: BODY_LIMIT_BYTES },
        parseJson,
      );
      scope.addContentTypeParser(FILE_TYPES, (_request, payload, done) => done(null, payload));

      scope.get('/openapi.json', { config: { role: 'anyone' } }, () => openApiDocument(endpoints));
      // The stream of an answer to HEAD would never end.
      const exposeHeadRoute = false;
      for (const { method, path, scope: needed, fileTypes, handle } of endpoints) {
        scope.route<{ Params: Record<string, string> }>({
          method,
          exposeHeadRoute,
          url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
          // The token is checked below, a wrong one counted.
          config: { role: 'anyone', rateLimit: { keyGenerator: tokenKey } },
          async onRequest(request, reply) {
            request.session = null;
            const [text, { name, scope: role, by }] = await readToken(request, reply);
            if (!includesRole(role, needed)) throw scopeRefusal(role, needed);
            const who = `API token ${name}`;
            const isOver = () => apiTokens.find(text) === undefined;
            request.session = {
              id: who,
              who,
              role,
              // What only people who share a token have made is nobody's.
              names: by.length === 0 ? [] : [who, ...by],
              csrfToken: '',
              isOver,
            };
            refuseInvalidNames(request);
          },
          handler(request, reply) {
            if (fileTypes === undefined && request.body instanceof Readable)
              throw new PageError(415, 'Not JSON', 'This address takes JSON, and no file.');
            return handle({ request, reply });
          },
        });
      }
    },
    { prefix: API_PREFIX },
  );
}

/** Whether a path is that of an endpoint, whose names in braces stand for any. */
function isAt(path: string, endpoint: string) {
  const [parts, names] = [path.split('/'), endpoint.split('/')];
  return (
    parts.length === names.length && names.every((name, at) => name.startsWith('{') || name === parts[at])
  );
}

/** Requests are limited by token, so that no program uses up the limit of others behind the same proxy. */
function tokenKey({ ip, headers }: FastifyRequest) {
  return `${ip} ${hash('sha256', headers.authorization ?? '')}`;
}

function readingEndpoints(parts: RouteParts, app: FastifyInstance): readonly Endpoint[] {
  const { dashboard } = parts;
  const { context, queue } = dashboard;
  const streamEvents = runEvents(app, parts);
  /** What a queued run has become is asked for by either id. */
  const begunRun = async (call: Call): Promise<Run> => {
    const queued = await queue.find(call.request.subject);
    if (queued === undefined || queued.run !== null)
      return await keptRun(dashboard, queued?.run ?? call.request.subject);
    throw new PageError(409, 'Not begun', 'The run waits for a worker. Ask again.');
  };
  return [
    {
      method: 'get',
      path: '/runs',
      scope: 'view',
      summary: 'The latest runs, newest first',
      query: runsQuery,
      answer: z.strictObject({ runs: z.array(runSchema) }),
      async handle({ request: { query } }) {
        const runs = await context.state.runs.list(parseInput(runsQuery, query));
        const now = context.clock();
        const listed = runs.map(async (run) => {
          const facts = {
            run,
            totals: run.totals ?? NO_TOTALS,
            rejectsFile: await shownRejectsFile(context, run),
            refusals: [],
            unsentReasons: [],
          };
          return listedRun(withoutPersonalData(facts), now);
        });
        return { runs: await Promise.all(listed) };
      },
    },
    {
      method: 'get',
      path: '/runs/{run}',
      scope: 'view',
      summary: 'A run: its status and its figures',
      answer: runSchema,
      handle: async (call) =>
        (await findRun(parts, call.request.subject, call.request.viewer)) ??
        (await keptRun(dashboard, call.request.subject)),
    },
    {
      method: 'get',
      path: '/runs/{run}/events',
      scope: 'view',
      summary: 'The progress of a run: the events `progress` each second, then `ended`',
      answer: ['text/event-stream'],
      handle: async (call) => streamEvents(call.request, call.reply, await begunRun(call)),
    },
    {
      method: 'get',
      path: '/runs/{run}/records',
      scope: 'view',
      summary: 'The outcome of each record of a run; of contacts only with the scope operate',
      query: recordsQuery,
      answer: Object.values(RECORD_TYPES),
      async handle({ request, reply }) {
        const { outcome, format } = parseInput(recordsQuery, request.query);
        const queued = await queue.find(request.subject);
        const { content } = await openRecords(dashboard, request, {
          id: queued?.run ?? request.subject,
          format,
          outcome,
        });
        return reply.type(RECORD_TYPES[format]).send(content);
      },
    },
    {
      method: 'get',
      path: '/runs/{run}/artifacts',
      scope: 'view',
      summary: 'The names of the files of a run',
      answer: z.strictObject({ files: z.array(z.string()) }),
      async handle(call) {
        const names = await context.artifacts.run((await begunRun(call)).id).list();
        return { files: RUN_FILES.map(({ name }) => name).filter((name) => names.includes(name)) };
      },
    },
    {
      method: 'get',
      path: '/runs/{run}/artifacts/{file}',
      scope: 'view',
      summary: 'A file of a run: its report; rejects only with the scope operate',
      answer: [...new Set(RUN_FILES.map(({ type }) => type))],
      async handle(call) {
        const file = RUN_FILES.find(({ name }) => name === call.request.params['file']);
        if (file === undefined) throw notFoundError();
        if (!mayDo(call.request.viewer.role, file.action)) throw scopeRefusal('view', 'operate');
        return await sendRunFile(dashboard, call, (await begunRun(call)).id, file);
      },
    },
    {
      method: 'get',
      path: '/jobs/{job}/export',
      scope: 'operate',
      summary: 'The newest file of an export job',
      answer: ['application/octet-stream'],
      handle: async (call) => await sendExport(dashboard, call, call.request.subject),
    },
  ];
}
