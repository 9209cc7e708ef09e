import { expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { atMost, none } from '../support/measure.ts';
import { errorAnswer, type FaultRule } from '../support/store/faults.ts';
import { wrongIn } from './books.ts';
import { SCALE } from './scale.ts';
import { openScene, type Scene } from './scene.ts';
import { runWith } from './versions.ts';

const CONCURRENCY = 16;
const PRODUCTS = manyProducts(60);
const FORBIDDEN = 'product-7';
const OTHERS = PRODUCTS.filter(({ handle }) => handle !== FORBIDDEN);

const does = errorAnswer(403, 'This product belongs to another seller');
const ofOne: FaultRule = { name: '403 of one record', does, keys: [FORBIDDEN] };

const forbiddenScene = async (...faults: readonly FaultRule[]): Promise<Scene> =>
  await openScene({
    seed: 1,
    catalog: shopifyCatalog(PRODUCTS),
    store: { faults, latencyMs: { min: 2, max: 10 } },
    job: { safety: '{ maxRejects: off }' },
  });

it.concurrent('one record that is answered 403 for ever is rejected, also when it is the only one left', {
  timeout: SCALE.patienceMs,
}, async (context) => {
  await using scene = await forbiddenScene(ofOne);
  const all = await runWith(scene, PRODUCTS);
  const left = await runWith(scene, PRODUCTS);
  const summaries = [all.json(), left.json()];
  expect([all.code, left.code], all.stderr + left.stderr).toEqual([3, 3]);
  expect(summaries).toMatchObject([
    { applied: OTHERS.length, rejected: 1, unsent: 0 },
    { unchanged: OTHERS.length, rejected: 1, unsent: 0 },
  ]);
  figure(context, {
    invariant: 17,
    seed: null,
    fired: scene.fired(),
    measured: [
      none('others not applied', wrongIn(scene.store, OTHERS)),
      atMost(2, 'requests of the one in two runs', scene.store.requestsOf(FORBIDDEN)),
    ],
  });
});

it.concurrent.for([
  ['for writing', [{ name: '403 of every record', does, method: 'POST' }]],
  ['for anything', [{ name: '403 of every request', does }]],
] as const)(
  'a key that is not good %s ends the run, and no record is rejected',
  {
    timeout: SCALE.patienceMs,
  },
  async ([, faults], context) => {
    await using scene = await forbiddenScene(...faults);
    const { code, stderr, json } = await runWith(scene, PRODUCTS);
    expect(code, stderr).toBe(1);
    const requests = scene.store.requests.length;
    expect(json()).toMatchObject({ status: 'failed', rejected: 0, rejectsFile: null, requests });
    figure(context, {
      invariant: 12,
      seed: null,
      fired: scene.fired(),
      measured: [
        none('rejections', Number(json()['rejected'])),
        atMost(3 * CONCURRENCY, 'requests with a key that is not good', scene.store.requests.length),
      ],
    });
  },
);
