import { connect, createServer, type Socket } from 'node:net';

/** A way to a server whose connections can fall silent, as after a failover behind a load balancer. */
export interface MutingProxy extends AsyncDisposable {
  readonly url: string;
  /** From now on nothing comes through the connections there are, and nobody closes them. New ones work. */
  mute(): void;
}

/** Listens on loopback and passes everything on to a server on loopback, by default Redis. */
export async function startMutingProxy(port: number, scheme = 'redis'): Promise<MutingProxy> {
  const open = new Set<{ muted: boolean; client: Socket; server: Socket }>();
  const proxy = createServer({ allowHalfOpen: true }, (client) => {
    const pair = { muted: false, client, server: connect(port, '127.0.0.1') };
    open.add(pair);
    client.on('data', (data) => {
      if (!pair.muted) pair.server.write(data);
    });
    client.on('end', () => {
      if (!pair.muted) client.end();
    });
    pair.server.on('data', (data) => {
      if (!pair.muted) client.write(data);
    });
    const close = () => {
      open.delete(pair);
      client.destroy();
      pair.server.destroy();
    };
    for (const socket of [client, pair.server]) socket.on('error', () => {}).on('close', close);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `${scheme}://127.0.0.1:${address.port}`,
    mute() {
      for (const pair of open) pair.muted = true;
    },
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => proxy.close(resolve));
      for (const { client } of open) client.destroy();
      await closed;
    },
  };
}
