import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type ApiScope, includesRole } from '../../model/action.ts';
import { RUN_STATUSES } from '../../model/run.ts';
import { withoutPersonalData } from '../../report/run-facts.ts';
import { listedRun } from '../../report/run-summary.ts';
import { readStoredReport, withLiveStatus, withShownFiles } from '../../run/report/read-stored-report.ts';
import type { Viewer } from '../access/sessions.ts';
import { XLSX } from '../file-routes.ts';
import { PageError } from '../guard/page-error.ts';
import type { RouteParts } from '../route-parts.ts';

/** Where the API is. */
export const API_PREFIX = '/api/v1';
/** The header that makes a request safe to repeat. */
export const IDEMPOTENCY_HEADER = 'idempotency-key';

/** What `retry` takes in place of JSON. */
export const FILE_TYPES = ['text/csv', XLSX];

/** A run as the API answers it. It also has all other members of `runs RUN --json`. */
export const runSchema = z
  .looseObject({
    run: z.string().meta({ description: 'Its id, by which it can be asked for.' }),
    job: z.string(),
    status: z.enum(['queued', ...RUN_STATUSES]),
    error: z.string().nullable(),
  })
  .meta({ description: 'As `runs RUN --json` prints it. A queued run has only these members.' });

/** A request to an endpoint, and its answer. */
export interface Call {
  readonly request: FastifyRequest<{ Params: Readonly<Record<string, string>> }>;
  readonly reply: FastifyReply;
}

/** An address of the API: which scope it needs, what the OpenAPI document says, and what it does. */
export interface Endpoint {
  readonly method: 'get' | 'post';
  /** With parameters in braces. */
  readonly path: string;
  readonly scope: ApiScope;
  readonly summary: string;
  readonly query?: z.ZodObject;
  readonly body?: z.ZodObject;
  /** The types of a file that it takes in place of a JSON body. */
  readonly fileTypes?: readonly string[];
  /** The schema of its JSON, or the types of a file. */
  readonly answer: z.ZodType | readonly string[];
  /** The status of its answer; default: 200. */
  readonly status?: 200 | 202;
  readonly handle: (call: Call) => Promise<unknown>;
}

/** The error for a token without the needed scope. */
export function scopeRefusal(given: ApiScope, needed: ApiScope): PageError {
  return new PageError(403, 'Outside the scope', `The token has the scope ${given}; this needs ${needed}.`);
}

/** A query or a body as its schema reads it; PageError says what it does not have. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, given: unknown): z.output<Schema> {
  const { data, error, success } = schema.safeParse(given ?? {});
  if (success) return data;
  throw new PageError(400, 'Invalid request', z.prettifyError(error));
}

/** A run, or what waits to become one under this id; null where the queue knows nothing of it either. */
export async function findRun({ dashboard: { context, queue } }: RouteParts, id: string, { role }: Viewer) {
  const queued = await queue.find(id);
  const found = await context.state.runs.get(queued?.run ?? id);
  if (found !== undefined) {
    const facts = await readStoredReport(context, await withLiveStatus(context, found));
    const shown = withShownFiles(
      includesRole(role, 'operate') ? facts : withoutPersonalData(facts),
      context.workspaceDir,
    );
    return listedRun(shown, context.clock());
  }
  if (queued === undefined) return null;
  const { action, ended, error } = queued;
  return { run: id, job: action.job, status: ended ? 'failed' : 'queued', error };
}

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
    servers: [{ url: API_PREFIX }],
    security: [{ token: [] }],
    paths,
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: { Run: schemaOf(runSchema), Problem: schemaOf(problemSchema) },
    },
  };
}

function operationOf({
  method,
  path,
  scope,
  summary,
  query,
  body,
  fileTypes,
  answer,
  status = 200,
}: Endpoint) {
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
  const content = body === undefined ? fileTypes && files(fileTypes) : json(schemaOf(body));
  return {
    operationId: `${method} ${path}`.replaceAll(/\W+/g, '-').replace(/-$/, ''),
    summary,
    description: `Scope: ${scope}.`,
    parameters: [...inPath, ...inQuery, ...(status === 202 ? [key] : [])],
    ...(content !== undefined && { requestBody: { content } }),
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
