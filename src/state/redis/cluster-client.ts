import { Cluster } from 'ioredis';
import { parseRedisUrl } from '../../model/redis-address.ts';
import { connectRedis, type RedisConnectionOptions, serverOptions } from './connect.ts';

/** How each connection to a node behaves: as in RedisOptions of ioredis. */
interface ClusterManners {
  readonly maxRetriesPerRequest: null;
  readonly socketTimeout: number;
  readonly commandTimeout?: number;
}

/**
 * A client of the Redis Cluster that the address leads to, with manners of its own, for whoever keeps to the hash tags of a
 * Cluster; undefined where a single server answers there. StateError when nothing does.
 */
export async function clusterClient(
  options: RedisConnectionOptions,
  manners: ClusterManners,
): Promise<Cluster | undefined> {
  const address = parseRedisUrl(options.url);
  const { client, close } = await connectRedis(options);
  await close();
  if (address === undefined || !(client instanceof Cluster)) return undefined;
  return new Cluster([...address.nodes], { redisOptions: { ...serverOptions(address), ...manners } });
}
