import { createServer } from 'node:net';
import { Server, type SFTPWrapper } from 'ssh2';
import { sftpClient } from '../../src/remote/sftp-client.ts';
import { makeHostKey } from '../support/host-key.ts';

/** An SFTP server that answers each session as `serve` says, whoever signs in. */
export async function serveSftp(serve: (sftp: SFTPWrapper) => void) {
  const { key, fingerprint } = makeHostKey();
  const server = new Server({ hostKeys: [key] }, (client) => {
    client.on('error', () => undefined);
    client.on('authentication', (context) => context.accept());
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
  return {
    /** A client for a file, or a pattern, in its folder. */
    client: (name: string, hostKeys = [fingerprint]) =>
      sftpClient({
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
      }),
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => listener.close(() => resolve())),
  };
}
