import { type LookupAddress, lookup } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { permanentFailure } from './remote-client.ts';

/**
 * Networks that are not the public internet: this machine, private networks, link-local with the metadata services of
 * clouds, and ranges that embed an IPv4 address in an IPv6 one. Mapped addresses (`::ffff:…`) are matched as IPv4.
 * IPv6 addresses outside `PUBLIC_IPV6` are always refused.
 */
const NETWORKS: readonly string[] = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
  // Azure's platform services, some of which return secrets, use a public address.
  '168.63.129.16/32',
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '3fff::/20',
];
/** The only public IPv6 addresses, besides mapped IPv4 ones. */
const PUBLIC_IPV6 = '2000::/3';
const MAPPED_IPV4 = '::ffff:0:0/96';

/**
 * Link-local networks and the metadata services of clouds, which hand out credentials, with their forms in IPv6. Whoever allows
 * private addresses does not mean them.
 */
const METADATA_NETWORKS: readonly string[] = [
  '169.254.0.0/16',
  'fe80::/10',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
  'fd00:ec2::/32',
  'fd20:ce::/32',
  '64:ff9b::a9fe:0/112',
  '2002:a9fe::/32',
];

const metadata = listOf(...METADATA_NETWORKS);
const notPublic = listOf(...NETWORKS);
const publicIpv6 = listOf(PUBLIC_IPV6, MAPPED_IPV4);

function listOf(...networks: readonly string[]) {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix = ''] = network.split('/');
    list.addSubnet(address, Number(prefix), isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}

/** Whether a text is anything but a public IP address. */
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

/** Whether an IP address is in one of `METADATA_NETWORKS`. */
function isMetadataAddress(address: string) {
  const bare = address.replace(/%.*$/, '');
  return metadata.check(bare, isIP(bare) === 6 ? 'ipv6' : 'ipv4');
}

/** Whether it is an ISATAP address (RFC 5214, section 6.1): under any prefix, its last 64 bits embed the IPv4 address of a site. */
function isIsatap(address: string) {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::');
  const before = head.split(':').filter((group) => group !== '');
  const after = (tail ?? '').split(':').filter((group) => group !== '');
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  const [universal = '', organisation = ''] = [...before, ...zeros, ...after].slice(4);
  return organisation === '5efe' && (Number.parseInt(universal, 16) & ~0x300) === 0;
}

/** A refusal to connect to a private address; it is not retried. */
function privateAddress(host: string, address: string) {
  const leads = host === address ? 'is a private address' : `leads to the private address ${address}`;
  const [why, whatToWrite] = isMetadataAddress(address)
    ? [
        " that is link-local or of a cloud's metadata service, which is never allowed",
        'this address itself into the job',
      ]
    : [
        ', which is not allowed',
        '`{ address: …, allowPrivateAddresses: true }` (for init: --allow-private-addresses)',
      ];
  return permanentFailure(`${host} ${leads}${why}`, `If that is intended, write ${whatToWrite}.`);
}

/**
 * Refuses a host that is a private IP address; the URL parser has normalised it. Link-local addresses and metadata services are
 * refused although private addresses are allowed, unless it is `named`: the host that the owner of the job wrote.
 */
export function refusePrivateHost(hostname: string, allowPrivate: boolean, named?: string): void {
  const host = bareHost(hostname);
  if (isIP(host) === 0 || !isRefused(host, allowPrivate)) return;
  if (allowPrivate && named !== undefined && bareHost(named) === host) return;
  throw privateAddress(host, host);
}

/** A host of an address, an IPv6 one without its brackets. */
export function bareHost(hostname: string) {
  return hostname.replace(/^\[|\]$/g, '');
}

function isRefused(address: string, allowPrivate: boolean) {
  return allowPrivate ? isMetadataAddress(address) : isPrivateAddress(address);
}

/**
 * Resolves names for a connection and refuses those that resolve to a private address, or, where these are allowed, to one of
 * `METADATA_NETWORKS`. The check runs on the addresses that
 * are then connected to, so a name that resolves differently the second time (DNS rebinding) cannot evade it.
 */
export function guardedLookup(allowPrivate: boolean): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses: readonly LookupAddress[]) => {
      const [first] = addresses ?? [];
      const wrong = addresses?.find(({ address }) => isRefused(address, allowPrivate));
      if (error !== null) callback(error, '');
      else if (wrong !== undefined) callback(privateAddress(hostname, wrong.address), '');
      else if (options.all === true) callback(null, [...addresses]);
      else callback(null, first?.address ?? '', first?.family ?? 4);
    });
  };
}
