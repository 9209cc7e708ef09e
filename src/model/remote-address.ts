import { isAbsolute, normalize, sep } from 'node:path';
import { z } from 'zod';
import { decodedPercents } from '../text/printable.ts';

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
  /** Whether it is a query of a database, whose rows come as CSV. */
  readonly isQuery?: true;
}

/** A query of a database server, whose rows are read like those of a file. */
export interface DatabaseAddress extends RemoteAddress {
  readonly kind: 'postgres' | 'mysql';
  /** With user and password. */
  readonly url: string;
  readonly query: string;
  readonly isQuery: true;
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
  /** The file with the certificates to trust in place of the usual ones. */
  readonly ca?: string;
  /** The beginning of all keys. */
  readonly prefix: string;
}

/** The form of a Redis address. */
export const REDIS_URL_FORM = 'redis://[user:password@]host[:port][/number]';

const DEFAULT_REDIS_PORT = 6379;

/** No colon, so that no prefix is the beginning of another prefix with its keys; no characters of patterns and hash tags. */
export const REDIS_PREFIX = /^[\w-]{1,40}$/;

/** The address with the settings that belong to it, as `parseRedisUrl` reads it. */
export function redisUrlWith(url: string, settings: Partial<Pick<RedisAddress, 'prefix' | 'ca'>>): string {
  const query = new URLSearchParams(Object.entries(settings));
  return query.size === 0 ? url : `${url}?${query}`;
}

/**
 * Reads `redis://user:password@host:port/db`, or `rediss:` with TLS; several `host:port` separated by commas are
 * nodes of a Redis Cluster; a query has the settings of `redisUrlWith`. Undefined for other text.
 */
export function parseRedisUrl(text: string): RedisAddress | undefined {
  const [, scheme = '', user = '', hosts = '', rest = '', query = ''] =
    /^(rediss?:\/\/)((?:[^@/]*@)?)([^/?]*)(\/?\d*)(\?.*)?$/.exec(text) ?? [];
  if (scheme === '') return undefined;
  const urls = hosts.split(',').map((host) => `${scheme}${user}${host}${rest}`);
  if (!urls.every((url) => URL.canParse(url))) return undefined;
  const [first, ...others] = urls.map((url) => new URL(url));
  if (first === undefined) return undefined;
  const username = decodedPercents(first.username);
  const password = decodedPercents(first.password);
  if (username === undefined || password === undefined) return undefined;
  const { prefix = 'storeferry', ca, ...unknown } = Object.fromEntries(new URLSearchParams(query));
  if (!REDIS_PREFIX.test(prefix) || Object.keys(unknown).length > 0) return undefined;
  return {
    nodes: [first, ...others].map(({ hostname, port }) => ({
      host: hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1',
      port: Number(port || DEFAULT_REDIS_PORT),
    })),
    db: Number(first.pathname.slice(1) || 0),
    ...(username !== '' && { username }),
    ...(password !== '' && { password }),
    tls: first.protocol === 'rediss:',
    ...(ca !== undefined && { ca }),
    prefix,
  };
}

/** The place of a file: a path as written (relative to the workspace unless absolute), or on another machine. */
export type FilePlace =
  | {
      readonly path: string;
      /** The file is a SQLite database, and this its query. */
      readonly query?: string;
      readonly remote?: undefined;
    }
  | { readonly path?: undefined; readonly remote: RemoteAddress };

/** Whether the text is an absolute http or https address. */
export function isHttpUrl(text: string): boolean {
  return /^https?:\/\/[^/]/i.test(text) && URL.canParse(text);
}

