import { describe, expect, it } from 'vitest';
import { guardedLookup, isPrivateAddress, refusePrivateHost } from '../../src/remote/guarded-lookup.ts';

describe('a private address', () => {
  it.each([
    '127.0.0.1',
    '127.9.9.9',
    '10.1.2.3',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '192.0.0.1',
    '198.18.0.1',
    '224.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    'fc00::1',
    'fd12::1',
    'fe80::1',
    'fe80::1%eth0',
    'fec0::1',
    'ff02::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '::ffff:a9fe:a9fe',
    '::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '2001:0:1::1',
    '168.63.129.16',
    '::ffff:168.63.129.16',
    '::ffff:0:127.0.0.1',
    '::ffff:0:a9fe:a9fe',
    '0:0:0:0:ffff:0:7f00:1',
    '::fffe:127.0.0.1',
    '::1:7f00:1',
    '64:ff9b:1::1',
    '100::1',
    '2001:db8::1',
    '2001:10::1',
    '3fff::1',
    '5f00::1',
    '4000::1',
    '8000::1',
    '203.0.113.7',
    '192.88.99.1',
    '2600::5efe:10.0.0.1',
    '2600::5efe:a9fe:a9fe',
    '2600:1:2:3:0:5efe:7f00:1',
    '2600:1:2:3:200:5EFE:192.168.0.1',
    '2600:1:2:3:300:5efe:127.0.0.1',
    // No address as the system gives it: some resolvers read them as 127.0.0.1.
    '127.1',
    '0x7f.0.0.1',
    '2130706433',
    '',
  ])('is %s', (address) => {
    expect(isPrivateAddress(address)).toBe(true);
  });

  it.each([
    '1.1.1.1',
    '172.32.0.1',
    '172.15.0.1',
    '11.0.0.1',
    '100.128.0.1',
    '168.63.129.17',
    '2606:4700::1111',
    '2a00:1450:4001::1',
    '2001:4860:4860::8888',
    '2600:0:5efe::1',
    '2600::5efe',
    '2600:1:2:3:4:5efe:7f00:1',
    '::ffff:1.1.1.1',
    '::ffff:101:101',
  ])('is not %s', (address) => {
    expect(isPrivateAddress(address)).toBe(false);
  });

  it.each([
    'http://127.0.0.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://0177.0.0.1/',
    'http://127.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:7f00:1]/',
    'http://0/',
    'http://[::ffff:0:127.0.0.1]/',
    'http://①②⑦.0.0.1/',
  ])('is recognised as the host of %s', (url) => {
    expect(() => refusePrivateHost(new URL(url).hostname, false)).toThrow(/private address/);
    expect(() => refusePrivateHost(new URL(url).hostname, true)).not.toThrow();
  });

  it.each([
    'http://169.254.169.254/',
    'http://168.63.129.16/',
    'http://2822734096/',
    'http://2852039166/latest/meta-data',
    'http://100.100.100.200/',
    'http://[fe80::1]/',
    'http://[febf::1]/',
    'http://[fd00:ec2::254]/',
    'http://[::ffff:169.254.169.254]/',
    'http://[64:ff9b::169.254.169.254]/',
    'http://[2002:a9fe:a9fe::1]/',
  ])('is never allowed as the host of %s, unless the job names it', (url) => {
    const { hostname } = new URL(url);
    for (const allow of [false, true])
      expect(() => refusePrivateHost(hostname, allow, 'erp.example')).toThrow(
        /private address.*never allowed/,
      );
    expect(() => refusePrivateHost(hostname, false, hostname)).toThrow(/private address/);
    expect(() => refusePrivateHost(hostname, true, hostname)).not.toThrow();
  });

  it('is refused when a name resolves to it, between look-up and connection', async () => {
    const lookUp = (allow: boolean, all: boolean) =>
      new Promise((resolve) =>
        guardedLookup(allow)('localhost', { all }, (error, address) => resolve(error?.message ?? address)),
      );
    expect(await lookUp(false, true)).toMatch(/localhost leads to the private address/);
    expect(await lookUp(false, false)).toMatch(/localhost leads to the private address/);
    expect(await lookUp(true, false)).toMatch(/^(127\.0\.0\.1|::1)$/);
  });
});
