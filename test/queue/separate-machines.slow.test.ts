import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { atMost, none } from '../support/measure.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { s3Environment } from '../support/s3-environment.ts';
import { startS3 } from '../support/s3-server.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { resent, runDespiteKill, SHORT_LEASE_MS } from './workers-setup.ts';

const PRODUCTS = 1_500;
/** What two shards at once may have under way. */
const MOST_RESENT = 32;

/** Two copies of a workspace, which share nothing but a Redis and a bucket. */
async function openMachines() {
  const [redis, s3, store] = await Promise.all([
    startRedis(),
    startS3(),
    startStore({ seed: 1, latencyMs: { min: 10, max: 30 } }),
  ]);
  const files = catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(PRODUCTS)));
  const env = {
    STORE_API_KEY: store.apiKey,
    REDIS_URL: redis.url,
    STOREFERRY_LEASE_MS: String(SHORT_LEASE_MS),
    ...s3Environment(s3, 'shop'),
  };
  const here = await makeWorkspace(files, env);
  const there = await makeWorkspace(files, env);
  return {
    store,
    files,
    env,
    machines: [here, there] as const,
    async [Symbol.asyncDispose]() {
      await here[Symbol.asyncDispose]();
      await there[Symbol.asyncDispose]();
      await store.close();
      await s3[Symbol.asyncDispose]();
      await redis.stop();
    },
  };
}

describeWithRedis('workers on machines that share a Redis and a bucket', () => {
  it('share a run and finish it when one is killed: nothing missing, nothing twice', async (context) => {
    await using shop = await openMachines();
    const { store, machines } = shop;
    const workers = machines.map((machine) => machine.start('worker'));
    const { ended, survivor } = await runDespiteKill(workers, machines[0], store);
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.json()).toMatchObject({ status: 'done', records: PRODUCTS, applied: PRODUCTS, unsent: 0 });
    for (const worker of workers) expect(worker.stderr()).toContain('"s3://bucket/shop/workers"');
    expect(survivor?.stderr()).toContain('"shard ended"');
    figure(context, {
      invariant: 5,
      seed: store.seed,
      fired: { 'SIGKILL to a machine that shares a bucket': 1 },
      measured: [
        none('missing', PRODUCTS - store.shop.products.size),
        none('duplicates', store.figures().duplicates),
        atMost(MOST_RESENT, 're-sent after a machine with two shards under way', resent(store)),
      ],
    });
  });

  it('say at start that they do not reach the bucket, or that it is not that of the others', async () => {
    await using shop = await openMachines();
    const [here] = shop.machines;
    const worker = here.start('worker');
    await worker.printed('"ready"');
    for (const [wrong, message, hint] of [
      [
        { ARTIFACTS_URL: 's3://bucket/another' },
        'is not where the other workers store',
        'the same ARTIFACTS_URL',
      ],
      [{ ARTIFACTS_URL: 's3://nowhere/shop' }, 'there is no such bucket', 'Create the bucket'],
      [{ AWS_SECRET_ACCESS_KEY: 'MARKED' }, 'the server refuses access', 'AWS_SECRET_ACCESS_KEY'],
    ] as const) {
      await using elsewhere = await makeWorkspace(shop.files, { ...shop.env, ...wrong });
      const { code, stderr } = await elsewhere.storeferry('worker');
      expect(code).toBe(1);
      expect(stderr).toContain(message);
      expect(stderr).toContain(hint);
      expect(stderr).not.toContain('MARKED');
    }
    worker.process.kill('SIGTERM');
    expect((await worker.ended).code).toBe(0);
  });
});
