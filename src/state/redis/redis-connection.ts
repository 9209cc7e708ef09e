import { readFileSync } from 'node:fs';
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { withoutUndefined } from '../../model/json-object.ts';
import { parseRedisUrl, REDIS_URL_FORM, type RedisAddress } from '../../model/remote-address.ts';
import { errorCode, messageOf, StateError, StateUnavailableError } from '../../model/storeferry-error.ts';

/** For each server. Shorter than the limit of a check (`src/run/online/online-checks.ts`), so that its findings show why Redis does not answer. */
const CHECK_TIMEOUT_MS = 8_000;
/** How long a command may wait for an answer, including reconnects: longer than a restart of Redis. */
export const COMMAND_TIMEOUT_MS = 10_000;
const RECONNECT_MAX_MS = 1_000;
/**
 * After a failover a connection may stay open without delivering anything: a connection without an expected answer
 * for this long is replaced.
 */
const SILENT_MS = 10_000;

/** The delay before the next attempt to reconnect. */
export function reconnectDelayMs(attempts: number): number {
  return Math.min(50 * attempts, RECONNECT_MAX_MS);
}

/** A client whose commands fail with a StateError, with advice and without a password. */
export type RedisClient = Redis | Cluster;

/** A connection to one Redis server, or to a Redis Cluster. */
export interface RedisConnection {
  readonly client: RedisClient;
  close(): Promise<void>;
  /** Increases with each new connection to a server, which may have restarted without its last writes. */
  connections(): number;
}

/** The address of Redis; `commandTimeoutMs` is how long a call waits while Redis is unavailable. */
export interface RedisConnectionOptions {
  /** `redis://user:password@host:port/db`, or `rediss:` with TLS; separate several nodes of a Cluster with commas. */
  readonly url: string;
  readonly commandTimeoutMs?: number | undefined;
}

/**
 * Connects; StateError if no server can be reached or it refuses, after at most `commandTimeoutMs` for each node. Detects a Cluster and
 * finds all of its nodes.
 */
export async function connectRedis({
  url,
  commandTimeoutMs = COMMAND_TIMEOUT_MS,
}: RedisConnectionOptions): Promise<RedisConnection> {
  const address = parseRedisUrl(url);
  if (address === undefined) {
    throw new StateError(`REDIS_URL is not an address of the form ${REDIS_URL_FORM}.`, {
      hint: 'rediss:// uses TLS; several nodes of a Redis Cluster are separated by commas. Special characters of a password are written as %40 and the like.',
    });
  }
  const { nodes, db } = address;
  const options = { ...serverOptions(address), ...connectionOptions(commandTimeoutMs) };
  const shown = shownNodes(nodes);
  const single = await firstThatAnswers(nodes, { ...options, db }, commandTimeoutMs, shown);
  if (single !== 'cluster') {
    if (nodes.length === 1) return connection(single, shown, (answer) => answer);
    single.disconnect();
    throw new StateError(
      `REDIS_URL names several servers, but the one that answers is not part of a Redis Cluster.`,
      {
        hint: 'Set REDIS_URL to one server, or to nodes of one Cluster.',
      },
    );
  }
  if (db !== 0) {
    throw new StateError(`Redis at ${shown} is a Cluster, which has no database ${db}.`, {
      hint: 'Remove the number from REDIS_URL, and give each workspace its own REDIS_PREFIX.',
    });
  }
  const cluster = new Cluster([...nodes], { redisOptions: options, lazyConnect: true });
  cluster.on('error', () => {});
  try {
    await withTimeout(cluster.connect(), commandTimeoutMs);
    return connection(cluster, shown, (answer) => withTimeout(answer, commandTimeoutMs));
  } catch (error) {
    cluster.disconnect();
    throw asStateError(error, shown);
  }
}

/**
 * A client of the first node that answers, or 'cluster' if that node belongs to a Cluster. StateError if none
 * answers.
 */
async function firstThatAnswers(
  nodes: RedisAddress['nodes'],
  options: ReturnType<typeof connectionOptions> & ReturnType<typeof serverOptions> & { readonly db: number },
  commandTimeoutMs: number,
  shown: string,
) {
  let failure: unknown;
  for (const node of nodes) {
    const client = new Redis({ ...options, ...node });
    let lastError: unknown;
    client.on('error', (error) => {
      lastError = error;
    });
    try {
      await withTimeout(client.connect(), commandTimeoutMs);
      const info = await client.info('cluster');
      if (!info.includes('cluster_enabled:1')) return client;
      client.disconnect();
      return 'cluster';
    } catch (error) {
      client.disconnect();
      failure = lastError ?? error;
    }
  }
  throw asStateError(failure, shown);
}

