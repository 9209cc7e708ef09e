import { hash, randomUUID } from 'node:crypto';
import type { BlockList } from 'node:net';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import fastifyMultipart from '@fastify/multipart';
import fastifyRateLimit from '@fastify/rate-limit';
import { type FastifyInstance, type FastifyRequest, fastify } from 'fastify';
import type { Role } from '../model/action.ts';
import { errorCode } from '../model/storeferry-error.ts';
import { accountRoutes } from './access/account-routes.ts';
import { openAccounts } from './access/accounts.ts';
import { createSessions, openSessionFile, sessionCookie } from './access/sessions.ts';
import { identities, proxySignIn, signIn } from './access/sign-in.ts';
import { openTokens, type TokenFile, type Tokens } from './access/tokens.ts';
import { actionRoutes } from './actions/action-routes.ts';
import { correctRoutes } from './actions/correct-routes.ts';
import { retryRoutes } from './actions/retry-routes.ts';
import { openUploads } from './actions/uploads.ts';
import { actionEndpoints } from './api/action-endpoints.ts';
import { apiRoutes } from './api/api-routes.ts';
import {
  cannotListen,
  type DashboardContext,
  isListed,
  type Listen,
  ownAddresses,
  QUEUES_PATH,
  urlHost,
} from './dashboard-context.ts';
import { columnsRoutes } from './edit-job/columns-routes.ts';
import { editRoutes } from './edit-job/edit-routes.ts';
import { jobFileRoutes } from './edit-job/job-file-routes.ts';
import { fileRoutes, serveAssets } from './file-routes.ts';
import { guardRequests, PAGE_POLICY, SECURITY_HEADERS } from './guard/guard-requests.ts';
import { showErrors } from './guard/page-error.ts';
import { newJobRoutes } from './new-job/new-job-routes.ts';
import { replaceFileRoutes } from './new-job/replace-file-routes.ts';
import { auditPage } from './pages/audit-page.ts';
import { historyPage } from './pages/history-page.ts';
import { jobPage } from './pages/job-page.ts';
import { jobsPage } from './pages/jobs-page.ts';
import { listsHref } from './pages/link-button.ts';
import { historyJobs, listPage, listsPage } from './pages/lists-page.ts';
import { outcomesPage } from './pages/outcomes-page.ts';
import type { Page } from './pages/page.ts';
import { type RecordsOfRun, recordPage, recordsOf } from './pages/record-page.ts';
import { runPage } from './pages/run-page.ts';
import { runsPage } from './pages/runs-page.ts';
import { type PageRequest, type RouteParts, readForms } from './route-parts.ts';
import { eventRoutes } from './run-feed.ts';
import { storeRoutes } from './store-routes.ts';

/** The page of the board sets its own folder as the base of all its addresses, and has inline styles. */
const BOARD_POLICY = PAGE_POLICY.replace("base-uri 'none'", "base-uri 'self'").replace(
  "style-src 'self'",
  "style-src 'self' 'unsafe-inline'",
);
/** The board would load fonts from another server, which the policy of our pages forbids. */
const FOREIGN_LINK = /<link href="https?:[^>]*>/g;
/** A stylesheet that makes its pages fit a phone. */
const OWN_STYLES = '<link href="/assets/queues.css" rel="stylesheet"></head>';

/**
 * Serves the board behind the sign-in, with the policy relaxed as far as necessary. The guard refuses all methods
 * except GET.
 */
function queueRoutes(app: FastifyInstance, { dashboard: { readWorkspace }, queueBoard: board }: RouteParts) {
  if (board === null) return;
  app.register(
    async (scope) => {
      scope.addHook('preHandler', async () => {
        board.show(readWorkspace().inspection.stores().names ?? []);
      });
      scope.addHook('onSend', async (_request, reply, payload) => {
        const isPage = String(reply.getHeader('content-type')).startsWith('text/html');
        if (!isPage) return payload;
        reply.header('content-security-policy', BOARD_POLICY);
        return typeof payload === 'string'
          ? payload.replaceAll(FOREIGN_LINK, '').replace('</head>', OWN_STYLES)
          : payload;
      });
      scope.register(board.plugin);
    },
    { prefix: QUEUES_PATH },
  );
}

interface DashboardOptions extends Pick<RouteParts, 'dashboard' | 'queueBoard'> {
  readonly tokens: TokenFile;
  readonly listen: Listen;
  /** The address for browsers behind a proxy; undefined without a proxy. */
  readonly publicUrl: URL | undefined;
  /** The addresses from which X-Forwarded-For is believed, and the header of single sign-on; others would choose their own address. */
  readonly proxies: BlockList;
  /** The header in which the proxy names the person; undefined: without single sign-on. */
  readonly signInHeader?: string | undefined;
  /** A folder for uploads until they are sent, which is removed after the dashboard was closed. */
  readonly uploadsFolder: () => Promise<string>;
}

