import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure, skipFault } from '../support/figure.ts';
import { atMost, none } from '../support/measure.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { s3Environment } from '../support/s3-environment.ts';
import { startS3 } from '../support/s3-server.ts';
import { separateNetworks } from '../support/separate-networks.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { resent, runDespiteKill, SHORT_LEASE_MS } from './workers-setup.ts';

const PRODUCTS = 1_500;
/** What two shards at once may have under way. */
const MOST_RESENT = 32;

describeWithRedis('workers in networks of their own', () => {
  it('share a run through Redis and a bucket alone, and a worker that does not reach the bucket says so at its start', async (context) => {
    await using networks = await separateNetworks(3);
    if (networks === undefined) {
      skipFault(context, { invariant: 5, reason: 'networks of their own take root and ip' });
      return;
    }
    await using redis = await startRedis({ settings: { 'protected-mode': 'no' } });
    await using s3 = await startS3();
    const store = await startStore({ seed: 1, latencyMs: { min: 10, max: 30 } });
    await using _closed = { [Symbol.asyncDispose]: () => store.close() };
    const [redisAt, storeAt, bucketAt] = await Promise.all([
      networks.share(redis.port),
      networks.share(Number(new URL(store.baseUrl).port)),
      networks.shareButLast(Number(new URL(s3.endpoint).port)),
    ]);
    const files = catalogWorkspace(`http://${storeAt}`, shopifyCatalog(manyProducts(PRODUCTS)));
    const env = {
      STORE_API_KEY: store.apiKey,
      REDIS_URL: `redis://${redisAt}`,
      STOREFERRY_LEASE_MS: String(SHORT_LEASE_MS),
      ...s3Environment({ endpoint: `http://${bucketAt}` }, 'shop'),
    };
    const [firstEntrance, secondEntrance, cutOffEntrance] = networks.entrances;
    await using first = await makeWorkspace(files, env, firstEntrance);
    await using second = await makeWorkspace(files, env, secondEntrance);
    await using cutOff = await makeWorkspace(files, env, cutOffEntrance);

    const refused = await cutOff.storeferry('worker');
    expect(refused.code, refused.stderr).toBe(1);
    expect(refused.stderr).toContain('s3://bucket/shop');
    expect(refused.stderr).toContain(
      'Check ARTIFACTS_URL, AWS_ENDPOINT_URL and that this machine reaches them',
    );

    const workers = [first.start('worker'), second.start('worker')];
    const { ended } = await runDespiteKill(workers, first, store);
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.json()).toMatchObject({ status: 'done', records: PRODUCTS, applied: PRODUCTS, unsent: 0 });
    figure(context, {
      invariant: 5,
      seed: store.seed,
      fired: { 'SIGKILL to a worker in a network of its own': 1, 'a worker cut off from the artifacts': 1 },
      measured: [
        none('missing', PRODUCTS - store.shop.products.size),
        none('duplicates', store.figures().duplicates),
        atMost(MOST_RESENT, 're-sent after a worker with two shards under way', resent(store)),
      ],
    });
  });
});
