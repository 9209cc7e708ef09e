import type { FastifyInstance } from 'fastify';
import { type DashboardContext, QUEUES_PATH, type QueueBoard } from '../dashboard-context.ts';
import { PAGE_POLICY } from '../guard/guard.ts';

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
export function queueRoutes(
  app: FastifyInstance,
  { openWorkspace }: Pick<DashboardContext, 'openWorkspace'>,
  board: QueueBoard,
): void {
  app.register(
    async (scope) => {
      scope.addHook('preHandler', async () => {
        board.show(openWorkspace().inspection.stores().names ?? []);
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
