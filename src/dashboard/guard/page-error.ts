import { randomUUID } from 'node:crypto';
import { basename, dirname } from 'node:path';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { ConfigurationError, codeOf, formatPlace, StoreferryError } from '../../model/storeferry-error.ts';
import { html, paragraphs } from '../../report/html/markup.ts';
import type { DashboardContext } from '../dashboard-context.ts';
import { buttonRow, linkButton } from '../pages/link-button.ts';
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

/** Whether the address is one of the API: its errors are JSON. */
export function isApiRequest({ url }: Pick<FastifyRequest, 'url'>): boolean {
  return url.startsWith('/api/');
}

/** There is no page at this address. */
export function notFoundError(message = 'There is no page at this address.'): PageError {
  return new PageError(404, 'Not found', message);
}

/** Shown below every error, for signed-in visitors. */
const HOME_LINKS = buttonRow(
  linkButton('/', { label: 'All jobs' }),
  linkButton('/runs', { label: 'All runs' }),
);

/** Shows an error as a page. */
export type ShowError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;

const NO_QUEUES =
  'There are queues only with Redis: set REDIS_URL, then restart the dashboard and start a worker.';

/** Shows every error as a page that says what to do. Bugs are logged with the reference that the page shows. */
export function showErrors(app: FastifyInstance, dashboard: DashboardContext): ShowError {
  decorateReplies(app, dashboard);
  const show: ShowError = (error, request, reply) => {
    // Before the sign-in no message names the folder of the workspace, as messages of commands do.
    const shownContext =
      request.session === null ? { ...dashboard, redact: (text: string) => text } : dashboard;
    const { status, title, lines, body } = describeError(error, shownContext, (reference) =>
      dashboard.log.error(
        { reference, method: request.method, route: request.routeOptions.url, err: error },
        'unexpected error',
      ),
    );
    // The rest of the body is not read.
    if (!request.raw.complete) reply.header('connection', 'close');
    if (isApiRequest(request)) {
      const detail = lines.join(' ');
      return reply
        .code(status)
        .type('application/problem+json')
        .send(JSON.stringify({ title, status, detail }));
    }
    return reply.sendPage({ title, body: html`${body}${request.session !== null && HOME_LINKS}` }, status);
  };
  app.setErrorHandler(show);
  app.setNotFoundHandler((request, reply) => {
    const noQueues = dashboard.redisUrl === undefined && /^\/queues\b/.test(request.url);
    return show(notFoundError(noQueues ? NO_QUEUES : undefined), request, reply);
  });
  return show;
}

/** The visible part of an error. The stack is only in the log. */
function describeError(
  error: unknown,
  { program, redact }: DashboardContext,
  logBug: (reference: string) => void,
) {
  if (error instanceof PageError) return errorView(error.statusCode, error.title, redact(error.message));
  if (error instanceof ConfigurationError) {
    const words = error.problems.map(({ place, message }) => `${formatPlace(place)}: ${message}`);
    return {
      ...errorView(422, 'The files of the workspace need a correction', ...words),
      body: html`${problemList(error.problems)}<p>Correct them and load the page again; <code>${program} check</code> checks all files.</p>`,
    };
  }
  if (error instanceof StoreferryError) {
    const { place, message, hint = '' } = error;
    const where = place === undefined ? '' : `${formatPlace(place)}: `;
    const words = [where + message, hint].filter((line) => line !== '').map(redact);
    return errorView(STATUS_OF[error.code] ?? 500, 'This cannot be done', ...words);
  }
  const code = codeOf(error) ?? '';
  if (NOT_WRITABLE.has(code)) {
    const folder =
      error instanceof Error && 'path' in error
        ? ` in the folder ${basename(dirname(String(error.path)))}`
        : '';
    const what = `A file${folder} cannot be read or changed (${code}).`;
    return errorView(
      503,
      'This cannot be done',
      what,
      'Give the user of the dashboard the right to write there, or make room on the disk, then try again.',
    );
  }
  const status = statusOf(error);
  if (status < 500) {
    return errorView(status, 'Invalid request', REQUEST_PROBLEMS[status] ?? 'Go back and try again.');
  }
  const reference = randomUUID().slice(0, 8);
  logBug(reference);
  const bug = `This is a bug in Storeferry. The log of the dashboard has the details under the reference ${reference}; please report it.`;
  return errorView(500, 'Something went wrong in the dashboard', bug);
}

function errorView(status: number, title: string, ...lines: readonly string[]) {
  return { status, title, lines, body: html`${paragraphs(lines)}` };
}

/** A folder or a disk that cannot be written, which is no bug. */
const NOT_WRITABLE: ReadonlySet<string> = new Set(['EACCES', 'EPERM', 'EROFS', 'ENOSPC', 'EDQUOT']);

/** The page for the code of a StoreferryError. */
const STATUS_OF: Readonly<Record<string, number>> = { usage: 409, locked: 409, state: 503 };

function statusOf(error: unknown) {
  const isObject = typeof error === 'object' && error !== null;
  const status = isObject && 'statusCode' in error ? error.statusCode : undefined;
  return typeof status === 'number' && status >= 400 ? status : 500;
}

/** What is wrong with a request, by the status that fastify gives it. */
const REQUEST_PROBLEMS: Readonly<Record<number, string>> = {
  408: 'It took too long to arrive. Try again.',
  413: 'It is larger than the dashboard accepts.',
  415: 'Its content type is not one that the forms of the dashboard send.',
};
