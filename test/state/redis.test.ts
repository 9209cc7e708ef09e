import { afterAll, beforeAll, describe } from 'vitest';
import { describeWithRedis, type RedisServer, startRedis } from '../support/redis.ts';
import { describeState } from './state-suite.ts';

describeWithRedis('the shared state', () => {
  let server: RedisServer;
  let opened = 0;
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(() => server.stop());
  const fresh = () =>
    ({ kind: 'redis', url: server.url, prefix: `test-${++opened}`, leaseMs: 1_000 }) as const;

  describe('like any state', () => {
    describeState(async () => fresh());
  });
});
