import { connect, createServer } from 'node:net';

/** A connection to Redis that breaks at the worst moment. */
export interface SwallowingProxy extends AsyncDisposable {
  readonly url: string;
  /** The next request reaches Redis; its answer is dropped with the connection. */
  swallowNextAnswer(): void;
  swallowed(): number;
}

export async function startSwallowingProxy(port: number): Promise<SwallowingProxy> {
  let swallow = false;
  let swallowed = 0;
  const proxy = createServer((client) => {
    const redis = connect(port, '127.0.0.1');
    client.pipe(redis);
    redis.on('data', (answer) => {
      if (swallow) {
        swallow = false;
        swallowed += 1;
        client.destroy();
      } else {
        client.write(answer);
      }
    });
    client.on('error', () => {});
    redis.on('error', () => {});
    client.on('close', () => redis.destroy());
    redis.on('close', () => client.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `redis://127.0.0.1:${address.port}`,
    swallowNextAnswer() {
      swallow = true;
    },
    swallowed: () => swallowed,
    async [Symbol.asyncDispose]() {
      proxy.close();
    },
  };
}
