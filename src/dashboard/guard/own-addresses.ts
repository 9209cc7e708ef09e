/** Where the dashboard listens. */
export interface Listen {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  /** Whether only this machine can reach it. */
  readonly loopback: boolean;
}

/** Under which addresses the dashboard is reached. */
export interface OwnAddresses {
  /** Whether a `Host` header names the dashboard. */
  knows(host: string | undefined): host is string;
  /** The origin of the pages under a known `Host`: what browsers name when they send a form of theirs. */
  originOf(host: string): string;
  /** Whether browsers reach this `Host` by https, so that cookies must never go over http. */
  isSecure(host: string): boolean;
}

const LOOPBACK_NAMES: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * The addresses are those of this machine, the host that was named to listen on, and that of `publicUrl`, where a proxy
 * is in front. Any other name in `Host` may be that of somebody else's page, whose name was made to lead here (DNS
 * rebinding). Numeric addresses cannot be made to lead elsewhere, and are known where others are to reach it.
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

/** Without the port, in the one form that browsers write; undefined for what is no host at all. */
function hostnameOf(host: string | undefined): string | undefined {
  const address = `http://${host}`;
  if (host === undefined || !/^[\w.:[\]-]+$/.test(host) || !URL.canParse(address)) return undefined;
  return new URL(address).hostname;
}

function isNumeric(hostname: string): boolean {
  return hostname.startsWith('[') || /^\d+(\.\d+){3}$/.test(hostname);
}
