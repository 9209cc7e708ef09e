import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { DashboardContext } from './dashboard-context.ts';

const ANSWER_WITHIN_MS = 2_000;

/**
 * Serves `/healthz` for whatever watches over the dashboard: 200, or 503 with the reason while its state cannot be read.
 * Public route: it names no address and no job. Requests at the same time share one look at the state.
 */
export function healthRoute(
  app: FastifyInstance,
  { context, redisUrl }: Pick<DashboardContext, 'context' | 'redisUrl'>,
): void {
  let looking: Promise<boolean> | null = null;
  const stateAnswers = async (): Promise<boolean> => {
    looking ??= context.state.runs
      .list({ limit: 1 })
      .then(
        () => true,
        () => false,
      )
      .finally(() => {
        looking = null;
      });
    const waited = new AbortController();
    const late = sleep(ANSWER_WITHIN_MS, false, { ref: false, signal: waited.signal }).catch(() => false);
    try {
      return await Promise.race([looking, late]);
    } finally {
      waited.abort();
    }
  };
  app.get('/healthz', { config: { who: 'anyone' } }, async (_request, reply) => {
    const problem = (await stateAnswers())
      ? null
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
