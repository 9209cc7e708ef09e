import { describe, expect, it } from 'vitest';
import { manyProducts, shopifyCatalog } from '../support/catalog.ts';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { describeWithRedis } from '../support/redis.ts';
import { SCALE } from './scale.ts';
import { openScene, type Scene, type SceneOptions } from './scene.ts';
import { killWithProductsOnTheWay, ON_REDIS, runWith, versionOf } from './versions.ts';

const PRODUCTS = 10;
const OWN = versionOf(PRODUCTS, 0);
const MIRROR = { mode: 'mirror', safety: '{ maxDeletes: off, minRows: off }' };
/** Everything has changed, and the last product is gone. */
const FEWER = versionOf(PRODUCTS - 1, 1);
const GONE = `product-${PRODUCTS}`;

type Where = Pick<SceneOptions, 'redis' | 'env'>;

/** A second job on the same store, with products of its own and those given. */
async function runOther(scene: Scene, also = manyProducts(0)): Promise<void> {
  await scene.workspace.write(
    'jobs/other.yaml',
    'import: products\nstore: main\nsource: { path: other.csv }\nmapping: shopify-products\nsafety: { minRows: off }\n',
  );
  await scene.workspace.write('other.csv', shopifyCatalog([...manyProducts(PRODUCTS, 200), ...also]));
  const { code, stderr } = await scene.storeferry('run', 'other', '--json');
  expect(code, stderr).toBe(0);
}

/** Plans to delete a product, has another job take it over before that is done, and goes on. */
const PLANNED = {
  'a run that was killed is continued': async (scene: Scene) => {
    await killWithProductsOnTheWay(scene, FEWER);
    return { goOn: () => runWith(scene, FEWER), ends: { code: 0, json: { status: 'done', deleted: 0 } } };
  },
  'a plan that waited is approved': async (scene: Scene) => {
    const planned = (await runWith(scene, FEWER, 'plan', 'nightly')).json();
    scene.count('plan waits for approval');
    expect(planned).toMatchObject({ removed: 1 });
    // Its figures say of records of the other job what is no longer so.
    const ends = {
      code: 2,
      json: { error: expect.stringContaining('Another job has written to the store') },
    };
    return { goOn: () => scene.start('approve', String(planned['run']), '--json').ended, ends };
  },
};

function staleDeletes(where: Where): void {
  it.concurrent.for(Object.entries(PLANNED))(
    'leaves a product to the job that took it over, where %s',
    {
      timeout: SCALE.patienceMs,
    },
    async ([, plan], context) => {
      await using scene = await openScene({ seed: 1, catalog: '', job: MIRROR, ...where });
      expect((await runWith(scene, OWN)).code).toBe(0);
      await runOther(scene);
      const { goOn, ends } = await plan(scene);
      await runOther(
        scene,
        OWN.filter(({ handle }) => handle === GONE).map((product) => ({ ...product, title: 'Taken over' })),
      );
      scene.count('key taken over between plan and apply');

      const { code, stderr, json } = await goOn();
      expect(code, stderr).toBe(ends.code);
      expect(json()).toMatchObject(ends.json);
      figure(context, {
        invariant: 30,
        seed: null,
        fired: scene.fired(),
        measured: [
          none('strangers deleted', scene.store.shop.byUrl(GONE) === undefined ? 1 : 0),
          none('DELETE requests', scene.store.requests.filter(({ method }) => method === 'DELETE').length),
        ],
      });
    },
  );

  it.concurrent('names what a killed run may have created and the source has dropped again', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    await using scene = await openScene({ seed: 1, catalog: '', job: MIRROR, ...where });
    const { shop } = scene.store;
    expect((await runWith(scene, OWN)).code).toBe(0);
    await killWithProductsOnTheWay(scene, versionOf(PRODUCTS + 3, 0));
    const created = shop.products.size - PRODUCTS;
    const { code, stderr, json } = await runWith(scene, OWN);
    expect(code, stderr).toBe(0);
    const { stdout } = await scene.start('runs', String(json()['run'])).ended;
    expect(created).toBeGreaterThan(0);
    const named = Number(/(\d+) products? may be in the store/.exec(stdout)?.[1] ?? 0);
    figure(context, {
      invariant: 30,
      seed: null,
      fired: scene.fired(),
      measured: [
        none('left in the store and not said', Math.max(0, created - named)),
        none('strangers deleted', PRODUCTS + created - shop.products.size),
      ],
    });

    // Once the keys have come back and are acknowledged they are the job's, and are deleted when they go.
    expect((await runWith(scene, versionOf(PRODUCTS + 3, 0))).code).toBe(0);
    expect((await runWith(scene, OWN)).json()).toMatchObject({ removed: 3, deleted: 3 });
    expect(shop.products.size).toBe(PRODUCTS);
  });
}

describe('a mirror on SQLite', () => staleDeletes({}));
describeWithRedis('a mirror on Redis', () => staleDeletes(ON_REDIS));
