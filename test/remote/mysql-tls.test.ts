import { createServer } from 'node:net';
import { getCACertificates, setDefaultCACertificates, TLSSocket } from 'node:tls';
import { afterAll, expect, it } from 'vitest';
import { queryMysql } from '../../src/remote/mysql-kind.ts';
import { endWithTest } from '../support/processes.ts';

/** Of other.example, signed by itself; valid for a hundred years. */
const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBoTCCAUegAwIBAgIUbBDAvl7HZxKlguADvZX+rsJj0xUwCgYIKoZIzj0EAwIw
GDEWMBQGA1UEAwwNb3RoZXIuZXhhbXBsZTAgFw0yNjExMjgwOTU0NTVaGA8yMTI2
MTEwNDA5NTQ1NVowGDEWMBQGA1UEAwwNb3RoZXIuZXhhbXBsZTBZMBMGByqGSM49
AgEGCCqGSM49AwEHA0IABNLhF2MZrB8MGmgie9264UEEg8qDppkUhrA4m81gLMN+
GvZL+jLOf2MxxKIkw2OnXPYiEyqska3M282LE0p91jejbTBrMB0GA1UdDgQWBBRJ
3QRMrwQtNHXNPEcnY5Zka1xGVDAfBgNVHSMEGDAWgBRJ3QRMrwQtNHXNPEcnY5Zk
a1xGVDAPBgNVHRMBAf8EBTADAQH/MBgGA1UdEQQRMA+CDW90aGVyLmV4YW1wbGUw
CgYIKoZIzj0EAwIDSAAwRQIgZCQT2RHGh/QshBnmq2cfpjdzKKOWL/z9TdsrA6gV
yKMCIQCIAm2DRBq/UCJuZGZpjCc5zmmntRrx3enJ3fhEQajQ/g==
-----END CERTIFICATE-----`;
const KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgkMhezt0JhZ93g+on
hKxYFNjyKbuBkOyAHEH7982aXD+hRANCAATS4RdjGawfDBpoInvduuFBBIPKg6aZ
FIawOJvNYCzDfhr2S/oyzn9jMcSiJMNjp1z2IhMqrJGtzNvNixNKfdY3
-----END PRIVATE KEY-----`;

const SSL_REQUEST_BYTES = 36;
const CAPABILITIES = 0x88a00;

/** The first packet of a MySQL server that offers TLS. */
function greeting(): Buffer {
  const low = Buffer.alloc(2);
  low.writeUInt16LE(CAPABILITIES & 0xffff);
  const high = Buffer.alloc(2);
  high.writeUInt16LE(CAPABILITIES >>> 16);
  const payload = Buffer.concat([
    Buffer.from('\x0a8.0.0\0'),
    Buffer.alloc(4),
    Buffer.alloc(8, 'a'),
    Buffer.alloc(1),
    low,
    Buffer.from([45, 2, 0]),
    high,
    Buffer.from([21]),
    Buffer.alloc(10),
    Buffer.from(`${'b'.repeat(12)}\0mysql_native_password\0`),
  ]);
  return Buffer.concat([Buffer.from([payload.length, 0, 0, 0]), payload]);
}

const trusted = getCACertificates('default');
afterAll(() => setDefaultCACertificates(trusted));

it('tells its password to no MySQL server with the certificate of another', async () => {
  setDefaultCACertificates([...trusted, CERTIFICATE]);
  let received = 0;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.write(greeting());
    socket.once('data', (chunk: Buffer) => {
      socket.pause();
      // What follows the request for TLS is TLS.
      socket.unshift(chunk.subarray(SSL_REQUEST_BYTES));
      const secure = new TLSSocket(socket, { isServer: true, cert: CERTIFICATE, key: KEY });
      secure
        .on('error', () => {})
        .on('data', ({ length }) => {
          received += length;
          secure.destroy();
        });
    });
  });
  endWithTest(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const url = `mysql://shop:secret@localhost:${port}/shop?ssl=true`;
  const query = {
    kind: 'mysql',
    location: url,
    url,
    query: 'SELECT 1',
    isQuery: true,
    allowPrivateAddresses: true,
  } as const;
  await expect(queryMysql(query, new AbortController().signal)).rejects.toThrow(/altnames/);
  expect(received).toBe(0);
});