/** The scheme of an address and its user, perhaps with a password; also with a password that has a sign which ends a host. */
const USER = /^([a-z][\w+.-]*:\/\/)(?:[^/?#\s]*@|[^/\s]*@)/i;

/** Whether an address names a user, perhaps with a password. */
export function hasUser(address: string): boolean {
  return USER.test(address);
}

/** The address with another text in place of its user and the `@`. */
export function replaceUser(address: string, by: string): string {
  return address.replace(USER, (_, scheme) => `${scheme}${by}`);
}

/** Scheme, host and port; undefined for a text that names no host. */
export function originOf(address: string | undefined): string | undefined {
  if (address === undefined || !URL.canParse(address)) return undefined;
  const { protocol, host } = new URL(address);
  return host === '' ? undefined : `${protocol}//${host}`;
}

/** A text that goes to the store, or the beginning of one, such as an address of pictures. */
export const storeTextSchema = z
  .string()
  .refine((text) => !hasUser(text), 'expected an address without user and password: the store shows it');

/** The address of a folder with picture files. */
export const pictureFolderSchema = storeTextSchema
  .refine(isHttpUrl, 'expected an http or https address')
  .refine((address) => !/[?#]/.test(address), 'expected the address of a folder, without ? and #');

/** What identifies a store: its address, and the optional `id` in stores.yaml. */
interface StoreAddress {
  readonly baseUrl: string;
  readonly id?: string | undefined;
}

/**
 * The identity of a store, independent of its name in stores.yaml: `id:NAME` if it has an id, otherwise its
 * normalised address. Two stores with one identity share their ledger, their locks and their rate limits.
 */
export function storeIdentity({ id, baseUrl }: StoreAddress): string {
  return id === undefined ? normalisedAddress(baseUrl) : `id:${id}`;
}

/**
 * The address without insignificant parts: scheme, default port, final slash, dot after the host, and the spellings
 * of this machine. It begins with `//`, so that no address equals an id. Other text is unchanged.
 */
export function normalisedAddress(baseUrl: string): string {
  if (!URL.canParse(baseUrl)) return baseUrl;
  const { hostname, port, pathname } = new URL(baseUrl);
  const host = isLoopback(hostname) ? 'localhost' : withoutDot(hostname);
  return `//${host}${port === '' ? '' : `:${port}`}${normalisedPath(pathname)}`;
}

const LOOPBACK = /^(localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])$/;

/** Whether a hostname, as `URL` writes it, means this machine. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.test(withoutDot(hostname));
}

function withoutDot(hostname: string) {
  return hostname.replace(/\.$/, '');
}

/** RFC 3986, 6.2.2: removes unnecessary escapes, and writes the digits of the others in upper case. */
function normalisedPath(pathname: string): string {
  const escaped = pathname.replaceAll(/%[\da-f]{2}/gi, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : code.toUpperCase();
  });
  return escaped.replace(/(?<!\/)\/+$/, '');
}

/** The most paths that braces in one path may stand for: `{a,b}` twenty times would be a million. */
export const MAX_BRACE_ALTERNATIVES = 1_000;
/** The longest path that Linux takes. */
const MAX_PATH_CHARACTERS = 4_096;

/** Whether a written path stays inside its base folder; an absolute path is the owner's own choice. */
function staysInside(path: string) {
  const paths = expandBraces(path) ?? [];
  return paths.every((one) => isAbsolute(one) || !normalize(one).split(sep).includes('..'));
}

/** A path as written in a job: relative to the workspace and inside it, or absolute. */
export const workspacePathSchema = z
  .string('expected a path')
  .trim()
  .min(1, 'expected a path')
  .max(MAX_PATH_CHARACTERS, `expected a path of at most ${MAX_PATH_CHARACTERS} characters`)
  .refine((path) => !/^[a-z][\w+.-]*:\/\//i.test(path), {
    error: 'expected a path, not an address: an address has a key of its own, such as `url` or `s3`',
    abort: true,
  })
  .refine((path) => expandBraces(path) !== undefined, {
    error: `expected a path whose braces stand for at most ${MAX_BRACE_ALTERNATIVES} paths`,
    abort: true,
  })
  .refine(staysInside, 'expected a path inside the workspace (outside it, give the absolute path)');

/** The paths that `{a,b}` and `{1..12}` in a path stand for; undefined if they are more than `MAX_BRACE_ALTERNATIVES`. */
export function expandBraces(pattern: string): readonly string[] | undefined {
  let expanded: readonly string[] = [''];
  for (let at = 0; at < pattern.length; ) {
    const group = pattern[at] === '{' ? parseBraceGroup(pattern, at) : undefined;
    const [text = ''] = /\{|(?:[^{\\]|\\.)+|\\/sy.exec(pattern.slice(at)) ?? [];
    const alternatives = group === undefined ? [text] : expandGroup(group.parts);
    if (alternatives === undefined || expanded.length * alternatives.length > MAX_BRACE_ALTERNATIVES)
      return undefined;
    expanded = expanded.flatMap((start) => alternatives.map((end) => start + end));
    at += group?.length ?? text.length;
  }
  return expanded;
}

/** Whether Excel keeps this file beside a workbook while somebody has it open, such as `~$prices.xlsx`: no pattern matches it. */
export function isOwnerFile(name: string): boolean {
  return name.startsWith('~$');
}

/** A sign of a pattern: a plain one, a test of one, or null for `*`: any signs, perhaps none. */
export type PatternSign = string | ((sign: string) => boolean) | null;

/**
 * Whether a name matches a pattern, in at most as many steps as both have signs, multiplied: after a mismatch only the last `*` takes
 * one more sign, since earlier ones need no other choice.
 */
export function matchesSigns(text: string, pattern: readonly PatternSign[]): boolean {
  const name = [...text];
  let [at, next, star, retry] = [0, 0, -1, 0];
  while (at < name.length) {
    const token = pattern[next];
    const sign = name[at] ?? '';
    if (token === null) {
      [star, retry] = [next, at];
      next++;
    } else if (typeof token === 'function' ? token(sign) : token === sign) {
      at++;
      next++;
    } else if (star >= 0) {
      retry++;
      [at, next] = [retry, star + 1];
    } else return false;
  }
  return pattern.slice(next).every((sign) => sign === null);
}

interface BraceGroup {
  /** With both braces. */
  readonly length: number;
  readonly parts: readonly string[];
}

/** The group that begins at a brace; undefined if the brace is never closed. */
function parseBraceGroup(pattern: string, start: number): BraceGroup | undefined {
  const parts: string[] = [];
  let depth = 0;
  let from = start + 1;
  for (let at = start; at < pattern.length; at++) {
    const sign = pattern[at];
    if (sign === '\\') at++;
    else if (sign === '{') depth++;
    else if (sign === ',' && depth === 1) {
      parts.push(pattern.slice(from, at));
      from = at + 1;
    } else if (sign === '}' && --depth === 0) {
      return { length: at + 1 - start, parts: [...parts, pattern.slice(from, at)] };
    }
  }
  return undefined;
}

function expandGroup(parts: readonly string[]): readonly string[] | undefined {
  const [only = ''] = parts;
  if (parts.length === 1) {
    const [, first = '', last = ''] = /^(-?\d{1,9})\.\.(-?\d{1,9})$/.exec(only) ?? [];
    // Without a comma, braces are part of the name.
    return first === '' ? expandBraces(only)?.map((text) => `{${text}}`) : numbersBetween(first, last);
  }
  const expanded: string[] = [];
  for (const part of parts) {
    const more = expandBraces(part);
    if (more === undefined || expanded.length + more.length > MAX_BRACE_ALTERNATIVES) return undefined;
    expanded.push(...more);
  }
  return expanded;
}

/** `1..3`, and `01..12` with as many digits. */
function numbersBetween(first: string, last: string): readonly string[] | undefined {
  const [from, to] = [Number(first), Number(last)];
  const count = Math.abs(to - from) + 1;
  if (count > MAX_BRACE_ALTERNATIVES) return undefined;
  const isPadded = [first, last].some((text) => /^-?0\d/.test(text));
  const width = isPadded ? Math.max(first.length, last.length) : 0;
  return Array.from({ length: count }, (_, index) => {
    const number = to < from ? from - index : from + index;
    return number < 0 ? `-${String(-number).padStart(width - 1, '0')}` : String(number).padStart(width, '0');
  });
}

/** A placeholder in the name of a file, filled in when the file is written. */
const NAME_PLACEHOLDER = /(?<!\$)\{(?:date|time|run|number)\}/g;

/** The placeholders in the name of a file, such as `{date}`. */
export function namePlaceholders(name: string): readonly string[] {
  return name.match(NAME_PLACEHOLDER) ?? [];
}