/** User, password and TLS for each server of an address. */
function serverOptions({ username, password, tls, ca }: RedisAddress) {
  return withoutUndefined<Pick<RedisOptions, 'username' | 'password' | 'tls'>>({
    username,
    password,
    tls: tls ? (ca === undefined ? {} : { ca: readCertificates(ca) }) : undefined,
  });
}

function readCertificates(file: string) {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new StateError(`REDIS_CA names the file ${file}, which cannot be read (${errorCode(cause)}).`, {
      cause,
      hint: 'Correct the path, or give this user read access.',
    });
  }
}

/** The settings of each connection to a node, as in RedisOptions of ioredis. */
interface NodeOptions {
  readonly maxRetriesPerRequest: null;
  readonly socketTimeout: number;
  readonly commandTimeout?: number;
}

/**
 * How BullMQ, whose keys have hash tags, connects to the address: by a client of the Redis Cluster, or by the settings of its
 * single server. StateError if nothing answers.
 */
export async function bullConnection<Options extends NodeOptions>(
  options: RedisConnectionOptions,
  nodeOptions: Options,
) {
  const { client, close } = await connectRedis(options);
  await close();
  const address = parseRedisUrl(options.url);
  const redisOptions = { ...(address && serverOptions(address)), ...nodeOptions };
  const { nodes = [], db = 0 } = address ?? {};
  const cluster = client instanceof Cluster ? new Cluster([...nodes], { redisOptions }) : undefined;
  return {
    connection: cluster ?? { ...redisOptions, ...nodes[0], db },
    async [Symbol.asyncDispose]() {
      await cluster?.quit().catch(() => cluster.disconnect());
    },
  };
}

/** The failure of another client of the same Redis, such as BullMQ's, as a RedisClient reports it. */
export function redisFailure(error: unknown, url: string): StateError {
  if (error instanceof StateError) return error;
  return asStateError(error, shownNodes(parseRedisUrl(url)?.nodes ?? []));
}

/** A setting with which Redis may lose data that Storeferry needs. */
interface RedisPolicyProblem {
  readonly message: string;
  readonly hint: string;
  /** Whether acknowledgements are lost in normal operation, not only after a failure. */
  readonly grave: boolean;
}

/** The results of a check of Redis. */
export type RedisServerCheck = Awaited<ReturnType<typeof checkRedisServer>>;

/** Connects, queries Redis about itself, and disconnects. StateError if it cannot be reached or refuses. */
export async function checkRedisServer(url: string) {
  const { client, close } = await connectRedis({ url, commandTimeoutMs: CHECK_TIMEOUT_MS });
  try {
    const began = performance.now();
    const server = await client.info('server');
    const ms = Math.round(performance.now() - began);
    const nodes = client instanceof Cluster ? client.nodes('master') : [client];
    const infos = await Promise.all(
      nodes.flatMap((node) => [node.info('memory'), node.info('persistence')]),
    ).catch((error: unknown) => {
      throw redisFailure(error, url);
    });
    const version = /^redis_version:(\S+)/m.exec(server)?.[1] ?? null;
    const problems = infos.flatMap(judgeRedisPolicy);
    const distinct = new Map(problems.map((problem) => [problem.message, problem]));
    return {
      /** Null when unknown. */
      version,
      /** The response time in milliseconds. */
      ms,
      problems: [...distinct.values()],
    };
  } finally {
    await close();
  }
}

/**
 * Whether Redis keeps its data: it must not evict keys when it is full, nor lose them when it restarts. Uses only the
 * answer to INFO, which managed services allow; a missing line is not a problem.
 */
