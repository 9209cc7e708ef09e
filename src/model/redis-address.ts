/** What `REDIS_URL` leads to. */
export interface RedisAddress {
  /** One server, or some nodes of a Redis Cluster, any of which may be asked for the others. */
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly db: number;
  readonly username?: string;
  readonly password?: string;
  readonly tls: boolean;
}

/** What an address of Redis looks like. */
export const REDIS_URL_FORM = 'redis://[user:password@]host[:port][/number]';

const PORT = 6379;

/**
 * Reads `redis://user:password@host:port/db`, or `rediss:` with TLS; several `host:port` separated by commas are nodes
 * of a Redis Cluster. Undefined when it is something else.
 */
export function parseRedisUrl(text: string): RedisAddress | undefined {
  const [, scheme = '', user = '', hosts = '', rest = ''] =
    /^(rediss?:\/\/)((?:[^@/]*@)?)([^/]*)(\/?\d*)$/.exec(text) ?? [];
  if (scheme === '') return undefined;
  const urls = hosts.split(',').map((host) => `${scheme}${user}${host}${rest}`);
  if (!urls.every((url) => URL.canParse(url))) return undefined;
  const [first, ...others] = urls.map((url) => new URL(url));
  if (first === undefined) return undefined;
  const username = decoded(first.username);
  const password = decoded(first.password);
  if (username === undefined || password === undefined) return undefined;
  return {
    nodes: [first, ...others].map(({ hostname, port }) => ({
      host: hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1',
      port: Number(port || PORT),
    })),
    db: Number(first.pathname.slice(1) || 0),
    ...(username === '' ? {} : { username }),
    ...(password === '' ? {} : { password }),
    tls: first.protocol === 'rediss:',
  };
}

/** Undefined when a % stands for nothing. */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
