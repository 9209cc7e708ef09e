import { Redis } from 'ioredis';
import { type RedisServer, startRedis } from './redis.ts';
import { until } from './until.ts';

/** The slots that the nodes of a Redis Cluster share. */
const SLOTS = 16_384;
const NODES = 3;

/** A Redis Cluster of three processes without replicas. */
export interface RedisCluster extends AsyncDisposable {
  readonly nodes: readonly RedisServer[];
  /** Of all nodes, the first of which is of no use. */
  readonly url: string;
}

/** Starts a Redis Cluster, and waits until all of its nodes agree. */
export async function startRedisCluster(): Promise<RedisCluster> {
  const settings = { 'cluster-enabled': 'yes', 'cluster-announce-ip': '127.0.0.1' };
  const nodes = await Promise.all(Array.from({ length: NODES }, () => startRedis({ aof: false, settings })));
  const stop = () => Promise.all(nodes.map((node) => node.stop()));
  const clients = nodes.map(({ url }) => new Redis(url));
  try {
    for (const [index, client] of clients.entries()) {
      const first = Math.floor((index * SLOTS) / NODES);
      const last = Math.floor(((index + 1) * SLOTS) / NODES) - 1;
      await client.call('CLUSTER', 'ADDSLOTSRANGE', String(first), String(last));
      // Nodes that come together with the same epoch would take a while to agree.
      await client.call('CLUSTER', 'SET-CONFIG-EPOCH', String(index + 1));
      if (index > 0) await client.call('CLUSTER', 'MEET', '127.0.0.1', String(nodes[0]?.port));
    }
    const whole = new RegExp(`cluster_state:ok[^]*cluster_slots_ok:${SLOTS}[^]*cluster_known_nodes:${NODES}`);
    for (const client of clients) {
      await until(async () => whole.test(String(await client.cluster('INFO'))));
    }
  } catch (error) {
    await stop();
    throw error;
  } finally {
    for (const client of clients) client.disconnect();
  }
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`);
  return {
    nodes,
    url: `redis://${['127.0.0.1:1', ...hosts].join(',')}`,
    async [Symbol.asyncDispose]() {
      await stop();
    },
  };
}
