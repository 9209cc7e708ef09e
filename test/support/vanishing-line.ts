import { connect, createServer, type Socket } from 'node:net';

/** A TCP line to a server of ours that goes away in the middle of a conversation. */
export interface VanishingLine extends AsyncDisposable {
  readonly port: number;
  /** How many pieces of bytes have arrived from clients. */
  pieces(): number;
}

/**
 * Starts a line to a port of this machine that is cut when piece `cutAt` from its clients arrives: every connection is
 * reset and new ones are refused, for `awayMs`, or for good when that is null.
 */
export async function startVanishingLine(
  to: number,
  { cutAt, awayMs }: { readonly cutAt: number; readonly awayMs: number | null },
): Promise<VanishingLine> {
  const open = new Set<Socket>();
  let pieces = 0;
  let away = false;
  let back: NodeJS.Timeout | undefined;
  const cut = (): void => {
    away = true;
    for (const socket of open) socket.resetAndDestroy();
    if (awayMs === null) return;
    back = setTimeout(() => {
      away = false;
    }, awayMs);
  };
  const line = createServer((client) => {
    if (away) {
      client.resetAndDestroy();
      return;
    }
    const server = connect(to, '127.0.0.1');
    const end = (): void => {
      for (const socket of [client, server]) {
        socket.destroy();
        open.delete(socket);
      }
    };
    for (const socket of [client, server]) {
      open.add(socket);
      socket.on('error', () => {}).on('close', end);
    }
    client.on('data', (bytes) => {
      pieces++;
      if (pieces === cutAt) cut();
      else server.write(bytes);
    });
    server.on('data', (bytes) => client.write(bytes));
  });
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve));
  const address = line.address();
  if (address === null || typeof address === 'string') throw new Error('The line has no port');
  return {
    port: address.port,
    pieces: () => pieces,
    async [Symbol.asyncDispose]() {
      clearTimeout(back);
      const closed = new Promise((resolve) => line.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
