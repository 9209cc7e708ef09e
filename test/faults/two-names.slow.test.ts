import { expect, it } from 'vitest';
import { catalogWorkspace, manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { startStore } from '../support/store.ts';
import { makeWorkspace } from '../support/workspace.ts';
import { SCALE } from './scale.ts';

const PRODUCTS = 40;

it.concurrent.for([
  ['the same address', '127.0.0.1'],
  ['another spelling of its address', 'localhost'],
] as const)(
  'one store under two names, by %s, takes one run at a time and has each product once',
  {
    timeout: SCALE.patienceMs,
  },
  async ([spelling, host], context) => {
    await using store = await startStore({ seed: 1, latencyMs: { min: 20, max: 60 } });
    const files = catalogWorkspace(store.baseUrl, shopifyCatalog(manyProducts(PRODUCTS)));
    const { 'jobs/nightly.yaml': job = '', 'stores.yaml': stores = '' } = files;
    await using workspace = await makeWorkspace(
      {
        ...files,
        'stores.yaml': `${stores}\nsecond:\n  baseUrl: ${store.baseUrl.replace('127.0.0.1', host)}\n  apiKey: \${STORE_API_KEY}\n`,
        'jobs/second.yaml': job.replace('store: main', 'store: second'),
      },
      { STORE_API_KEY: store.apiKey },
    );
    const check = await workspace.storeferry('check');
    expect(check.stdout + check.stderr).toContain('second is the same store as main');
    const runs = await Promise.all(
      ['nightly', 'second'].map((name) => workspace.storeferry('run', name, '--json')),
    );
    for (const { code, stderr } of runs) expect(code, stderr).toBe(0);
    // Whichever was second found everything acknowledged by the first.
    expect(runs.map((run) => run.json()['applied']).sort()).toEqual([0, PRODUCTS]);
    figure(context, {
      invariant: 28,
      seed: store.seed,
      fired: { [`runs of two names: ${spelling}`]: 1 },
      measured: [
        none('duplicates', store.duplicates().size),
        none('requests for a key beyond the first', store.requests.length - PRODUCTS),
        none('requests at once for one key beyond the first', store.figures().maxOverlap - 1),
      ],
    });
  },
);
