import { createServer, type Socket } from 'node:net';

/** A mail server on loopback, without TLS, which takes every mail. */
export interface MailServer extends AsyncDisposable {
  readonly url: string;
  /** The mails as they arrived, with the commands before them. */
  readonly mails: readonly { readonly to: readonly string[]; readonly content: string }[];
}

/** Starts it at a port, 0 for any. */
export async function startMailServer(port = 0): Promise<MailServer> {
  const mails: { to: readonly string[]; content: string }[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => {});
    let rest = '';
    let to: string[] = [];
    let lines: string[] | null = null;
    socket.write('220 test\r\n');
    socket.on('data', (chunk) => {
      const parts = (rest + chunk.toString()).split('\r\n');
      rest = parts.pop() ?? '';
      for (const line of parts) {
        if (lines !== null) {
          if (line !== '.') {
            lines.push(line);
            continue;
          }
          mails.push({ to, content: lines.join('\n') });
          lines = null;
          to = [];
          socket.write('250 taken\r\n');
        } else if (line === 'DATA') {
          lines = [];
          socket.write('354 go on\r\n');
        } else if (line === 'QUIT') socket.end('221 bye\r\n');
        else {
          const [, address] = /^RCPT TO:<(.*)>/.exec(line) ?? [];
          if (address !== undefined) to.push(address);
          socket.write('250 ok\r\n');
        }
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `smtp://127.0.0.1:${address.port}`,
    mails,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
