/** Where the dashboard listens. */
export interface Listen {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** Whether only this machine can reach it. */
  readonly loopback: boolean;
}

/** The addresses of the dashboard. */
export interface OwnAddresses {
  /** Whether a `Host` header names the dashboard. */
  knows(host: string | undefined): host is string;
  /** The origin of the pages under a known `Host`: browsers send it with forms of these pages. */
  originOf(host: string): string;
  /** Whether browsers reach this `Host` by https; then cookies must never be sent over http. */
  isSecure(host: string): boolean;
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * The addresses are those of this machine, the configured host, and that of `publicUrl` if there is a proxy. Any
 * other name in `Host` may belong to another site that resolves to this address (DNS rebinding). Numeric addresses
 * cannot be redirected this way; they are accepted if other machines may connect.
 */
export function ownAddresses(listen: Listen, publicUrl: URL | undefined): OwnAddresses {
  const named = hostnameOf(listen.host.includes(':') ? `[${listen.host}]` : listen.host);
  const isPublic = (host: string) => publicUrl !== undefined && host.toLowerCase() === publicUrl.host;
  return {
    knows(host): host is string {
      const hostname = hostnameOf(host);
      if (host === undefined || hostname === undefined) return false;
      if (isPublic(host) || LOOPBACK_NAMES.has(hostname) || hostname === named) return true;
      return !listen.loopback && isNumeric(hostname);
    },
    originOf: (host) =>
      publicUrl !== undefined && isPublic(host) ? publicUrl.origin : new URL(`http://${host}`).origin,
    isSecure: (host) => isPublic(host) && publicUrl?.protocol === 'https:',
  };
}

/** Without the port, in the normal form of browsers; undefined for an invalid host. */
function hostnameOf(host: string | undefined): string | undefined {
  const address = `http://${host}`;
  if (host === undefined || !/^[\w.:[\]-]+$/.test(host) || !URL.canParse(address)) return undefined;
  return new URL(address).hostname;
}

function isNumeric(hostname: string): boolean {
  return hostname.startsWith('[') || /^\d+(\.\d+){3}$/.test(hostname);
}
