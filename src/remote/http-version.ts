type Headers = Readonly<Record<string, string | string[] | undefined>>;

/** The validators by which a server identifies a version of a file (RFC 9110, section 8.8). */
interface Validators {
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** A file that was written this shortly before it was sent may be written again within the same second. */
const SETTLED_MS = 2_000;

/** The version of a file for which the server sends no validators: it allows no conditional write. */
export const UNKNOWN_VERSION = '{}';

export function headerOf(headers: Headers, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** The version that an answer names; null when it names none that surely changes with the content. */
export function versionOf(headers: Headers): string | null {
  const etag = headerOf(headers, 'etag');
  const lastModified = headerOf(headers, 'last-modified');
  const age = Date.parse(headerOf(headers, 'date') ?? '') - Date.parse(lastModified ?? '');
  const settled = age >= SETTLED_MS ? lastModified : null;
  if (etag === null && settled === null) return null;
  return JSON.stringify({ etag, lastModified: settled } satisfies Validators);
}

function validatorsIn(version: string): Validators {
  const { etag, lastModified }: Partial<Validators> = JSON.parse(version);
  return { etag: etag ?? null, lastModified: lastModified ?? null };
}

/** Headers that ask for the file only if it is no longer of this version. */
export function unlessHeaders(version: string | null): Record<string, string> {
  if (version === null) return {};
  const { etag, lastModified } = validatorsIn(version);
  // A server that knows entity tags is to judge by them alone (section 13.1.3).
  if (etag !== null) return { 'if-none-match': etag };
  return lastModified === null ? {} : { 'if-modified-since': lastModified };
}

/**
 * Whether an answer with the whole file is of that version, since some servers ignore conditions. Only an entity tag
 * proves it.
 */
export function isSameVersion(version: string | null, headers: Headers): boolean {
  const etag = version === null ? null : validatorsIn(version).etag;
  return etag !== null && headerOf(headers, 'etag') === etag;
}

/** Headers that replace a file only if it still is of this version; undefined when the version cannot say so. */
export function conditionHeaders(version: string | null): Record<string, string> | undefined {
  if (version === null) return { 'if-none-match': '*' };
  const { etag, lastModified } = validatorsIn(version);
  if (etag !== null && !etag.startsWith('W/')) return { 'if-match': etag };
  return lastModified === null ? undefined : { 'if-unmodified-since': lastModified };
}
