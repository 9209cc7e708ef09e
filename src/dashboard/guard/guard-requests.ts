import fastifyCookie from '@fastify/cookie';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { includesRole, type Role } from '../../model/action.ts';
import type { ProxySignIn, Session, Sessions } from '../access/sessions.ts';
import { sameText } from '../access/tokens.ts';
import { type DashboardContext, type OwnAddresses, QUEUES_PATH } from '../dashboard-context.ts';
import { decorateRequests, isReading } from '../pages/page.ts';
import { CSRF_FIELD } from '../pages/post-form.ts';
import { isApiRequest, notFoundError, PageError, type ShowError } from './page-error.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Null before the sign-in. */
    session: Session | null;
  }
  interface FastifyContextConfig {
    /**
     * The least role that may use the route. Default: `view` (any signed-in visitor) for GET, `edit` for other
     * methods. `anyone` is a public route.
     */
    role?: Role | 'anyone';
    /** The form is a stream whose token the handler checks itself (`checkFormToken`). */
    streamed?: true;
  }
}

/** What requests are checked against. */
interface Guarded {
  readonly dashboard: Pick<DashboardContext, 'context'>;
  readonly addresses: OwnAddresses;
  readonly sessions: Sessions;
  readonly cookieName: string;
}

/**
 * Checks every request before its body is read, also for unknown addresses: the host must be this dashboard, a change
 * must come from its own pages, and the visitor must be signed in and have permission. `refuse` answers with the
 * error page, also if a route has its own error handler.
 */
export async function guardRequests(
  app: FastifyInstance,
  { dashboard, addresses, sessions, cookieName }: Guarded,
  proxySignIn: ProxySignIn,
  refuse: ShowError,
): Promise<void> {
  await app.register(fastifyCookie);
  app.decorateRequest('session', null);
  app.decorateRequest('viewer', {
    getter() {
      if (this.session === null) throw new Error('Public route: no viewer.');
      return this.session;
    },
  });
  decorateRequests(app, dashboard.context);

  const admit = async (request: FastifyRequest, reply: FastifyReply) => {
    const { host, accept } = request.headers;
    if (!addresses.knows(host))
      throw new PageError(
        421,
        'Unknown host name',
        'The dashboard does not answer under the host name of this address. Use localhost or its IP address, or start it with the name: storeferry dashboard --url https://...',
      );
    // A request to a proxy names another host in its first line.
    if (!request.url.startsWith('/') || hasTraversal(request.url)) throw notFoundError();
    if (addresses.isSecure(host)) reply.header('strict-transport-security', HTTPS_ONLY);
    if (!isReading(request) && request.routeOptions.url?.startsWith(QUEUES_PATH) === true)
      throw new PageError(
        403,
        'The queues are read-only',
        'Nothing was done. Start, approve and interrupt runs on the page of their job.',
      );
    // No browser sends the token of a program by itself.
    if (!isReading(request) && !isApiRequest(request)) refuseForeignPage(request, addresses.originOf(host));
    // The event stream of an open page does not count as use.
    const isSeen = accept !== 'text/event-stream';
    request.session = sessions.find(request.cookies[cookieName], isSeen) ?? null;
    if (request.session !== null && !proxySignIn.confirms(request, request.session)) request.session = null;
    const role = request.routeOptions.config.role ?? (isReading(request) ? 'view' : 'edit');
    if (role === 'anyone') return;
    if (request.session === null && isPageView(request))
      request.session = await proxySignIn.begin(request, reply);
    if (request.session === null) throw new PageError(401, 'Not signed in', 'Sign in first.');
    const { who, role: own } = request.session;
    if (!includesRole(own, role))
      throw new PageError(
        403,
        own === 'view' ? 'Read-only access' : 'Not permitted',
        `You are signed in as ${who} with the role ${own}, and this needs the role ${role}: nothing was done.`,
      );
    refuseInvalidNames(request);
  };

  app.addHook('onRequest', async (request, reply) => {
    reply.headers(SECURITY_HEADERS);
    try {
      await admit(request, reply);
    } catch (error) {
      // Browsers are redirected to the sign-in and back; programs get the 401.
      if (error instanceof PageError && error.statusCode === 401 && isPageView(request))
        return reply.redirect(`/sign-in?next=${encodeURIComponent(request.url)}`, 303);
      return refuse(error, request, reply);
    }
  });

  app.addHook('preValidation', async (request, reply) => {
    const { role, streamed } = request.routeOptions.config;
    if (isReading(request) || role === 'anyone' || streamed === true) return;
    const { body } = request;
    const given = typeof body === 'object' && body !== null && CSRF_FIELD in body ? body[CSRF_FIELD] : '';
    try {
      checkFormToken(request, given);
    } catch (error) {
      return refuse(error, request, reply);
    }
  });
}

/** Checks that a form came from a page of this session; otherwise PageError. */
export function checkFormToken({ viewer }: Pick<FastifyRequest, 'viewer'>, given: unknown): void {
  if (typeof given === 'string' && sameText(given, viewer.csrfToken)) return;
  throw new PageError(
    403,
    'The form is out of date',
    'It belongs to a session that has ended: nothing was done. Go back, load the page again and repeat the step.',
  );
}

/** Whether a path leaves its folder, in any spelling. No address of the dashboard does. */
function hasTraversal(url: string) {
  const [path = ''] = url.split('?', 1);
  let decoded = path;
  for (let times = 0; times < 3; times += 1) {
    try {
      decoded = decodeURIComponent(decoded);
    } catch {
      break;
    }
  }
  return decoded.includes('\0') || decoded.split(/[/\\]/).some((part) => part === '..' || part === '.');
}

/** Whether a browser asks for a page. */
function isPageView({ method, headers }: FastifyRequest) {
  return method === 'GET' && headers.accept?.includes('text/html') === true;
}

/** Browsers send the origin of a form in headers that scripts of other pages cannot change. */
function refuseForeignPage({ headers }: FastifyRequest, own: string) {
  const { origin } = headers;
  const site = headers['sec-fetch-site'];
  const fromHere = origin === undefined ? site === 'same-origin' : origin === own;
  if (fromHere && (site === undefined || site === 'same-origin')) return;
  throw new PageError(
    403,
    'From another page',
    `This form was not sent from a page of the dashboard at ${own}, so nothing was done. Behind a proxy, start the dashboard with the address that browsers use: storeferry dashboard --url https://...`,
  );
}

/** Parameters with names of jobs and runs: any value that looks like a file path is not found. */
export function refuseInvalidNames({ params }: FastifyRequest): void {
  for (const [name, value] of Object.entries(params ?? {})) {
    const isName = name === 'job' || name === 'run' || name === 'store';
    if (isName && !/^[\w-][\w.@-]{0,199}$/.test(String(value))) throw notFoundError();
  }
}

/** Pages load from their own server only, and connect only to it. */
export const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

/** Headers of every answer. Cacheable answers, such as stylesheets, override `cache-control`. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': PAGE_POLICY,
  'cache-control': 'no-store',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  // Not `no-referrer`: with it browsers send forms with the origin `null`.
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** After the first https request, browsers use only https. */
const HTTPS_ONLY = 'max-age=31536000';
