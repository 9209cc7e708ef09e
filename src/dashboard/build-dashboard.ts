import { randomUUID } from 'node:crypto';
import { BlockList, isIP } from 'node:net';
import fastifyMultipart from '@fastify/multipart';
import fastifyRateLimit from '@fastify/rate-limit';
import { type FastifyInstance, fastify } from 'fastify';
import { createSessions } from './access/sessions.ts';
import { signIn } from './access/sign-in.ts';
import type { TokenHashes } from './access/token-hash.ts';
import { actionRoutes } from './actions/action-routes.ts';
import { retryRoutes } from './actions/retry-routes.ts';
import { openUploads } from './actions/uploads.ts';
import { serveAssets } from './assets.ts';
import type { DashboardContext } from './dashboard-context.ts';
import type { DashboardLog } from './dashboard-log.ts';
import { fileRoutes } from './files/file-routes.ts';
import { readForms } from './form-fields.ts';
import { guard } from './guard/guard.ts';
import type { OwnAddresses } from './guard/own-addresses.ts';
import { SECURITY_HEADERS } from './guard/security-headers.ts';
import { showErrors } from './guard/show-errors.ts';
import { healthRoute } from './health-route.ts';
import { eventRoutes } from './live/event-routes.ts';
import { registerPages } from './pages/register-pages.ts';
import { type QueueBoard, queueRoutes } from './queues/queue-routes.ts';

/** Headers and body of a request must have arrived by then; a large upload over a slow line takes minutes. */
const REQUEST_WITHIN_MS = 10 * 60_000;
/** Of one address; a page with all it loads is five. */
const REQUESTS_A_MINUTE = 1_500;

/** What the server of a dashboard is built from. */
export interface DashboardParts {
  readonly dashboard: DashboardContext;
  readonly hashes: TokenHashes;
  readonly addresses: OwnAddresses;
  /** Whether a proxy of this machine or its network stands in front and names the client in X-Forwarded-For. */
  readonly behindProxy: boolean;
  /** Different for each dashboard of a machine: cookies of browsers do not depend on the port. */
  readonly cookieName: string;
  /** Null without Redis: then there are no queues. */
  readonly queueBoard: QueueBoard | null;
  readonly log: DashboardLog;
}

const nearby = new BlockList();
for (const [network, prefix] of [
  ['127.0.0.0', 8],
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['169.254.0.0', 16],
] as const) {
  nearby.addSubnet(network, prefix, 'ipv4');
}
nearby.addAddress('::1', 'ipv6');
nearby.addSubnet('fc00::', 7, 'ipv6');
nearby.addSubnet('fe80::', 10, 'ipv6');

/** Whether an address is of this machine or its network, where a proxy may stand. */
function isNearby(address: string): boolean {
  const bare = address.replace(/%.*$/, '');
  return nearby.check(bare, isIP(bare) === 6 ? 'ipv6' : 'ipv4');
}

/** Puts the server of the dashboard together; it does not listen yet. */
export async function buildDashboard(parts: DashboardParts): Promise<FastifyInstance> {
  const { dashboard, hashes, addresses, behindProxy, cookieName, queueBoard, log } = parts;
  const app = fastify({
    forceCloseConnections: true,
    requestTimeout: REQUEST_WITHIN_MS,
    // Only the entry that the proxy itself added is trusted; a client can write those before it.
    trustProxy: behindProxy ? (address, hop) => hop === 0 && isNearby(address) : false,
    genReqId: () => randomUUID(),
    frameworkErrors: (_error, _request, { raw }) =>
      void raw
        .writeHead(404, { ...SECURITY_HEADERS, 'content-type': 'text/plain; charset=utf-8' })
        .end('Not found.\n'),
  });
  const sessions = createSessions(dashboard.context.clock);
  readForms(app);
  const refuse = showErrors(app, dashboard, log);
  await guard(app, { addresses, sessions, cookieName, refuse });
  await app.register(fastifyRateLimit, {
    max: REQUESTS_A_MINUTE,
    timeWindow: 60_000,
    addHeaders: { 'x-ratelimit-limit': false, 'x-ratelimit-remaining': false, 'x-ratelimit-reset': false },
  });
  await app.register(fastifyMultipart);
  signIn(app, { sessions, cookieName, addresses, hashes, log });
  await serveAssets(app);
  healthRoute(app, dashboard);
  registerPages(app, dashboard);
  actionRoutes(app, dashboard, log);
  const uploads = openUploads();
  app.addHook('onClose', () => uploads[Symbol.asyncDispose]());
  retryRoutes(app, dashboard, uploads);
  eventRoutes(app, dashboard, sessions);
  fileRoutes(app, dashboard);
  if (queueBoard !== null) queueRoutes(app, dashboard, queueBoard);
  return app;
}
