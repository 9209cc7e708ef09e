import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { atMost, none } from '../support/measure.ts';
import { describeWithRedis } from '../support/redis.ts';
import { startRedisCluster } from '../support/redis-cluster.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { resent, runDespiteKill, SHORT_LEASE_MS } from './workers-setup.ts';

const PRODUCTS = 1_500;
/** What two shards at once may have under way. */
const MOST_RESENT = 32;

describeWithRedis('workers on a Redis Cluster', () => {
  it('share runs, keep schedules, and finish a run when one of them is killed', async (context) => {
    await using cluster = await startRedisCluster();
    const store = await startStore({ seed: 1, latencyMs: { min: 10, max: 30 } });
    await using _closed = { [Symbol.asyncDispose]: () => store.close() };
    await using workspace = await makeWorkspace(
      catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(PRODUCTS)), {
        schedule: '{ cron: "0 3 1 1 *" }',
      }),
      { STORE_API_KEY: store.apiKey, REDIS_URL: cluster.url, STOREFERRY_LEASE_MS: String(SHORT_LEASE_MS) },
    );
    const workers = [workspace.start('worker'), workspace.start('worker')];
    const { ended, survivor } = await runDespiteKill(workers, workspace, store);
    expect(ended.code, ended.stderr).toBe(0);
    expect(ended.json()).toMatchObject({ status: 'done', records: PRODUCTS, applied: PRODUCTS, unsent: 0 });
    expect(survivor?.stderr()).not.toContain('CROSSSLOT');

    const { stdout } = await workspace.storeferry('runs');
    expect(stdout).toContain('1 Jan 03:00');
    const again = await workspace.storeferry('run', 'nightly', '--json');
    expect(again.json()).toMatchObject({ unchanged: PRODUCTS, requests: 0 });
    survivor?.process.kill('SIGTERM');
    expect((await survivor?.ended)?.code).toBe(0);
    figure(context, {
      invariant: 5,
      seed: store.seed,
      fired: { 'SIGKILL to a worker on a Redis Cluster': 1 },
      measured: [
        none('missing', PRODUCTS - store.shop.products.size),
        none('duplicates', store.figures().duplicates),
        atMost(
          MOST_RESENT,
          're-sent after a worker on a Redis Cluster with two shards under way',
          resent(store),
        ),
      ],
    });
  });
});
