import { expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { seedOf } from '../support/seed.ts';
import { SCALE } from './scale.ts';
import { openScene } from './scene.ts';

const PRODUCTS = 150;

it.concurrent('a line that is cut while the store is still at work makes no second product', {
  timeout: SCALE.patienceMs,
}, async (context) => {
  const seed = seedOf(context);
  await using scene = await openScene({
    seed,
    catalog: shopifyCatalog(manyProducts(PRODUCTS)),
    store: { latencyMs: { min: 60, max: 180 } },
  });
  const { store, line } = scene;
  line.become({ resetDuring: 0.1 });
  const { json } = await scene.storeferry('run', 'nightly', '--json');
  figure(context, {
    invariant: 2,
    seed,
    fired: scene.fired(),
    measured: [
      none('duplicates', store.figures().duplicates),
      none(
        'products missing',
        PRODUCTS - new Set([...store.shop.products.values()].map(({ url }) => url)).size,
      ),
    ],
  });
  expect(json()).toMatchObject({ status: 'done', applied: PRODUCTS });
});
