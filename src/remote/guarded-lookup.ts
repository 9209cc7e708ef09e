import { type LookupAddress, type LookupOptions, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { RemoteFailure } from './remote-client.ts';

/**
 * Networks that are not the public internet: this machine, private networks, link-local with the metadata services of
 * clouds, and ranges that carry an IPv4 address inside an IPv6 one. Mapped addresses (`::ffff:…`) are matched as IPv4. Of
 * IPv6 all else than `PUBLIC_IPV6` is refused anyway.
 */
const NETWORKS: readonly string[] = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12'],
  ...['192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15'],
  ...['198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4'],
  // Azure's platform services, among them those that hand out secrets, at a public address.
  '168.63.129.16/32',
  ...['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
];
/** The only IPv6 addresses that the public internet has, besides mapped IPv4 ones. */
const PUBLIC_IPV6 = '2000::/3';
const MAPPED_IPV4 = '::ffff:0:0/96';

const notPublic = listOf(...NETWORKS);
const publicIpv6 = listOf(PUBLIC_IPV6, MAPPED_IPV4);

function listOf(...networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix = ''] = network.split('/');
    list.addSubnet(address, Number(prefix), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** Whether a text is anything else than an IP address of the public internet. */
export function isPrivateAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, '');
  switch (isIP(bare)) {
    case 4:
      return notPublic.check(bare, 'ipv4');
    case 6:
      return !publicIpv6.check(bare, 'ipv6') || notPublic.check(bare, 'ipv6') || isIsatap(bare);
    default:
      return true;
  }
}

/** Whether the last 64 bits are those of ISATAP (RFC 5214, section 6.1): a tunnel within a site to the IPv4 address in them, under any prefix. */
function isIsatap(address: string): boolean {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const before = head.split(':').filter((group) => group !== '');
  const after = (tail ?? '').split(':').filter((group) => group !== '');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  const [universal = '', organisation = ''] = [...before, ...zeros, ...after].slice(4);
  return organisation === '5efe' && (Number.parseInt(universal, 16) & ~0x300) === 0;
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