/** A dashboard that can be reached. */
export interface RunningDashboard {
  /** The address to open in a browser on this machine, or the public one. */
  readonly url: string;
  /** The tokens to sign in with, if they were made at this start; null if earlier ones are valid. */
  readonly tokens: Tokens | null;
  /** Ends all connections, also live ones. */
  close(): Promise<void>;
}

/** Made while another process listens at the address: a dashboard of this workspace takes them, and those before end. */
interface NewTokens {
  readonly tokens: Tokens;
  readonly url?: undefined;
}

/** Serves the dashboard until it is closed. UsageError if it cannot listen there, or its tokens cannot be read. */
export async function startDashboard(options: DashboardOptions): Promise<RunningDashboard | NewTokens> {
  const { dashboard, listen, publicUrl, proxies, signInHeader, uploadsFolder, queueBoard } = options;
  const { hashes, tokens, keep } = openTokens(options.tokens);
  const sessionFile = openSessionFile(join(dirname(options.tokens.file), 'dashboard-sessions.json'), (err) =>
    dashboard.log.error({ err }, 'sessions are not kept'),
  );
  const workspace = hash('sha256', dashboard.context.workspaceDir).slice(0, 8);
  const accounts = openAccounts(dashboard.context);
  const app = await buildDashboard({
    dashboard,
    ...accounts,
    hashes,
    queueBoard,
    addresses: ownAddresses(listen, publicUrl),
    proxies,
    signInHeader,
    uploadsFolder,
    cookieName: `storeferry-${workspace}`,
    sessions: createSessions(dashboard.context.clock, identities(hashes, accounts.people), sessionFile),
  });
  app.addHook('onClose', sessionFile.saved);
  const { host, port } = listen;
  try {
    await app.listen({ host, port });
  } catch (error) {
    await app.close();
    if (tokens === null || !options.tokens.renew || errorCode(error) !== 'EADDRINUSE')
      throw cannotListen(error, 'The dashboard', listen);
    // A dashboard that is running reads them from the file.
    await keep();
    return { tokens };
  }
  // Only after it listens: otherwise tokens that were never printed would replace those in use.
  await keep().catch(async (error: unknown) => {
    await app.close();
    throw error;
  });
  const address = app.server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  dashboard.log.info({ host, port: bound }, 'listening');
  return {
    // If it listens on all networks, browsers on this machine use loopback.
    url:
      publicUrl?.href ??
      `http://${host === '0.0.0.0' || host === '::' ? 'localhost' : urlHost(host)}:${bound}/`,
    tokens,
    close: () => app.close(),
  };
}

/** Headers and body of a request must arrive within this time; a large upload over a slow line takes minutes. */
const REQUEST_WITHIN_MS = 10 * 60_000;
/** Limit per address and token. A page with all its files takes five requests. */
const MAX_REQUESTS_PER_MINUTE = 1_500;

/** All routes, in groups. To add a group, add a file and an entry here. */
const ROUTES: readonly ((app: FastifyInstance, parts: RouteParts) => void | Promise<void>)[] = [
  signIn,
  serveAssets,
  healthRoute,
  registerPages,
  actionRoutes,
  retryRoutes,
  correctRoutes,
  newJobRoutes,
  replaceFileRoutes,
  editRoutes,
  jobFileRoutes,
  columnsRoutes,
  storeRoutes,
  eventRoutes,
  fileRoutes,
  accountRoutes,
  (app, parts) => apiRoutes(app, parts, actionEndpoints(parts)),
  queueRoutes,
];

/** The dependencies of the dashboard's server. */
type DashboardParts = Omit<RouteParts, 'uploads' | 'cookie'> &
  Pick<DashboardOptions, 'proxies' | 'signInHeader' | 'uploadsFolder'>;

/**
 * Behind a proxy or tunnel all visitors may have one address, so read-only visitors must not use up the limit of
 * others.
 */
function rateLimitKey({ ip, session }: FastifyRequest) {
  if (session === null) return ip;
  return `${ip} ${session.who}`;
}

