import { createServer } from 'node:net';
import { Server, type SFTPWrapper } from 'ssh2';
import { sftpClient } from '../../src/remote/sftp-client.ts';
import type { SftpAddress } from '../../src/remote/ssh-connection.ts';
import { makeHostKey } from '../support/host-key.ts';

/** An SFTP server that answers each session as `serve` says, whoever signs in, or who knows the password. */
export async function serveSftp(serve: (sftp: SFTPWrapper) => void, known?: string) {
  const { key, fingerprint } = makeHostKey();
  let connections = 0;
  const server = new Server({ hostKeys: [key] }, (client) => {
    connections += 1;
    client.on('error', () => undefined);
    client.on('authentication', (context) => {
      const password = context.method === 'password' ? context.password : undefined;
      if (known === undefined || password === known) context.accept();
      else context.reject(['password']);
    });
    client.on('session', (accept) => accept().on('sftp', (open) => serve(open())));
  });
  // As real servers do: an answer does not wait for the confirmation of the one before.
  const listener = createServer((socket) => {
    socket.setNoDelay(true);
    server.injectSocket(socket);
  });
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const at = (name: string, hostKeys = [fingerprint]): SftpAddress => ({
    kind: 'sftp',
    location: `sftp://test/in/${name}`,
    host: '127.0.0.1',
    port: address.port,
    user: 'me',
    path: `/in/${name}`,
    hostKeys,
    password: 'x',
    privateKey: null,
    passphrase: null,
    newest: false,
    allowPrivateAddresses: true,
  });
  return {
    fingerprint,
    /** The address of a file, a pattern or a folder in its folder. */
    at,
    /** A client for it. */
    client: (name: string, hostKeys?: string[]) => sftpClient(at(name, hostKeys)),
    connections: () => connections,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => listener.close(() => resolve())),
  };
}
