import { connectRedis, type RedisConnectionOptions } from './connect.ts';

/** A setting of Redis under which it may forget what Storeferry relies on. */
export interface RedisPolicyProblem {
  readonly message: string;
  readonly hint: string;
}

/**
 * Whether Redis keeps what it is given: it must neither evict keys when it is full nor lose them when it restarts.
 * Reads INFO only, which managed services allow. StateError when Redis cannot be reached.
 */
export async function checkRedisPolicy(options: RedisConnectionOptions): Promise<RedisPolicyProblem[]> {
  const { client, ask, close } = await connectRedis(options);
  try {
    const info = await ask(Promise.all([client.info('memory'), client.info('persistence')]));
    return judgeRedisPolicy(info.join('\n'));
  } finally {
    await close();
  }
}

/** The problems that an answer to INFO shows; a line that is missing shows none. */
export function judgeRedisPolicy(info: string): RedisPolicyProblem[] {
  const lines = info.split(/\r?\n/).map((line) => line.split(':', 2));
  const found = new Map(lines.map(([name = '', value = '']) => [name, value]));
  const problems: RedisPolicyProblem[] = [];
  const policy = found.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    problems.push({
      message: `Redis has maxmemory-policy ${policy}: when it is full it forgets what the store has acknowledged.`,
      hint: 'Set maxmemory-policy noeviction.',
    });
  }
  if (found.get('aof_enabled') === '0') {
    problems.push({
      message:
        'Redis writes no append-only file: when it restarts it forgets the last minutes, or everything.',
      hint: 'Set appendonly yes.',
    });
  }
  return problems;
}
