import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { atMost, none } from '../support/measure.ts';
import { describeWithRedis, startRedis } from '../support/redis.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { SCALE } from './scale.ts';
import { spansOf } from './spans.ts';

const PRODUCTS = 150;
const MACHINES = [1, 2, 3];

describeWithRedis('machines that share nothing but a Redis', () => {
  it.concurrent('take turns on one store, each with a job of its own and with the same job', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    await using redis = await startRedis();
    await using store = await startStore({ seed: 1, latencyMs: { min: 5, max: 15 } });
    const env = { STORE_API_KEY: store.apiKey, REDIS_URL: redis.url };
    const machines = await Promise.all(
      MACHINES.map(async (machine) => {
        const catalog = shopifyCatalog(
          manyProducts(PRODUCTS).map((product) => ({ ...product, handle: `m${machine}-${product.handle}` })),
        );
        const files = catalogWorkspace(store.baseUrl, catalog);
        const { 'jobs/nightly.yaml': job = '', ...rest } = files;
        return await makeWorkspace(
          { ...rest, [`jobs/from-${machine}.yaml`]: job, 'jobs/shared.yaml': job },
          env,
        );
      }),
    );
    await using _all = {
      async [Symbol.asyncDispose]() {
        for (const machine of machines) await machine[Symbol.asyncDispose]();
      },
    };
    const own = await Promise.all(
      machines.map((machine, index) => machine.storeferry('run', `from-${MACHINES[index]}`, '--json')),
    );
    for (const { code, stderr } of own) expect(code, stderr).toBe(0);
    const overlap = spansOf(store.requests, ({ key }) => key?.split('-')[0] ?? null);

    store.forget();
    const shared = await Promise.all(
      machines.map((machine) => machine.storeferry('run', 'shared', '--resend')),
    );
    const refused = shared.filter(
      ({ code, stderr }) => code === 1 && stderr.includes('already running'),
    ).length;
    const senders = new Set(store.requests.map(({ key }) => key?.split('-')[0]));
    figure(context, {
      invariant: 28,
      seed: store.seed,
      fired: { 'runs at once on other machines': 2 * (MACHINES.length - 1) },
      measured: [
        none('requests within the span of another run', overlap),
        atMost(1, 'overlap', store.figures().maxOverlap),
        atMost(MACHINES.length - refused, 'machines that ran a job already running', senders.size),
        none(
          'requests within the span of another run',
          spansOf(store.requests, ({ key }) => key?.split('-')[0] ?? null),
        ),
      ],
    });
  });
});
