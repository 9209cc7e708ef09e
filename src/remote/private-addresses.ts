import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { RemoteFailure } from './remote-failure.ts';

/**
 * Networks that are not the public internet: this machine, private networks, link-local with the metadata services of
 * clouds, and ranges that carry an IPv4 address inside an IPv6 one. Mapped addresses (`::ffff:…`) are matched as IPv4.
 */
const NETWORKS: readonly string[] = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.168.0.0/16', '198.18.0.0/15', '224.0.0.0/4', '240.0.0.0/4'],
  ...['::/96', '64:ff9b::/96', '64:ff9b:1::/48', '100::/64', '2001::/32', '2002::/16'],
  ...['fc00::/7', 'fe80::/10', 'fec0::/10', 'ff00::/8'],
];

const notPublic = new BlockList();
for (const network of NETWORKS) {
  const [address = '', prefix = ''] = network.split('/');
  notPublic.addSubnet(address, Number(prefix), isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** Whether an IP address is anything else than one of the public internet. */
export function isPrivateAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, '');
  return notPublic.check(bare, isIP(bare) === 6 ? 'ipv6' : 'ipv4');
}

/** A refusal to connect to a private address; it is not tried again. */
function privateAddress(host: string, address: string): RemoteFailure {
  const leads = host === address ? 'is a private address' : `leads to the private address ${address}`;
  return new RemoteFailure('final', `${host} ${leads}, which is not allowed`, {
    hint: 'If that is meant, write `{ address: …, allowPrivateAddresses: true }`.',
  });
}

/** Refuses a host that is itself a private IP address; a URL has already brought its forms into one. */
export function refusePrivateHost(hostname: string, allowPrivate: boolean): void {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (!allowPrivate && isIP(host) !== 0 && isPrivateAddress(host)) throw privateAddress(host, host);
}

/**
 * Looks names up for a connection and refuses those that lead to a private address. The check stands between looking
 * up and connecting, so that a name which answers differently the second time is no way around it.
 */
export function guardedLookup(allowPrivate: boolean): LookupFunction {
  return (hostname: string, options: LookupOptions, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses: readonly LookupAddress[]) => {
      const [first] = addresses ?? [];
      const wrong = allowPrivate ? undefined : addresses?.find(({ address }) => isPrivateAddress(address));
      if (error !== null) callback(error, '');
      else if (wrong !== undefined) callback(privateAddress(hostname, wrong.address), '');
      else if (options.all === true) callback(null, [...addresses]);
      else callback(null, first?.address ?? '', first?.family ?? 4);
    });
  };
}
