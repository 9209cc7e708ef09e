import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type ApiScope, includesRole } from '../../model/action.ts';
import { RUN_STATUSES } from '../../model/run.ts';
import { withoutPersonalData } from '../../report/run-facts.ts';
import { listedRun } from '../../report/run-summary.ts';
import { readStoredReport, withLiveStatus, withShownFiles } from '../../run/report/read-stored-report.ts';
import type { Viewer } from '../access/sessions.ts';
import { PageError } from '../guard/page-error.ts';
import type { RouteParts } from '../route-parts.ts';

/** Where the API is. */
export const API_PREFIX = '/api/v1';
/** The header that makes a request safe to repeat. */
export const IDEMPOTENCY_HEADER = 'idempotency-key';

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
