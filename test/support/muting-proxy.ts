import { connect, createServer, type Socket } from 'node:net';

/** A way to Redis whose connections can fall silent, as after a failover behind a load balancer. */
export interface MutingProxy extends AsyncDisposable {
  readonly url: string;
  /** From now on nothing comes through the connections there are, and nobody closes them. New ones work. */
  mute(): void;
}

/** Listens on loopback and passes everything on to Redis. */
export async function startMutingProxy(port: number): Promise<MutingProxy> {
  const open = new Set<{ muted: boolean; client: Socket; redis: Socket }>();
  const proxy = createServer((client) => {
    const pair = { muted: false, client, redis: connect(port, '127.0.0.1') };
    open.add(pair);
    client.on('data', (data) => {
      if (!pair.muted) pair.redis.write(data);
    });
    pair.redis.on('data', (data) => {
      if (!pair.muted) client.write(data);
    });
    const close = () => {
      open.delete(pair);
      client.destroy();
      pair.redis.destroy();
    };
    for (const socket of [client, pair.redis]) socket.on('error', () => {}).on('close', close);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `redis://127.0.0.1:${address.port}`,
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
