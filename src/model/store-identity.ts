/** What identifies a store: its address, and the optional `id` in stores.yaml. */
export interface StoreAddress {
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

function withoutDot(hostname: string): string {
  return hostname.replace(/\.$/, '');
}

/** RFC 3986, 6.2.2: removes unnecessary escapes, and writes the digits of the others in upper case. */
function normalisedPath(pathname: string): string {
  const escaped = pathname.replaceAll(/%[\da-f]{2}/gi, (code) => {
    const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : code.toUpperCase();
  });
  return escaped.replace(/\/+$/, '');
}