/** Builds the server of the dashboard; it does not listen yet. */
async function buildDashboard(parts: DashboardParts): Promise<FastifyInstance> {
  const { dashboard, addresses, proxies, signInHeader, cookieName } = parts;
  const cookie = sessionCookie(addresses, cookieName);
  const app = fastify({
    forceCloseConnections: true,
    requestTimeout: REQUEST_WITHIN_MS,
    // Only the entry that the proxy itself added is trusted; a client can forge those before it.
    trustProxy: (address, hop) => hop === 0 && isListed(proxies, address),
    genReqId: () => randomUUID(),
    frameworkErrors: (_error, _request, { raw }) =>
      void raw
        .writeHead(404, { ...SECURITY_HEADERS, 'content-type': 'text/plain; charset=utf-8' })
        .end('Not found.\n'),
  });
  readForms(app);
  const refuse = showErrors(app, dashboard);
  await guardRequests(app, parts, proxySignIn({ ...parts, cookie }, proxies, signInHeader), refuse);
  await app.register(fastifyRateLimit, {
    max: MAX_REQUESTS_PER_MINUTE,
    timeWindow: 60_000,
    keyGenerator: rateLimitKey,
    addHeaders: { 'x-ratelimit-limit': false, 'x-ratelimit-remaining': false, 'x-ratelimit-reset': false },
  });
  await app.register(fastifyMultipart);
  const uploads = openUploads(parts.uploadsFolder);
  for (const routes of ROUTES) await routes(app, { ...parts, cookie, uploads });
  return app;
}

const ANSWER_WITHIN_MS = 2_000;

/**
 * Serves `/healthz` for monitoring: 200, or 503 with the reason while the state cannot be read. Public route: the
 * answer has no address and no job. Simultaneous requests share one read of the state.
 */
function healthRoute(app: FastifyInstance, { dashboard: { context, redisUrl, workerHealth } }: RouteParts) {
  let reading: Promise<boolean> | null = null;
  const stateAnswers = () => {
    reading ??= context.state.runs
      .list({ limit: 1 })
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        reading = null;
      });
    return Promise.race([reading, sleep(ANSWER_WITHIN_MS, false, { ref: false })]);
  };
  app.get('/healthz', { config: { role: 'anyone' } }, async (_request, reply) => {
    const problem = (await stateAnswers())
      ? ((await workerHealth?.()) ?? null)
      : redisUrl === undefined
        ? 'the state cannot be read'
        : 'Redis cannot be reached';
    return reply
      .code(problem === null ? 200 : 503)
      .header('cache-control', 'no-store')
      .type('text/plain; charset=utf-8')
      .send(`${problem ?? 'ok'}\n`);
  });
}

/** A page: who may open it, and whose records it shows. Records of contacts hold personal data, which `view` may not see. */
type PageDefinition = { readonly role: Role } & (
  | {
      /** `filtered`: it leaves out by itself what its visitor may not see. */
      readonly records: 'none' | 'filtered';
      readonly make: (dashboard: DashboardContext, request: PageRequest) => Promise<Page>;
    }
  | {
      /** Of the run in its address: refused here. */
      readonly records: 'of-run';
      readonly make: (dashboard: DashboardContext, request: PageRequest, of: RecordsOfRun) => Promise<Page>;
    }
);

/** The pages by their addresses. To add one, add a file and an entry here. */
const PAGES: Readonly<Record<string, PageDefinition>> = {
  '/': { role: 'view', records: 'none', make: jobsPage },
  '/jobs/:job': { role: 'view', records: 'none', make: jobPage },
  '/runs': { role: 'view', records: 'none', make: runsPage },
  '/runs/:run': { role: 'view', records: 'filtered', make: runPage },
  '/runs/:run/records': { role: 'view', records: 'of-run', make: recordPage },
  '/runs/:run/outcomes': { role: 'view', records: 'of-run', make: outcomesPage },
  '/records': { role: 'view', records: 'filtered', make: historyPage },
  '/lists/:job': { role: 'view', records: 'none', make: listPage },
  // The audit log names addresses and users of machines.
  '/audit': { role: 'edit', records: 'none', make: auditPage },
};

/** The pages for signed-in visitors. All are GET and have no effect. */
export function registerPages(app: FastifyInstance, { dashboard }: Pick<RouteParts, 'dashboard'>): void {
  for (const [path, page] of Object.entries(PAGES)) {
    app.get(path, { config: { role: page.role } }, async (request, reply) =>
      reply.sendPage(
        page.records === 'of-run'
          ? await page.make(dashboard, request, await recordsOf(dashboard, request.subject, request.viewer))
          : await page.make(dashboard, request),
      ),
    );
  }

  app.get('/lists', async (request, reply) => {
    const jobs = historyJobs(dashboard.readWorkspace());
    const only = jobs.length === 1 ? jobs[0] : undefined;
    return only === undefined
      ? reply.sendPage(listsPage(jobs, request.viewer))
      : reply.redirect(listsHref(only.name));
  });
}
