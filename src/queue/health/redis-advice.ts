import type { Queues } from '../open-queues.ts';

/**
 * What about this Redis could lose runs, as a sentence for the log; null when all is well. BullMQ itself warns of an
 * eviction policy.
 */
export async function redisAdvice({ runs, ask }: Queues): Promise<string | null> {
  const client = await ask(runs.getBackend().client);
  const info = await ask(client.info());
  return /^aof_enabled:0/m.test(info)
    ? 'Redis loses its last writes when it dies: set appendonly to yes.'
    : null;
}
