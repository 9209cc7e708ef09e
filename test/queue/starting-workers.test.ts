import { expect, it } from 'vitest';
import { describeWithRedis } from '../support/redis.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { openShop } from './workers-setup.ts';

describeWithRedis('a worker that starts', () => {
  it('says what it serves, where its artifacts are, and what about this Redis could lose runs', async () => {
    await using shop = await openShop({
      products: 1,
      redis: { aof: false, settings: { 'maxmemory-policy': 'allkeys-lru' } },
    });
    const worker = await shop.worker();
    worker.process.kill('SIGTERM');
    const { stderr } = await worker.ended;
    const lines = stderr
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(lines).toContainEqual(expect.objectContaining({ msg: 'ready', stores: ['main'] }));
    expect(lines).toContainEqual(
      expect.objectContaining({
        msg: 'artifacts can be written and read',
        artifacts: expect.stringContaining(shop.workspace.dir),
      }),
    );
    const warnings = lines.filter(({ level }) => level === 40).map(({ msg }) => msg);
    expect(warnings).toHaveLength(2);
    expect(warnings).toContainEqual(expect.stringContaining('should be "noeviction"'));
    expect(warnings).toContainEqual(expect.stringContaining('Set appendonly yes'));
  });

  it('ends when its artifacts are not those of the other workers', async () => {
    await using shop = await openShop({ products: 1 });
    await using elsewhere = await makeWorkspace(
      { 'stores.yaml': `main:\n  baseUrl: ${shop.store.baseUrl}\n  apiKey: \${STORE_API_KEY}\n` },
      { STORE_API_KEY: shop.store.apiKey, REDIS_URL: shop.redis.url },
    );
    const worker = await shop.worker();
    const { code, stderr } = await elsewhere.storeferry('worker');
    expect(code).toBe(1);
    expect(stderr).toContain('is not where the other workers store artifacts');
    expect(stderr).toContain('ARTIFACTS_URL');
    worker.process.kill('SIGTERM');
    expect((await worker.ended).code).toBe(0);
  });
});
