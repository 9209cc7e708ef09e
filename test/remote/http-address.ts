import type { HttpAddress } from '../../src/remote/http-client.ts';

/** An address on this machine, which has to be allowed. */
export function httpAddress(address: string, changes: Partial<HttpAddress> = {}): HttpAddress {
  return {
    kind: 'http',
    location: address.replace(/\?.*$/, ''),
    address,
    headers: {},
    auth: null,
    allowPrivateAddresses: true,
    ...changes,
  };
}
