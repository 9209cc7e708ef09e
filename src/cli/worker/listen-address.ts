import { UsageError } from '../../model/storeferry-error.ts';

/** Where to listen. */
export interface ListenAddress {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

const LOOPBACK = '127.0.0.1';

/** Parses `[HOST:]PORT`; the default host is loopback. UsageError for anything else. */
export function parseListenAddress(text: string): ListenAddress {
  const found = /^(?:(?:\[(?<v6>[0-9a-f:.]+)\]|(?<name>[^:[\]\s]+)):)?(?<port>\d{1,5})$/i.exec(text);
  const port = Number(found?.groups?.['port']);
  if (found === null || port > 65_535) {
    throw new UsageError(`--listen expects a port, or an address and a port, and got '${text}'.`, {
      hint: 'Such as 9464 (this machine only), 0.0.0.0:9464 (every network) or [::1]:9464.',
    });
  }
  return { host: found.groups?.['v6'] ?? found.groups?.['name'] ?? LOOPBACK, port };
}

/** Whether only this machine can reach it. */
export function isLoopback({ host }: ListenAddress): boolean {
  return host === 'localhost' || host === '::1' || host.startsWith('127.');
}
