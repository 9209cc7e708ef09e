import type { Queues } from './open-queues.ts';

/** What about this Redis could lose runs: sentences for the log. Empty when all is well. */
export async function redisAdvice({ runs }: Queues): Promise<readonly string[]> {
  const client = await runs.getBackend().client;
  const info = await client.info();
  const setting = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const policy = setting('maxmemory_policy') ?? 'noeviction';
  const advice: string[] = [];
  if (policy !== 'noeviction') {
    advice.push(`Redis may drop keys when it is full: set maxmemory-policy to noeviction, not ${policy}.`);
  }
  if (setting('aof_enabled') === '0') {
    advice.push('Redis loses what it was told last when it dies: set appendonly to yes.');
  }
  return advice;
}