export function judgeRedisPolicy(info: string): RedisPolicyProblem[] {
  const lines = info.split(/\r?\n/).map((line) => line.split(':', 2));
  const found = new Map(lines.map(([name = '', value = '']) => [name, value]));
  const problems: RedisPolicyProblem[] = [];
  const policy = found.get('maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    problems.push({
      message: `Redis has maxmemory-policy ${policy}: when it is full, it deletes records of what the store acknowledged.`,
      hint: 'Set maxmemory-policy noeviction.',
      grave: true,
    });
  }
  if (found.get('aof_enabled') === '0') {
    problems.push({
      message: 'Redis writes no append-only file: a restart loses the last minutes, or everything.',
      hint: 'Set appendonly yes.',
      grave: false,
    });
  }
  return problems;
}

function shownNodes(nodes: RedisAddress['nodes']) {
  return nodes.map(({ host, port }) => `${host}:${port}`).join(',');
}

function connection(
  client: RedisClient,
  address: string,
  limited: <Answer>(answer: Promise<Answer>) => Promise<Answer>,
): RedisConnection {
  let connections = 0;
  const explained = async (answer: Promise<unknown>) => {
    try {
      return await limited(answer);
    } catch (error) {
      throw asStateError(error, address);
    }
  };
  // From a single server, or from each node of a Cluster.
  for (const event of ['ready', '+node']) client.on(event, () => connections++);
  return {
    client: new Proxy(client, {
      get(_, name) {
        const member: unknown = Reflect.get(client, name);
        if (typeof member !== 'function') return member;
        return (...args: readonly unknown[]) => {
          const answer: unknown = Reflect.apply(member, client, args);
          return answer instanceof Promise ? explained(answer) : answer;
        };
      },
    }),
    connections: () => connections,
    async close() {
      await limited(client.quit()).catch(() => client.disconnect());
    },
  };
}

function connectionOptions(commandTimeoutMs: number) {
  return {
    lazyConnect: true,
    connectTimeout: commandTimeoutMs,
    // Counts from the call, including reconnects.
    commandTimeout: commandTimeoutMs,
    maxRetriesPerRequest: null,
    socketTimeout: SILENT_MS,
    retryStrategy: reconnectDelayMs,
  } satisfies RedisOptions;
}

/** `commandTimeout` covers neither the time while a Cluster has no node, nor the readiness check of a connection. */
async function withTimeout<Answer>(answer: Promise<Answer>, ms: number) {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), ms);
  });
  try {
    return await Promise.race([answer, expired]);
  } finally {
    clearTimeout(timer);
  }
}

const NOT_READY = /^(LOADING|BUSY|CLUSTERDOWN|TRYAGAIN|MASTERDOWN)/;
const UNREACHABLE =
  /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|ECONNRESET|closed|timed out|no answer/i;
/** Also what a full disk and a failover answer. */
const PASSING = new RegExp(`${NOT_READY.source}|^(OOM|READONLY|MISCONF)|${UNREACHABLE.source}`, 'i');

/**
 * Only the message is kept: errors of ioredis contain the command with its arguments, including passwords and bodies.
 */
function asStateError(error: unknown, address: string) {
  const found = messageOf(error);
  const [problem, hint] = explain(found);
  const kind = PASSING.test(found) ? StateUnavailableError : StateError;
  return new kind(`Redis at ${address} ${problem} (${found}).`, { hint, cause: new Error(found) });
}

function explain(message: string): readonly [problem: string, hint: string] {
  if (/^(NOAUTH|WRONGPASS|NOPERM|ERR AUTH|ERR invalid password)/.test(message)) {
    return ['refuses the connection', 'Check user, password and permissions in REDIS_URL.'];
  }
  if (/certificate|UNABLE_TO/i.test(message)) {
    return [
      'has a certificate that is not trusted',
      'For a private CA set REDIS_CA to the file of its certificate.',
    ];
  }
  if (message.startsWith('OOM')) {
    return [
      'is full',
      'Give it more memory (maxmemory), then run again to continue: acknowledged records are kept.',
    ];
  }
  if (message.startsWith('READONLY')) {
    return ['is a replica and takes no writes', 'Set REDIS_URL to the primary.'];
  }
  if (message.startsWith('MISCONF')) {
    return ['cannot write to its disk', 'Check the log of Redis, then run again to continue.'];
  }
  if (NOT_READY.test(message)) {
    return ['is not ready', 'Wait a moment, then run again to continue.'];
  }
  if (UNREACHABLE.test(message)) {
    return ['cannot be reached', 'Check REDIS_URL and that Redis runs, then run again to continue.'];
  }
  return ['answered with an error', 'Check the log of Redis, then run again to continue.'];
}
