/** What a store is known by: its address, and the `id` that stores.yaml may give it. */
export interface StoreAddress {
  readonly baseUrl: string;
  readonly id?: string | undefined;
}

/**
 * What a store is, whatever name it has in stores.yaml: `id:NAME` where it has an id, else its normalised address. Two
 * stores with one identity share their ledger, their locks and their rate limits.
 */
export function storeIdentity({ id, baseUrl }: StoreAddress): string {
  return id === undefined ? normalisedAddress(baseUrl) : `id:${id}`;
}

/**
 * The address without what makes no difference: scheme, default port, slash at the end, dot behind the host, and the
 * spellings of this machine. It begins with `//`, so that no address equals an id. What is no address stays as it is.
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

function withoutDot(hostname: string): string {
  return hostname.replace(/\.$/, '');
}

/** RFC 3986, 6.2.2: what needs no escape has none, and the digits of the others are upper case. */
function normalisedPath(pathname: string): string {
  const escaped = pathname.replaceAll(/%[\da-f]{2}/gi, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : code.toUpperCase();
  });
  return escaped.replace(/\/+$/, '');
}
