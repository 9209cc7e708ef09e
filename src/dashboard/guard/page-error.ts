import { randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ConfigurationError, formatPlace, StoreferryError } from '../../model/storeferry-error.ts';
import { code, html } from '../../report/html/markup.ts';
import type { DashboardContext, DashboardLog } from '../dashboard-context.ts';
import { decorateReplies, problemList } from '../pages/page.ts';

/** An error of a request, shown as a page: what happened, and what to do. */
export class PageError extends Error {
  readonly statusCode: number;
  readonly title: string;

  constructor(statusCode: number, title: string, message: string) {
    super(message);
    this.name = 'PageError';
    this.statusCode = statusCode;
    this.title = title;
  }
}

/** There is no page at this address. */
export function notFound(message = 'There is no page at this address.'): PageError {
  return new PageError(404, 'Not found', message);
}

/** Shown below every error, for signed-in visitors. */
const LINKS_ON = html`<p class="actions"><a class="button" href="/">All jobs</a> <a class="button" href="/runs">All runs</a></p>`;

/** Shows an error as a page. */
export type ShowError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;

const NO_QUEUES =
  'There are queues only with Redis: set REDIS_URL, then restart the dashboard and start a worker.';

/** Shows every error as a page that says what to do. Bugs are logged with the reference that the page shows. */
export function showErrors(app: FastifyInstance, dashboard: DashboardContext, log: DashboardLog): ShowError {
  decorateReplies(app, dashboard);
  const show: ShowError = (error, request, reply) => {
    // Before the sign-in no message names the folder of the workspace, as messages of commands do.
    const shownContext =
      request.session === null ? { ...dashboard, redact: (text: string) => text } : dashboard;
    const { status, title, body } = describeError(error, shownContext, (reference) =>
      log.error(
        { reference, method: request.method, route: request.routeOptions.url, err: error },
        'unexpected error',
      ),
    );
    // The rest of the body is not read.
    if (!request.raw.complete) reply.header('connection', 'close');
    return reply.sendPage({ title, body: html`${body}${request.session !== null && LINKS_ON}` }, status);
  };
  app.setErrorHandler(show);
  app.setNotFoundHandler((request, reply) => {
    const noQueues = dashboard.redisUrl === undefined && /^\/queues\b/.test(request.url);
    return show(notFound(noQueues ? NO_QUEUES : undefined), request, reply);
  });
  return show;
}

/** The visible part of an error. The stack is only in the log. */
function describeError(
  error: unknown,
  { program, redact }: DashboardContext,
  logBug: (reference: string) => void,
) {
  if (error instanceof PageError)
    return { status: error.statusCode, title: error.title, body: html`<p>${redact(error.message)}</p>` };
  if (error instanceof ConfigurationError)
    return {
      status: 422,
      title: 'The files of the workspace need a correction',
      body: html`${problemList(error.problems)}<p>Correct them and load the page again; <code>${program} check</code> checks all files.</p>`,
    };
  if (error instanceof StoreferryError) {
    const { place, message, hint = '' } = error;
    const where = place === undefined ? '' : `${formatPlace(place)}: `;
    return {
      status: STATUS_OF[error.code] ?? 500,
      title: 'This cannot be done',
      body: html`<p>${redact(where + message)}</p>${hint !== '' && html`<p>${redact(hint)}</p>`}`,
    };
  }
  const status = statusOf(error);
  if (status < 500) {
    const words = INVALID[status] ?? 'Go back and try again.';
    return { status, title: 'Invalid request', body: html`<p>${words}</p>` };
  }
  const reference = randomUUID().slice(0, 8);
  logBug(reference);
  return {
    status: 500,
    title: 'Something went wrong in the dashboard',
    body: html`<p>This is a bug in Storeferry. The log of the dashboard has the details under the reference ${code(reference)}; please report it.</p>`,
  };
}

/** The page for the code of a StoreferryError. */
const STATUS_OF: Readonly<Record<string, number>> = { usage: 409, locked: 409, state: 503 };

function statusOf(error: unknown): number {
  const isObject = typeof error === 'object' && error !== null;
  const status = isObject && 'statusCode' in error ? error.statusCode : undefined;
  return typeof status === 'number' && status >= 400 ? status : 500;
}

/** What is wrong with a request, by the status that fastify gives it. */
const INVALID: Readonly<Record<number, string>> = {
  408: 'It took too long to arrive. Try again.',
  413: 'It is larger than the dashboard accepts.',
  415: 'Its content type is not one that the forms of the dashboard send.',
};
