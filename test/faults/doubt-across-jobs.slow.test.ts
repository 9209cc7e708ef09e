import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { figure } from '../support/figure.ts';
import { none } from '../support/measure.ts';
import { describeWithRedis } from '../support/redis.ts';
import { wrongIn } from './books.ts';
import { SCALE } from './scale.ts';
import { openScene, type SceneOptions } from './scene.ts';
import { killWithProductsOnTheWay, ON_REDIS, runWith, versionOf } from './versions.ts';

const PRODUCTS = 30;

function doubts(where: Pick<SceneOptions, 'redis' | 'env'>): void {
  it.concurrent('what a killed job has sent is sent again by a job of another name, though its values are the old ones', {
    timeout: SCALE.patienceMs,
  }, async (context) => {
    const old = versionOf(PRODUCTS, 0);
    await using scene = await openScene({ seed: 1, catalog: '', ...where });
    const { store, workspace } = scene;
    expect((await runWith(scene, old)).json()).toMatchObject({ applied: PRODUCTS });
    await killWithProductsOnTheWay(scene, versionOf(PRODUCTS, 1));
    const changed = wrongIn(store, old);
    await rename(join(workspace.dir, 'jobs/nightly.yaml'), join(workspace.dir, 'jobs/renamed.yaml'));

    const { code, stderr, json } = await runWith(scene, old, 'run', 'renamed');
    expect(code, stderr).toBe(0);
    expect(changed).toBeGreaterThan(0);
    expect(json()['applied']).toBeGreaterThanOrEqual(changed);
    figure(context, {
      invariant: 29,
      seed: null,
      fired: scene.fired(),
      measured: [none('false beliefs', wrongIn(store, old)), none('duplicates', store.figures().duplicates)],
    });
  });
}

describe('doubt on SQLite', () => doubts({}));
describeWithRedis('doubt on Redis', () => doubts(ON_REDIS));
