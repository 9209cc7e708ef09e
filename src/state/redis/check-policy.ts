import { Cluster } from 'ioredis';
import { connectRedis } from './connect.ts';

/** A setting of Redis under which it may forget what Storeferry relies on. */
export interface RedisPolicyProblem {
  readonly message: string;
  readonly hint: string;
  /** Whether what the store has acknowledged is lost in the ordinary course of things, not only by an accident. */
  readonly grave: boolean;
}

/** What a look at Redis shows. */
export interface RedisLook {
  /** Null when it does not say. */
  readonly version: string | null;
  /** How long an answer took, in milliseconds. */
  readonly ms: number;
  readonly problems: readonly RedisPolicyProblem[];
}

/** Shorter than the time limit of a check (run/online/run-checks.ts), so that its findings say why Redis does not answer. */
const LOOK_TIMEOUT_MS = 8_000;

/** Connects, asks Redis about itself, and disconnects. StateError when it cannot be reached or refuses. */
export async function lookAtRedis(url: string): Promise<RedisLook> {
  const { client, ask, close } = await connectRedis({ url, commandTimeoutMs: LOOK_TIMEOUT_MS });
  try {
    const began = performance.now();
    const server = await ask(client.info('server'));
    const ms = Math.round(performance.now() - began);
    const nodes = client instanceof Cluster ? client.nodes('master') : [client];
    const infos = await ask(
      Promise.all(nodes.flatMap((node) => [node.info('memory'), node.info('persistence')])),
    );
    const version = /^redis_version:(\S+)/m.exec(server)?.[1] ?? null;
    const problems = infos.flatMap(judgeRedisPolicy);
    const distinct = new Map(problems.map((problem) => [problem.message, problem]));
    return { version, ms, problems: [...distinct.values()] };
  } finally {
    await close();
  }
}

/**
 * Whether Redis keeps what it is given: it must neither evict keys when it is full nor lose them when it restarts. Reads
 * answers to INFO only, which managed services allow; a line that is missing shows no problem.
 */
export function judgeRedisPolicy(info: string): RedisPolicyProblem[] {
  const lines = info.split(/\r?\n/).map((line) => line.split(':', 2));
  const found = new Map(lines.map(([name = '', value = '']) => [name, value]));
  const problems: RedisPolicyProblem[] = [];
  const policy = found.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    problems.push({
      message: `Redis has maxmemory-policy ${policy}: when it is full it forgets what the store has acknowledged.`,
      hint: 'Set maxmemory-policy noeviction.',
      grave: true,
    });
  }
  if (found.get('aof_enabled') === '0') {
    problems.push({
      message:
        'Redis writes no append-only file: when it restarts it forgets the last minutes, or everything.',
      hint: 'Set appendonly yes.',
      grave: false,
    });
  }
  return problems;
}
