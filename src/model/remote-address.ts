/**
 * A place outside the workspace for files, as the kinds in `src/remote/remote-kinds.ts` define it; each adds its own
 * fields.
 */
export interface RemoteAddress {
  readonly kind: string;
  /** For people: the address as written, without query and secrets; values of the environment by their names. */
  readonly location: string;
  /** Whether the address may be in a private network, or on this machine. */
  readonly allowPrivateAddresses: boolean;
  /** The address of the service, if the location does not contain it; null: the usual one. */
  readonly endpoint?: string | null;
}

/** The settings of a bucket, in S3 or in a service with the same protocol. */
export interface S3Place {
  readonly bucket: string;
  /** Null: Amazon's own. */
  readonly endpoint: string | null;
  readonly region: string;
  readonly credentials: {
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken: string | null;
  };
  /** The bucket is in the path, not in the host name. */
  readonly pathStyle: boolean;
  /** Whether the endpoint may be in a private network, or on this machine. */
  readonly allowPrivateAddresses: boolean;
}

/** The place for files of runs: a folder, or a bucket with a prefix. */
export type ArtifactsPlace =
  | {
      readonly kind: 'folder';
      /** Absolute. */
      readonly path: string;
    }
  | (S3Place & {
      readonly kind: 's3';
      /** Without slashes at its ends; empty: the whole bucket. */
      readonly prefix: string;
    });

/** The place as people write it: a path, or `s3://bucket/prefix`. */
export function artifactsLocation(place: ArtifactsPlace): string {
  if (place.kind === 'folder') return place.path;
  return `s3://${[place.bucket, place.prefix].filter((part) => part !== '').join('/')}`;
}

/** The target of `REDIS_URL`. */
export interface RedisAddress {
  /** One server, or some nodes of a Redis Cluster, any of which knows the others. */
  readonly nodes: readonly { readonly host: string; readonly port: number }[];
  readonly db: number;
  readonly username?: string;
  readonly password?: string;
  readonly tls: boolean;
}

/** The form of a Redis address. */
export const REDIS_URL_FORM = 'redis://[user:password@]host[:port][/number]';

const PORT = 6379;

/**
 * Reads `redis://user:password@host:port/db`, or `rediss:` with TLS; several `host:port` separated by commas are
 * nodes of a Redis Cluster. Undefined for other text.
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

/** Undefined if a % does not begin a valid escape. */
function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

/** The place of a file: a path as written (relative to the workspace unless absolute), or on another machine. */
export type FilePlace =
  | { readonly path: string; readonly remote?: undefined }
  | { readonly path?: undefined; readonly remote: RemoteAddress };

/** Whether the text is an absolute http or https address. */
export function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^/]/i.test(text) && URL.canParse(text);
}
