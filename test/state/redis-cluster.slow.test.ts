import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openRedisState } from '../../src/state/redis/open-redis-state.ts';
import { checkRedisServer } from '../../src/state/redis/redis-connection.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts';
import { describeState } from './state-suite.ts';

describeWithRedis(
  'the shared state on a Redis Cluster, where what is written together must lie together',
  () => {
    let cluster: RedisCluster;
    let opened = 0;
    beforeAll(async () => {
      cluster = await startRedisCluster();
    });
    afterAll(() => cluster[Symbol.asyncDispose]());

    it('has no further databases: two workspaces would share one', async () => {
      const opening = openRedisState({ url: `${cluster.url}/1`, prefix: 'test' });
      await expect(opening).rejects.toMatchObject({
        message: expect.stringContaining('is a Cluster, which has no database 1'),
        hint: expect.stringContaining('Remove the number'),
      });
    });

    it('is asked about what it keeps, node by node', async () => {
      const client = new Redis(cluster.nodes[2]?.url ?? '');
      const advised = async () =>
        (await checkRedisServer(cluster.url)).problems.map(({ message }) => message);
      expect(await advised()).toEqual([expect.stringContaining('writes no append-only file')]);
      await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
      expect(await advised()).toContainEqual(expect.stringContaining('maxmemory-policy allkeys-lru'));
      await client.config('SET', 'maxmemory-policy', 'noeviction');
      client.disconnect();
    });

    it('is what several addresses stand for: single servers among them are refused', async () => {
      await using one = await startRedis({ aof: false });
      await using other = await startRedis({ aof: false });
      const url = `redis://127.0.0.1:${one.port},127.0.0.1:${other.port}`;
      await expect(openRedisState({ url, prefix: 'test' })).rejects.toMatchObject({
        message: expect.stringContaining('is not part of a Redis Cluster'),
        hint: expect.stringContaining('to one server, or to nodes of one Cluster'),
      });
    });

    describeState(async () => ({
      kind: 'redis',
      url: cluster.url,
      prefix: `test-${++opened}`,
      leaseMs: 1_000,
    }));
  },
);
