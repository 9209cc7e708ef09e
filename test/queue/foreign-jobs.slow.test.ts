import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, it } from 'vitest';
import { queuePrefix, RUN_QUEUE, shardQueueName, TICK_QUEUE } from '../../src/queue/queues.ts';
import { serveDashboard } from '../dashboard/server/running-dashboard.ts';
import { describeWithRedis } from '../support/redis.ts';
import { openShop } from './workers-setup.ts';

describeWithRedis('what somebody else has put into Redis', () => {
  it('is named and skipped by workers, `runs` and the dashboard', async () => {
    await using shop = await openShop({ products: 5 });
    const { workspace, redis } = shop;
    const worker = await shop.worker();
    for (const name of [RUN_QUEUE, TICK_QUEUE, shardQueueName('main')]) {
      const queue = new Queue<unknown>(name, {
        connection: { url: redis.url },
        prefix: queuePrefix(redis.url),
      });
      await queue.add('foreign', { job: ['nightly'], run: { id: 1 } }, { jobId: `foreign-${name}` });
      await worker.printed(`"queued":"foreign-${name}"`);
      await queue.close();
    }
    expect(worker.stderr()).toContain('the queued job cannot be read');
    const ended = await workspace.storeferry('enqueue', 'nightly', '--follow', '--json');
    expect(ended.json()).toMatchObject({ status: 'done', applied: 5 });

    const client = new Redis(redis.url);
    await client.zadd('storeferry:runs', 9e15, 'foreign');
    await client.zadd('storeferry:runs:nightly', 9e15, 'foreign');
    await client.hset('storeferry:run:{foreign}', { id: '"foreign"', job: '["nightly"]' });
    client.disconnect();
    const listed = await workspace.storeferry('runs');
    expect(listed.code).toBe(0);
    expect(listed.stdout).toContain(String(ended.json()['run']));
    expect(listed.stderr).toContain('The stored run foreign cannot be read');
    const again = await workspace.storeferry('run', 'nightly', '--json');
    expect(again.json()).toMatchObject({ status: 'done', unchanged: 5 });

    const dashboard = await serveDashboard(workspace);
    const visitor = await dashboard.signedIn('readOnly');
    for (const path of ['/', '/runs', '/jobs/nightly']) expect((await visitor.get(path)).status).toBe(200);
    const foreign = await visitor.get('/runs/foreign');
    expect([foreign.status, foreign.words]).toEqual([503, expect.stringContaining('cannot be read')]);
    expect(dashboard.command.stderr()).toContain('The stored run foreign cannot be read');
  });
});
