import { createServer } from 'node:net';

/**
 * Below the ports that systems give to listeners and connections by themselves: none of those takes a port between the
 * look and its use. So is the second port of a node of a Redis Cluster, which is 10 000 higher.
 */
const FIRST = 10_000;
const COUNT = 10_000;

let next = Math.floor(Math.random() * COUNT);

/** A port of loopback that nobody listens on at this moment; each time another one. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = FIRST + (next++ % COUNT);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}
